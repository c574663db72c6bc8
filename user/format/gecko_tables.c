/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_tables.c - the tables of a thread as JSON. Strings are numbered as the frames that use
 * them are written, behind the names of markers.
 */
#include "format/gecko_thread.h"

#include "base/intern.h"
#include "base/u64_map.h"
#include "format/gecko_process.h"
#include "format/json.h"
#include "format/spool.h"
#include "profile/frames.h"
#include "profile/model.h"

#define SAMPLES_SCHEMA "{\"stack\":0,\"time\":1,\"eventDelay\":2,\"threadCPUDelta\":3}"
#define FRAMES_SCHEMA                                                                              \
	"{\"location\":0,\"relevantForJS\":1,\"innerWindowID\":2,\"implementation\":3,"            \
	"\"line\":4,\"column\":5,\"category\":6,\"subcategory\":7}"
#define STACKS_SCHEMA "{\"prefix\":0,\"frame\":1}"

static void table_begin(struct json *json, const char *name, const char *schema)
{
	json_key(json, name);
	json_object_begin(json);
	json_key_literal(json, "schema", schema);
	json_key(json, "data");
	json_array_begin(json);
}

static void table_end(struct json *json)
{
	json_array_end(json);
	json_object_end(json);
}

static int write_rows(struct json *json, const char *name, const char *schema, struct spool *rows)
{
	int err;

	table_begin(json, name, schema);
	err = spool_splice(rows, json);
	table_end(json);
	return err;
}

/* 0: not known. */
static void write_number(struct json *json, uint32_t number)
{
	if (number)
		json_u64(json, number);
	else
		json_none(json);
}

static void write_frame(struct json *json, uint32_t string, const struct profile_frame *frame)
{
	json_array_begin(json);
	json_u64(json, string);
	json_literal(json, "false,null,null");
	write_number(json, frame->line);
	write_number(json, frame->column);
	json_u64(json, frame->category);
	json_u64(json, frame->subcategory);
	json_array_end(json);
}

static int write_frames(const struct gecko_thread *thread, const struct gecko_names *names,
			struct u64_map *strings, struct json *json)
{
	uint32_t first = gecko_markers_name_count(&thread->markers), string;
	size_t i;
	int err = 0;

	table_begin(json, "frameTable", FRAMES_SCHEMA);
	for (i = 0; i < thread->frames.count && !err; i++) {
		uint32_t frame = thread->frames.items[i];

		err = u64_map_number(strings, names->text_of[frame], &string);
		write_frame(json, first + string, frames_at(names->process->frames, frame));
	}
	table_end(json);
	return err;
}

static void write_strings(const struct gecko_thread *thread, const struct gecko_names *names,
			  const struct u64_map *strings, struct json *json)
{
	size_t i, length;

	json_key(json, "stringTable");
	json_array_begin(json);
	gecko_markers_write_names(&thread->markers, json);
	for (i = 0; i < strings->count; i++) {
		const char *text = intern_text(names->texts, (uint32_t)strings->keys[i], &length);

		json_text_bytes(json, text, length);
	}
	json_array_end(json);
}

int gecko_thread_write_tables(struct gecko_thread *thread, const struct gecko_names *names,
			      struct json *json)
{
	struct u64_map strings = {0};
	int err = write_rows(json, "samples", SAMPLES_SCHEMA, thread->rows);

	if (!err)
		err = gecko_markers_write(&thread->markers, json);
	if (!err)
		err = write_frames(thread, names, &strings, json);
	if (!err)
		err = write_rows(json, "stackTable", STACKS_SCHEMA, thread->stack_rows);
	if (!err)
		write_strings(thread, names, &strings, json);
	u64_map_clear(&strings);
	return err ? err : json_error(json);
}
