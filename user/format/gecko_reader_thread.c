/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_reader_thread.c - see gecko_reader_thread.h.
 *
 * samples ──> stackTable ──> frameTable ──> stringTable: each is read after those it points into, so that every
 * index can be checked at once. The prefix of a stack is a row before it, so there are no cycles.
 */
#include "format/gecko_reader_thread.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/gecko_reader.h"
#include "format/stack_profile.h"
#include "profile/frame_kind.h"

#define MAX_COLUMNS 3
#define MAX_MS 1e15

/* The front-end wants the main thread to have this name. */
#define MAIN_THREAD_NAME "GeckoMain"
#define MAIN_THREAD_SHOWN "main thread"

struct thread_reader {
	const struct thread_place *place;
	const json_t *thread;
	uint32_t *functions; /* by row of frameTable */
	bool *is_sleep; /* the same: it says why the thread slept */
	size_t frame_count;
	struct row {
		uint32_t stack, depth;
		bool is_sleep; /* its frame says so */
		uint64_t samples, cpu_ns;
	} * rows; /* by row of stackTable */
	size_t row_count;
	uint64_t no_stack_cpu_ns;
	uint64_t *cpu_left_ns;
	double first_ms, last_ms;
};

/* ---- cells ------------------------------------------------------------------------- */

struct table {
	const char *name;
	const char *columns[MAX_COLUMNS];
	const json_t *data;
	size_t at[MAX_COLUMNS]; /* of the columns, in a row */
};

static int wrong_table(const struct thread_reader *reader, const char *name, const char *what)
{
	return error_set(reader->place->error, -EBADMSG, NULL, "%s.%s%s", reader->place->name, name,
			 what);
}

static int wrong_cell(const struct thread_reader *reader, const struct table *table, size_t row,
		      int column, const char *what)
{
	return error_set(reader->place->error, -EBADMSG, NULL, "%s.%s.data[%zu].%s %s",
			 reader->place->name, table->name, row, table->columns[column], what);
}

static int find_table(const struct thread_reader *reader, struct table *table)
{
	const json_t *object = json_object_get(reader->thread, table->name);
	const json_t *schema = json_object_get(object, "schema");
	int i;

	table->data = json_object_get(object, "data");
	if (!json_is_array(table->data))
		return wrong_table(reader, table->name, ".data is not there, or no array");
	for (i = 0; i < MAX_COLUMNS && table->columns[i]; i++) {
		const json_t *at = json_object_get(schema, table->columns[i]);

		if (!json_is_integer(at) || json_integer_value(at) < 0)
			return wrong_table(reader, table->name, ".schema lacks a column");
		table->at[i] = (size_t)json_integer_value(at);
	}
	return 0;
}

/* NULL: the cell is null, or the row is too short to have it. */
static const json_t *cell(const struct table *table, size_t row, int column)
{
	const json_t *value = json_array_get(json_array_get(table->data, row), table->at[column]);

	return json_is_null(value) ? NULL : value;
}

static int read_index(const struct thread_reader *reader, const struct table *table, size_t row,
		      int column, size_t limit, uint32_t *out)
{
	const json_t *value = cell(table, row, column);
	json_int_t index;

	if (!json_is_integer(value))
		return wrong_cell(reader, table, row, column, "is no integer");
	index = json_integer_value(value);
	if (index < 0 || (uint64_t)index >= limit)
		return wrong_cell(reader, table, row, column, "points nowhere");
	*out = (uint32_t)index;
	return 0;
}

/* ---- tables ------------------------------------------------------------------------ */

static int read_frames(struct thread_reader *reader)
{
	struct table table = {.name = "frameTable", .columns = {"location"}};
	const json_t *strings = json_object_get(reader->thread, "stringTable"), *text;
	uint32_t string;
	size_t i;
	int err = find_table(reader, &table);

	if (err)
		return err;
	reader->frame_count = json_array_size(table.data);
	reader->functions = calloc(reader->frame_count + 1, sizeof(*reader->functions));
	reader->is_sleep = calloc(reader->frame_count + 1, sizeof(*reader->is_sleep));
	if (!reader->functions || !reader->is_sleep)
		return -ENOMEM;
	for (i = 0; i < reader->frame_count && !err; i++) {
		err = read_index(reader, &table, i, 0, json_array_size(strings), &string);
		if (err)
			break;
		text = json_array_get(strings, string);
		if (!json_is_string(text))
			return wrong_cell(reader, &table, i, 0, "points to no string");
		reader->is_sleep[i] = sleep_frames_have(json_string_value(text));
		err = stack_profile_add_function(reader->place->profile, json_string_value(text),
						 json_string_length(text), &reader->functions[i]);
	}
	return err;
}

static int read_stack(struct thread_reader *reader, const struct table *table, size_t i)
{
	struct row *row = &reader->rows[i];
	uint32_t prefix, caller = STACK_NONE, frame;
	int err;

	row->depth = 1;
	if (cell(table, i, 0)) {
		err = read_index(reader, table, i, 0, i, &prefix);
		if (err)
			return err;
		caller = reader->rows[prefix].stack;
		row->depth = reader->rows[prefix].depth + 1;
	}
	if (row->depth > GECKO_READER_MAX_DEPTH)
		return wrong_cell(reader, table, i, 0, "makes the stack too deep");
	err = read_index(reader, table, i, 1, reader->frame_count, &frame);
	if (err)
		return err;
	row->is_sleep = reader->is_sleep[frame];
	return stack_profile_add_stack(reader->place->profile, caller, reader->functions[frame],
				       &row->stack);
}

static int read_stacks(struct thread_reader *reader)
{
	struct table table = {.name = "stackTable", .columns = {"prefix", "frame"}};
	size_t i;
	int err = find_table(reader, &table);

	if (err)
		return err;
	reader->row_count = json_array_size(table.data);
	reader->rows = calloc(reader->row_count + 1, sizeof(*reader->rows));
	if (!reader->rows)
		return -ENOMEM;
	for (i = 0; i < reader->row_count && !err; i++)
		err = read_stack(reader, &table, i);
	return err;
}

/* ---- samples ----------------------------------------------------------------------- */

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_CPU };

static int read_time(struct thread_reader *reader, const struct table *table, size_t i)
{
	const json_t *value = cell(table, i, SAMPLE_TIME);
	double time_ms = json_number_value(value);

	if (!json_is_number(value))
		return wrong_cell(reader, table, i, SAMPLE_TIME, "is no number");
	/* The first comparison with NAN is false. */
	if (!(reader->first_ms <= time_ms))
		reader->first_ms = time_ms;
	if (!(reader->last_ms >= time_ms))
		reader->last_ms = time_ms;
	return 0;
}

/* What the thread used since the row before; the first one has none before it. */
static int read_cpu(struct thread_reader *reader, const struct table *table, size_t i,
		    uint64_t *cpu_ns)
{
	const json_t *value = cell(table, i, SAMPLE_CPU);
	json_int_t delta = json_integer_value(value);

	*cpu_ns = 0;
	if (!value || !i)
		return 0;
	if (!json_is_integer(value) || delta < 0)
		return wrong_cell(reader, table, i, SAMPLE_CPU, "is no time");
	if ((uint64_t)delta > *reader->cpu_left_ns)
		return wrong_cell(reader, table, i, SAMPLE_CPU, "is more than a program can use");
	*cpu_ns = (uint64_t)delta;
	*reader->cpu_left_ns -= *cpu_ns;
	return 0;
}

/* Where the last two rows have no stack, up to the first of them it was that of the row before (thread_rows.h). */
static bool is_closing(const struct table *table, size_t i)
{
	return i && i + 2 == json_array_size(table->data) && !cell(table, i, SAMPLE_STACK) &&
	       !cell(table, i + 1, SAMPLE_STACK);
}

static int read_sample(struct thread_reader *reader, const struct table *table, size_t i)
{
	size_t from = is_closing(table, i) ? i - 1 : i;
	uint64_t cpu_ns;
	uint32_t row;
	int err = read_time(reader, table, i);

	if (!err)
		err = read_cpu(reader, table, i, &cpu_ns);
	if (err)
		return err;
	if (!cell(table, from, SAMPLE_STACK)) {
		reader->no_stack_cpu_ns += cpu_ns;
		return 0;
	}
	err = read_index(reader, table, from, SAMPLE_STACK, reader->row_count, &row);
	if (err)
		return err;
	if (reader->rows[row].is_sleep) { /* no sample of what it did on the CPU */
		reader->no_stack_cpu_ns += cpu_ns;
		return 0;
	}
	reader->rows[row].samples += from == i;
	reader->rows[row].cpu_ns += cpu_ns;
	return 0;
}

static int read_samples(struct thread_reader *reader)
{
	struct table table = {.name = "samples", .columns = {"stack", "time", "threadCPUDelta"}};
	size_t i;
	int err = find_table(reader, &table);

	for (i = 0; !err && i < json_array_size(table.data); i++)
		err = read_sample(reader, &table, i);
	return err;
}

static int add_counts(struct thread_reader *reader)
{
	struct stack_count count = {.stack = STACK_OF_NONE, .cpu_ns = reader->no_stack_cpu_ns};
	size_t i;
	int err = 0;

	if (count.cpu_ns)
		err = stack_profile_add_count(reader->place->profile, &count);
	for (i = 0; i < reader->row_count && !err; i++) {
		const struct row *row = &reader->rows[i];

		if (!row->samples)
			continue;
		count = (struct stack_count){row->stack, row->samples, row->cpu_ns};
		err = stack_profile_add_count(reader->place->profile, &count);
	}
	return err;
}

/* ---- the thread -------------------------------------------------------------------- */

/* A member that is a text or an integer, which then is written out. */
static int read_text(const struct thread_place *place, const json_t *thread, const char *key,
		     uint32_t *out)
{
	const json_t *value = json_object_get(thread, key);
	char number[32];

	if (json_is_string(value))
		return stack_profile_add_text(place->profile, json_string_value(value),
					      json_string_length(value), out);
	if (!json_is_integer(value))
		return error_set(place->error, -EBADMSG, NULL,
				 "%s.%s is neither a text nor an integer", place->name, key);
	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return stack_profile_add_text(place->profile, number, strlen(number), out);
}

static int read_name(const struct thread_place *place, const json_t *thread, uint32_t *out)
{
	const json_t *value = json_object_get(thread, "name");

	if (json_is_string(value) && !strcmp(json_string_value(value), MAIN_THREAD_NAME))
		return stack_profile_add_text(place->profile, MAIN_THREAD_SHOWN,
					      strlen(MAIN_THREAD_SHOWN), out);
	return read_text(place, thread, "name", out);
}

int gecko_reader_thread_process(const struct thread_place *place, const json_t *thread,
				uint32_t *name, uint32_t *pid)
{
	int err = read_text(place, thread, "pid", pid);

	return err ? err : read_text(place, thread, "processName", name);
}

static double read_ms(const json_t *thread, const char *key)
{
	const json_t *value = json_object_get(thread, key);

	if (!json_is_number(value) || fabs(json_number_value(value)) > MAX_MS)
		return NAN;
	return json_number_value(value);
}

static int add_thread(const struct thread_reader *reader)
{
	struct stack_thread thread = {
		.born_ms = read_ms(reader->thread, "registerTime"),
		.died_ms = read_ms(reader->thread, "unregisterTime"),
		.first_ms = reader->first_ms,
		.last_ms = reader->last_ms,
	};
	int err = read_name(reader->place, reader->thread, &thread.name);

	if (!err)
		err = read_text(reader->place, reader->thread, "tid", &thread.tid);
	return err ? err : stack_profile_add_thread(reader->place->profile, &thread);
}

int gecko_reader_thread(const struct thread_place *place, const json_t *thread,
			uint64_t *cpu_left_ns)
{
	struct thread_reader reader = {
		.place = place,
		.thread = thread,
		.cpu_left_ns = cpu_left_ns,
		.first_ms = NAN,
		.last_ms = NAN,
	};
	int err;

	if (!json_object_get(thread, "frameTable") && !json_object_get(thread, "stringTable"))
		return error_set(place->error, -EBADMSG, NULL, GECKO_READER_PROCESSED);
	err = read_frames(&reader);
	if (!err)
		err = read_stacks(&reader);
	if (!err)
		err = read_samples(&reader);
	if (!err)
		err = add_thread(&reader);
	if (!err)
		err = add_counts(&reader);
	if (!err)
		stack_profile_end_thread(place->profile);
	free(reader.functions);
	free(reader.is_sleep);
	free(reader.rows);
	return err;
}
