/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_counters.c - see processed_counters.h. */
#include "format/processed_counters.h"

#include <stdlib.h>

#include "base/array.h"
#include "format/column.h"
#include "format/counter_json.h"
#include "format/json.h"
#include "format/pid_text.h"
#include "format/spool.h"
#include "profile/counter.h"

struct processed_counter {
	uint32_t counter; /* enum gb_counter */
	uint32_t main_thread;
	char pid[PID_TEXT_BYTES];
	struct spool *time, *count;
	uint64_t length;
};

static int open_counter(struct processed_counters *counters, uint32_t counter,
			struct spool_pool *pool, struct processed_counter **out)
{
	int err = ARRAY_ROOM(&counters->all);

	if (err)
		return err;
	*out = &counters->all.items[counters->all.count++];
	**out = (struct processed_counter){.counter = counter};
	err = spool_open(&(*out)->time, pool);
	return err ? err : spool_open(&(*out)->count, pool);
}

/* That of the process that has begun. */
static int need_counter(struct processed_counters *counters, uint32_t counter,
			struct spool_pool *pool, struct processed_counter **out)
{
	size_t i;

	for (i = counters->ended; i < counters->all.count; i++) {
		*out = &counters->all.items[i];
		if ((*out)->counter == counter)
			return 0;
	}
	return open_counter(counters, counter, pool, out);
}

int processed_counters_add(struct processed_counters *counters, const struct profile_point *point,
			   struct spool_pool *pool)
{
	struct processed_counter *to;
	int err = need_counter(counters, point->counter, pool, &to);

	if (!err)
		err = column_put_time_ms(to->time, (int64_t)point->time_ns);
	if (!err)
		err = column_put_i64(to->count, point->change);
	if (!err)
		to->length++;
	return err;
}

void processed_counters_end(struct processed_counters *counters, const struct process *process,
			    uint32_t main_thread)
{
	for (; counters->ended < counters->all.count; counters->ended++) {
		struct processed_counter *counter = &counters->all.items[counters->ended];

		counter->main_thread = main_thread;
		(void)pid_text(counter->pid, process);
	}
}

void processed_counters_clear(struct processed_counters *counters)
{
	size_t i;

	for (i = 0; i < counters->all.count; i++) {
		spool_close(counters->all.items[i].time);
		spool_close(counters->all.items[i].count);
	}
	free(counters->all.items);
	*counters = (struct processed_counters){0};
}

static void write_tooltip_row(struct json *json, const struct counter_row *row)
{
	json_object_begin(json);
	json_key_string(json, "type", "value");
	json_key_string(json, "source", row->source);
	json_key(json, "format");
	json_object_begin(json);
	json_key_string(json, "unit", row->unit);
	json_object_end(json);
	json_key_string(json, "label", row->label);
	json_object_end(json);
}

static void write_tooltip(struct json *json, const struct counter_kind *kind)
{
	size_t i;

	json_key(json, "tooltipRows");
	json_array_begin(json);
	for (i = 0; i < COUNTER_ROWS; i++)
		write_tooltip_row(json, &kind->rows[i]);
	json_array_end(json);
}

static void write_display(struct json *json, const struct counter_kind *kind)
{
	json_key(json, "display");
	json_object_begin(json);
	json_key_string(json, "graphType", kind->graph);
	json_key_string(json, "unit", kind->unit);
	json_key_string(json, "color", kind->color);
	json_key_literal(json, "markerSchemaLocation", "null");
	json_key_u64(json, "sortWeight", kind->sort_weight);
	json_key_string(json, "label", kind->label);
	write_tooltip(json, kind);
	json_object_end(json);
}

static int write_counter(const struct processed_counter *counter, struct json *json)
{
	const struct counter_kind *kind = &counter_table[counter->counter];
	int err;

	json_object_begin(json);
	counter_json_head(json, kind);
	json_key_string(json, "pid", counter->pid);
	json_key_u64(json, "mainThreadIndex", counter->main_thread);
	write_display(json, kind);
	json_key(json, "samples");
	json_object_begin(json);
	err = column_write(counter->time, json, "time");
	if (!err)
		err = column_write(counter->count, json, "count");
	json_key_u64(json, "length", counter->length);
	json_object_end(json);
	json_object_end(json);
	return err;
}

int processed_counters_write(struct processed_counters *counters, struct json *json)
{
	size_t i;
	int err = 0;

	if (!counters->all.count)
		return 0;
	json_key(json, "counters");
	json_array_begin(json);
	for (i = 0; i < counters->all.count && !err; i++)
		err = write_counter(&counters->all.items[i], json);
	json_array_end(json);
	return err;
}
