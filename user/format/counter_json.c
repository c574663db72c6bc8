/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_json.c - see counter_json.h. */
#include "format/counter_json.h"

#include "format/json.h"
#include "profile/counter.h"

void counter_json_head(struct json *json, const struct counter_kind *kind)
{
	json_key_string(json, "name", kind->name);
	json_key_string(json, "category", kind->category);
	json_key_string(json, "description", kind->description);
}
