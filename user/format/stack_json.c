/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_json.c - see stack_json.h: the document around the threads.
 *
 *   { meta, threads: [], processes: [ { meta, threads: [ ... ] }, ... ], profilingLog }
 *
 * Members may come in any order. A process gets its name from its first thread; one without threads is none.
 */
#include "format/stack_json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/content.h"
#include "base/error.h"
#include "format/json_walk.h"
#include "format/stack_json_thread.h"
#include "format/stack_profile.h"

/* A hundred years: no sum of the profile's times overflows. */
#define MAX_CPU_NS 3155760000000000000ULL
#define MAX_INTERVAL_MS 10000.0
#define MAX_MS 1e15

struct loader {
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

static struct stack_source *source_of(const struct loader *loader)
{
	return &loader->profile->sources.items[loader->profile->sources.count - 1];
}

static int skip(struct loader *loader)
{
	const json_t *ignored;

	return json_walk_value(&loader->walk, &ignored);
}

/* ---- meta -------------------------------------------------------------------------- */

static double number_or(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = json_object_get(object, key);
	double number = json_number_value(value);

	return json_is_number(value) && fabs(number) <= MAX_MS ? number : otherwise;
}

static int add_known(struct loader *loader, const json_t *value, uint32_t *out)
{
	if (!json_is_string(value))
		return 0;
	return stack_profile_add_text(loader->profile, json_string_value(value),
				      json_string_length(value), out);
}

static int check_meta(const struct loader *loader, const json_t *meta)
{
	const json_t *units = json_object_get(meta, "sampleUnits");
	const char *unit = json_string_value(json_object_get(units, "threadCPUDelta"));
	double interval_ms = number_or(meta, "interval", 0);

	if (json_object_get(meta, "preprocessedProfileVersion"))
		return error_set(loader->error, -EBADMSG, NULL, STACK_JSON_PROCESSED);
	if (!(interval_ms > 0) || interval_ms > MAX_INTERVAL_MS)
		return error_set(loader->error, -EBADMSG, NULL, "meta.interval is no interval");
	if (units && (!unit || strcmp(unit, "ns")))
		return error_set(loader->error, -EBADMSG, NULL,
				 "meta.sampleUnits.threadCPUDelta is not ns");
	return 0;
}

static int read_meta(struct loader *loader, const json_t *meta)
{
	struct stack_source *source = source_of(loader);
	int err = check_meta(loader, meta);

	if (err)
		return err;
	loader->has_meta = true;
	source->start_real_ms = number_or(meta, "startTime", 0);
	source->duration_ms =
		number_or(meta, "profilingEndTime", 0) - number_or(meta, "profilingStartTime", 0);
	source->interval_ns = (uint64_t)(number_or(meta, "interval", 0) * 1e6 + 0.5);
	return add_known(loader, json_object_get(meta, "product"), &source->product);
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

static int read_log(struct loader *loader, const json_t *logs)
{
	const json_t *log = json_object_get(logs, "geckobpf");
	struct stack_source *source = source_of(loader);

	if (!json_is_object(log))
		return 0;
	source->has_log = true;
	read_losses(source, log);
	read_stack_ends(source, json_object_get(log, "user_stacks"));
	return add_known(loader, json_object_get(log, "version"), &source->version);
}

/* Reads a value as a tree and hands it on. */
static int with_tree(struct loader *loader, int (*use)(struct loader *loader, const json_t *tree))
{
	const json_t *tree;
	int err = json_walk_value(&loader->walk, &tree);

	return err ? err : use(loader, tree);
}

/* ---- processes --------------------------------------------------------------------- */

static int add_process(struct loader *loader, const struct thread_place *place,
		       const json_t *thread)
{
	struct stack_process process = {
		.born_ms = number_or(thread, "registerTime", NAN),
		.died_ms = NAN,
	};
	int err = stack_json_thread_process(place, thread, &process.name, &process.pid);

	if (!err)
		err = stack_profile_add_process(loader->profile, &process);
	if (!err)
		loader->has_process = true;
	return err;
}

static int on_thread(void *context, size_t index)
{
	struct loader *loader = context;
	struct thread_place place = {.profile = loader->profile, .error = loader->error};
	const json_t *thread;
	int err = json_walk_value(&loader->walk, &thread);

	if (err)
		return err;
	snprintf(place.name, sizeof(place.name), "%sthreads[%zu]", loader->place, index);
	if (!loader->has_process)
		err = add_process(loader, &place, thread);
	if (!err)
		err = stack_json_thread(&place, thread, &loader->cpu_left_ns);
	return err;
}

static int read_process_meta(struct loader *loader, const json_t *meta)
{
	loader->died_ms = number_or(meta, "shutdownTime", NAN);
	return 0;
}

static int on_process_member(void *context, const char *key)
{
	struct loader *loader = context;

	if (!strcmp(key, "meta"))
		return with_tree(loader, read_process_meta);
	if (!strcmp(key, "threads"))
		return json_walk_array(&loader->walk, on_thread, loader);
	return skip(loader);
}

static void begin_process(struct loader *loader, const char *place)
{
	snprintf(loader->place, sizeof(loader->place), "%s", place);
	loader->has_process = false;
	loader->died_ms = NAN;
}

static int on_process(void *context, size_t index)
{
	struct loader *loader = context;
	struct stack_profile *profile = loader->profile;
	char place[40];
	int err;

	snprintf(place, sizeof(place), "processes[%zu].", index);
	begin_process(loader, place);
	err = json_walk_object(&loader->walk, on_process_member, loader);
	if (!err && loader->has_process)
		profile->processes.items[profile->processes.count - 1].died_ms = loader->died_ms;
	return err;
}

/* ---- the document ------------------------------------------------------------------ */

static int on_member(void *context, const char *key)
{
	struct loader *loader = context;

	if (!strcmp(key, "meta"))
		return with_tree(loader, read_meta);
	if (!strcmp(key, "profilingLog"))
		return with_tree(loader, read_log);
	if (!strcmp(key, "processes"))
		return json_walk_array(&loader->walk, on_process, loader);
	if (!strcmp(key, "threads")) {
		begin_process(loader, "");
		return json_walk_array(&loader->walk, on_thread, loader);
	}
	return skip(loader);
}

static int add_source(struct loader *loader, const char *path)
{
	struct stack_source source = {.product = STACK_NONE, .version = STACK_NONE};
	int err = stack_profile_add_text(loader->profile, path, strlen(path), &source.path);

	return err ? err : stack_profile_add_source(loader->profile, &source);
}

int stack_json_parse(struct stack_profile *profile, const char *path, const char *text, size_t size,
		     struct error *error)
{
	struct loader loader = {
		.profile = profile,
		.error = error,
		.walk = {.text = text, .size = size, .error = error},
		.cpu_left_ns = MAX_CPU_NS,
	};
	int err;

	if (!size)
		return error_set(error, -EBADMSG, NULL, "it is empty");
	err = add_source(&loader, path);
	if (!err)
		err = json_walk_object(&loader.walk, on_member, &loader);
	if (!err)
		err = json_walk_end(&loader.walk);
	json_walk_close(&loader.walk);
	if (!err && !loader.has_meta)
		err = error_set(error, -EBADMSG, NULL, "it has no meta");
	return err;
}

int stack_json_load(struct stack_profile *profile, const char *path, struct error *error)
{
	size_t size;
	char *text;
	int err = content_read(path, JSON_WALK_MAX_BYTES, &text, &size, error);

	if (err)
		return err;
	err = stack_json_parse(profile, path, text, size, error);
	free(text);
	return err;
}
