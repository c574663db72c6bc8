/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_counters.c - see gecko_counters.h. */
#include "format/gecko_counters.h"

#include <stdbool.h>

#include "base/number.h"
#include "format/counter_json.h"
#include "format/json.h"
#include "format/spool.h"
#include "profile/counter.h"

#define SCHEMA "{\"time\":0,\"count\":1}"
#define ROW_MAX_BYTES (NUMBER_MAX_BYTES + NUMBER_TIME_MAX_BYTES + sizeof(",[,]"))

int gecko_counters_add(struct gecko_counters *counters, const struct profile_point *point,
		       struct spool_pool *pool)
{
	struct spool **rows = &counters->rows[point->counter];
	int err = *rows ? 0 : spool_open(rows, pool);
	char *start, *at;

	if (err)
		return err;
	start = at = spool_room(*rows, ROW_MAX_BYTES);
	if (!start)
		return spool_error(*rows);
	if (spool_bytes(*rows))
		*at++ = ',';
	*at++ = '[';
	at = number_put_time_ms(at, (int64_t)point->time_ns);
	*at++ = ',';
	at = number_put_i64(at, point->change);
	*at++ = ']';
	spool_advance(*rows, (size_t)(at - start));
	return 0;
}

void gecko_counters_clear(struct gecko_counters *counters)
{
	uint32_t i;

	for (i = 0; i < GB_COUNTER_COUNT; i++)
		spool_close(counters->rows[i]);
	*counters = (struct gecko_counters){0};
}

static int write_counter(const struct counter_kind *kind, struct spool *rows, struct json *json)
{
	int err;

	json_object_begin(json);
	counter_json_head(json, kind);
	json_key(json, "samples");
	json_object_begin(json);
	json_key_literal(json, "schema", SCHEMA);
	json_key(json, "data");
	json_array_begin(json);
	err = spool_splice(rows, json);
	json_array_end(json);
	json_object_end(json);
	json_object_end(json);
	return err;
}

int gecko_counters_write(struct gecko_counters *counters, struct json *json)
{
	bool is_open = false;
	uint32_t i;
	int err = 0;

	for (i = 0; i < GB_COUNTER_COUNT && !err; i++) {
		if (!counters->rows[i])
			continue;
		if (!is_open) {
			json_key(json, "counters");
			json_array_begin(json);
		}
		is_open = true;
		err = write_counter(&counter_table[i], counters->rows[i], json);
	}
	if (is_open)
		json_array_end(json);
	return err;
}
