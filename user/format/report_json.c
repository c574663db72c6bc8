/* SPDX-License-Identifier: BSD-2-Clause */
/* report_json.c - see report_json.h. */
#include "format/report_json.h"

#include <errno.h>

#include "format/json.h"
#include "format/report.h"
#include "format/stack_profile.h"
#include "format/text_out.h"

static int write_to_stream(void *context, const void *data, size_t size)
{
	return fwrite(data, 1, size, context) == size ? 0 : -EIO;
}

static void put_text(struct json *json, const struct stack_profile *profile, const char *key,
		     uint32_t text)
{
	if (text != STACK_NONE)
		json_key_string(json, key, stack_profile_text(profile, text));
}

static void put_source(struct json *json, const struct stack_profile *profile,
		       const struct stack_source *source)
{
	json_object_begin(json);
	put_text(json, profile, "file", source->path);
	put_text(json, profile, "product", source->product);
	json_key(json, "duration_ms");
	json_double(json, source->duration_ms);
	json_key_u64(json, "interval_ns", source->interval_ns);
	json_key_u64(json, "samples_lost", source->samples_lost);
	json_key_u64(json, "events_lost", source->events_lost);
	json_key_u64(json, "samples_overwritten", source->samples_overwritten);
	json_key_u64(json, "stacks_truncated", source->stacks_truncated);
	json_object_end(json);
}

static void put_sum(struct json *json, const char *key, const struct hot_sum *sum)
{
	json_key(json, key);
	json_object_begin(json);
	json_key_u64(json, "samples", sum->samples);
	json_key_u64(json, "wall_ns", sum->wall_ns);
	json_key_u64(json, "cpu_ns", sum->cpu_ns);
	json_object_end(json);
}

static void put_process(struct json *json, const struct stack_profile *profile, uint32_t number)
{
	put_text(json, profile, "process", profile->processes.items[number].name);
	put_text(json, profile, "pid", profile->processes.items[number].pid);
}

static void put_key(struct json *json, const struct stack_profile *profile, enum hot_key by,
		    uint32_t key)
{
	if (by == HOT_FUNCTION) {
		put_text(json, profile, "function", stack_profile_function(profile, key).name);
		put_text(json, profile, "lib", stack_profile_function(profile, key).lib);
	} else if (by == HOT_THREAD) {
		put_text(json, profile, "thread", profile->threads.items[key].name);
		put_text(json, profile, "tid", profile->threads.items[key].tid);
		put_process(json, profile, profile->threads.items[key].process);
	} else {
		put_process(json, profile, key);
	}
}

static void put_rows(struct json *json, const struct stack_profile *profile,
		     const struct report_options *options, const struct hot_list *list)
{
	size_t i;

	json_key(json, "rows");
	json_array_begin(json);
	for (i = 0; i < list->count && (!options->top || i < options->top); i++) {
		json_object_begin(json);
		put_key(json, profile, options->by, list->items[i].key);
		put_sum(json, "self", &list->items[i].self);
		put_sum(json, "total", &list->items[i].total);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_report(struct json *json, const struct stack_profile *profile,
		       const struct report_options *options, const struct hot_list *list)
{
	size_t i;

	json_object_begin(json);
	json_key(json, "sources");
	json_array_begin(json);
	for (i = 0; i < profile->sources.count; i++)
		put_source(json, profile, &profile->sources.items[i]);
	json_array_end(json);
	put_sum(json, "sum", &list->sum);
	json_key_u64(json, "no_stack_cpu_ns", list->no_stack_cpu_ns);
	put_rows(json, profile, options, list);
	json_object_end(json);
}

int report_json_write(const struct stack_profile *profile, const struct report_options *options,
		      FILE *out)
{
	const struct hot_scope all = {STACK_NONE, STACK_NONE};
	const struct json_sink sink = {.write = write_to_stream, .context = out};
	struct hot_list list = {0};
	struct json *json;
	int err = json_open(&json, &sink);

	if (err)
		return err;
	err = hot_list_make(&list, profile, options->by, &all);
	if (!err) {
		put_report(json, profile, options, &list);
		err = json_flush(json);
	}
	hot_list_clear(&list);
	json_close(json);
	if (!err)
		fputc('\n', out);
	return err ? err : text_out_flush(out);
}
