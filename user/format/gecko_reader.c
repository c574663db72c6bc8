/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_reader.c - see gecko_reader.h: the document around the threads.
 *
 *   { meta, threads: [], processes: [ { meta, threads: [ ... ] }, ... ], profilingLog }
 *
 * Members may come in any order. A process gets its name from its first thread; one without threads is none.
 */
#include "format/gecko_reader.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/content.h"
#include "format/gecko_reader_thread.h"
#include "format/json_walk.h"
#include "format/stack_profile.h"

/* A hundred years: no sum of the profile's times overflows. */
#define MAX_CPU_NS 3155760000000000000ULL
#define MAX_INTERVAL_MS 10000.0
#define MAX_MS 1e15

struct gecko_reader {
	struct stack_profile *profile;
	struct error *error;
	struct json_walk walk;
	uint32_t path;
	bool has_meta;
	uint64_t cpu_left_ns;
	/* The process that is being read: its place, whether it is there already, its end as its meta has it. */
	char place[40];
	bool has_process;
	double died_ms;
};

static struct stack_source *source_of(const struct gecko_reader *reader)
{
	return &reader->profile->sources.items[reader->profile->sources.count - 1];
}

static int skip(struct gecko_reader *reader)
{
	const json_t *ignored;

	return json_walk_value(&reader->walk, &ignored);
}

/* ---- meta -------------------------------------------------------------------------- */

static double number_or(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = json_object_get(object, key);
	double number = json_number_value(value);

	return json_is_number(value) && fabs(number) <= MAX_MS ? number : otherwise;
}

static int add_known(struct gecko_reader *reader, const json_t *value, uint32_t *out)
{
	if (!json_is_string(value))
		return 0;
	return stack_profile_add_text(reader->profile, json_string_value(value),
				      json_string_length(value), out);
}

static int check_meta(const struct gecko_reader *reader, const json_t *meta)
{
	const json_t *units = json_object_get(meta, "sampleUnits");
	const char *unit = json_string_value(json_object_get(units, "threadCPUDelta"));
	double interval_ms = number_or(meta, "interval", 0);

	if (json_object_get(meta, "preprocessedProfileVersion"))
		return error_set(reader->error, -EBADMSG, NULL, GECKO_READER_PROCESSED);
	if (!(interval_ms > 0) || interval_ms > MAX_INTERVAL_MS)
		return error_set(reader->error, -EBADMSG, NULL, "meta.interval is no interval");
	if (units && (!unit || strcmp(unit, "ns")))
		return error_set(reader->error, -EBADMSG, NULL,
				 "meta.sampleUnits.threadCPUDelta is not ns");
	return 0;
}

static int read_meta(struct gecko_reader *reader, const json_t *meta)
{
	struct stack_source *source = source_of(reader);
	int err = check_meta(reader, meta);

	if (err)
		return err;
	reader->has_meta = true;
	source->start_real_ms = number_or(meta, "startTime", 0);
	source->duration_ms =
		number_or(meta, "profilingEndTime", 0) - number_or(meta, "profilingStartTime", 0);
	source->interval_ns = (uint64_t)(number_or(meta, "interval", 0) * 1e6 + 0.5);
	return add_known(reader, json_object_get(meta, "product"), &source->product);
}

/* ---- profilingLog ------------------------------------------------------------------ */

static uint64_t count_of(const json_t *value)
{
	json_int_t count = json_integer_value(value);

	/* So that a sum of many does not overflow. */
	return count < 0 ? 0 : (uint64_t)count & (UINT64_MAX >> 16);
}

static void read_losses(struct stack_source *source, const json_t *log)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)log, key, value)
	{
		if (json_is_string(value))
			stack_source_add_text(source, key, json_string_value(value));
		else
			stack_source_add_fact(source, key, count_of(value));
	}
}

static void read_stack_ends(struct stack_source *source, const json_t *ends)
{
	const char *reason;
	json_t *value;

	json_object_foreach((json_t *)ends, reason, value)
	{
		if (!strcmp(reason, "complete"))
			source->stacks_complete += count_of(value);
		else if (strncmp(reason, "none,", 5))
			source->stacks_truncated += count_of(value);
	}
}

static int read_log(struct gecko_reader *reader, const json_t *logs)
{
	const json_t *log = json_object_get(logs, "geckobpf");
	struct stack_source *source = source_of(reader);

	if (!json_is_object(log))
		return 0;
	source->has_log = true;
	read_losses(source, log);
	read_stack_ends(source, json_object_get(log, "user_stacks"));
	return add_known(reader, json_object_get(log, "version"), &source->version);
}

/* Reads a value as a tree and hands it on. */
static int with_tree(struct gecko_reader *reader,
		     int (*use)(struct gecko_reader *reader, const json_t *tree))
{
	const json_t *tree;
	int err = json_walk_value(&reader->walk, &tree);

	return err ? err : use(reader, tree);
}

/* ---- processes --------------------------------------------------------------------- */

static int add_process(struct gecko_reader *reader, const struct thread_place *place,
		       const json_t *thread)
{
	struct stack_process process = {
		.born_ms = number_or(thread, "registerTime", NAN),
		.died_ms = NAN,
	};
	int err = gecko_reader_thread_process(place, thread, &process.name, &process.pid);

	if (!err)
		err = stack_profile_add_process(reader->profile, &process);
	if (!err)
		reader->has_process = true;
	return err;
}

static int on_thread(void *context, size_t index)
{
	struct gecko_reader *reader = context;
	struct thread_place place = {.profile = reader->profile, .error = reader->error};
	const json_t *thread;
	int err = json_walk_value(&reader->walk, &thread);

	if (err)
		return err;
	snprintf(place.name, sizeof(place.name), "%sthreads[%zu]", reader->place, index);
	if (!reader->has_process)
		err = add_process(reader, &place, thread);
	if (!err)
		err = gecko_reader_thread(&place, thread, &reader->cpu_left_ns);
	return err;
}

static int read_process_meta(struct gecko_reader *reader, const json_t *meta)
{
	reader->died_ms = number_or(meta, "shutdownTime", NAN);
	return 0;
}

static int on_process_member(void *context, const char *key)
{
	struct gecko_reader *reader = context;

	if (!strcmp(key, "meta"))
		return with_tree(reader, read_process_meta);
	if (!strcmp(key, "threads"))
		return json_walk_array(&reader->walk, on_thread, reader);
	return skip(reader);
}

static void begin_process(struct gecko_reader *reader, const char *place)
{
	snprintf(reader->place, sizeof(reader->place), "%s", place);
	reader->has_process = false;
	reader->died_ms = NAN;
}

static int on_process(void *context, size_t index)
{
	struct gecko_reader *reader = context;
	struct stack_profile *profile = reader->profile;
	char place[40];
	int err;

	snprintf(place, sizeof(place), "processes[%zu].", index);
	begin_process(reader, place);
	err = json_walk_object(&reader->walk, on_process_member, reader);
	if (!err && reader->has_process)
		profile->processes.items[profile->processes.count - 1].died_ms = reader->died_ms;
	return err;
}

/* ---- the document ------------------------------------------------------------------ */

static int on_member(void *context, const char *key)
{
	struct gecko_reader *reader = context;

	if (!strcmp(key, "meta"))
		return with_tree(reader, read_meta);
	if (!strcmp(key, "profilingLog"))
		return with_tree(reader, read_log);
	if (!strcmp(key, "processes"))
		return json_walk_array(&reader->walk, on_process, reader);
	if (!strcmp(key, "threads")) {
		begin_process(reader, "");
		return json_walk_array(&reader->walk, on_thread, reader);
	}
	return skip(reader);
}

static int add_source(struct gecko_reader *reader, const char *path)
{
	struct stack_source source = {.product = STACK_NONE, .version = STACK_NONE};
	int err = stack_profile_add_text(reader->profile, path, strlen(path), &source.path);

	return err ? err : stack_profile_add_source(reader->profile, &source);
}

int gecko_reader_parse(struct stack_profile *profile, const char *path, const char *text,
		       size_t size, struct error *error)
{
	struct gecko_reader reader = {
		.profile = profile,
		.error = error,
		.walk = {.text = text, .size = size, .error = error},
		.cpu_left_ns = MAX_CPU_NS,
	};
	int err;

	if (!size)
		return error_set(error, -EBADMSG, NULL, "it is empty");
	err = add_source(&reader, path);
	if (!err)
		err = json_walk_object(&reader.walk, on_member, &reader);
	if (!err)
		err = json_walk_end(&reader.walk);
	json_walk_close(&reader.walk);
	if (!err && !reader.has_meta)
		err = error_set(error, -EBADMSG, NULL, "it has no meta");
	return err;
}

int gecko_reader_load(struct stack_profile *profile, const char *path, struct error *error)
{
	size_t size;
	char *text;
	int err = content_read(path, JSON_WALK_MAX_BYTES, &text, &size, error);

	if (err)
		return err;
	err = gecko_reader_parse(profile, path, text, size, error);
	free(text);
	return err;
}
