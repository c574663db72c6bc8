/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_json.h - what both of the front-end's formats say of a counter: members of an object that is open. */
#ifndef GECKOBPF_FORMAT_COUNTER_JSON_H
#define GECKOBPF_FORMAT_COUNTER_JSON_H

struct counter_kind;
struct json;

/* "name", "category", "description". */
void counter_json_head(struct json *json, const struct counter_kind *kind);

#endif
