/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_process.c - see gecko_process.h. */
#include "format/gecko_process.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "format/display_name.h"
#include "format/gecko_libs.h"
#include "format/gecko_meta.h"
#include "format/gecko_thread.h"
#include "format/json.h"
#include "format/logs.h"
#include "format/meta.h"
#include "format/overhead_json.h"
#include "format/pid_text.h"
#include "format/spool.h"
#include "format/thread_json.h"
#include "profile/frames.h"
#include "profile/model.h"
#include "target/process.h"

/* ---- opening ------------------------------------------------------------------------- */

int gecko_process_open(struct gecko_process **out, const struct profile_process *process,
		       uint64_t intervals_per_row, struct spool_pool *pool)
{
	struct gecko_process *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return -ENOMEM;
	opened->process = process;
	opened->intervals_per_row = intervals_per_row;
	opened->pool = pool;
	*out = opened;
	return 0;
}

void gecko_process_close(struct gecko_process *process)
{
	size_t i;

	if (!process)
		return;
	for (i = 0; i < process->threads.count; i++)
		gecko_thread_close(process->threads.items[i]);
	free(process->threads.items);
	gecko_counters_clear(&process->counters);
	free(process);
}

int gecko_process_add_thread(struct gecko_process *process, struct profile_thread *thread)
{
	struct gecko_thread *opened;
	int err = ARRAY_ROOM(&process->threads);

	if (!err)
		err = gecko_thread_open(&opened, thread, process->intervals_per_row, process->pool);
	if (err)
		return err;
	process->threads.items[process->threads.count++] = opened;
	thread->of_sink = opened;
	return 0;
}

uint64_t gecko_process_row_bytes(const struct gecko_process *process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		bytes += gecko_thread_bytes(process->threads.items[i]);
	return bytes;
}

/* ---- display names --------------------------------------------------------------------- */

static int add_name(struct gecko_names *names, struct display_name *name, uint32_t frame)
{
	const struct frames *frames = names->process->frames;
	const struct profile_frame *at = frames_at(frames, frame);
	struct profile_function function = *frames_function(frames, at->function);
	int err = 0;

	if (function.object && !function.lib)
		err = gecko_libs_address(names->process, at, &function.value);
	if (!err)
		err = display_name_set(name, &function);
	return err ? err
		   : intern_add(names->texts, name->items, name->count, &names->text_of[frame]);
}

static int open_names(struct gecko_names *names, const struct profile_process *process)
{
	size_t count = frames_count(process->frames), i;
	struct display_name name = {0};
	int err = intern_open(&names->texts);

	names->process = process;
	/* One more, so that none is not an allocation of 0 bytes. */
	names->text_of = calloc(count + 1, sizeof(*names->text_of));
	if (!names->text_of)
		err = -ENOMEM;
	for (i = 0; i < count && !err; i++)
		err = add_name(names, &name, (uint32_t)i);
	display_name_clear(&name);
	return err;
}

static void close_names(struct gecko_names *names)
{
	intern_close(names->texts);
	free(names->text_of);
}

/* ---- threads --------------------------------------------------------------------------- */

/* A number if it is one. */
static void write_pid(struct json *json, const struct process *process)
{
	char text[PID_TEXT_BYTES];

	json_key(json, "pid");
	if (process->life)
		json_text(json, pid_text(text, process));
	else
		json_u64(json, process->tgid);
}

static void write_name(struct json *json, const struct profile_thread *thread)
{
	if (profile_is_main(thread))
		json_key_string(json, "name", "GeckoMain");
	else
		thread_json_name(json, thread);
}

static int write_thread(const struct profile_thread *thread, const struct gecko_names *names,
			struct json *json)
{
	const struct profile_process *process = thread->process;
	int err;

	json_object_begin(json);
	write_name(json, thread);
	thread_json_process(json, process);
	write_pid(json, process->process);
	json_key_u64(json, "tid", thread->thread->tid);
	thread_json_life(json, thread);
	err = gecko_thread_write_tables(thread->of_sink, names, json);
	json_object_end(json);
	return err;
}

static int write_threads(const struct profile_process *process, struct json *json)
{
	struct gecko_names names = {0};
	size_t i;
	int err = open_names(&names, process);

	json_key(json, "threads");
	json_array_begin(json);
	for (i = 0; i < process->thread_count && !err; i++)
		err = write_thread(process->threads[i], &names, json);
	json_array_end(json);
	close_names(&names);
	return err;
}

/* ---- the process ------------------------------------------------------------------------ */

static void write_log(const struct process *process, struct json *json)
{
	if (!logs_has_process(process))
		return;
	json_key(json, "profilingLog");
	json_object_begin(json);
	logs_write_process(json, process);
	json_object_end(json);
}

static void write_overhead(const struct recording_facts *facts, struct json *json)
{
	json_key(json, "profilerOverhead");
	json_object_begin(json);
	overhead_json_gecko(json, facts);
	json_object_end(json);
}

int gecko_process_write(struct gecko_process *process, struct json *json)
{
	const struct profile_process *of = process->process;
	int err;

	json_object_begin(json);
	json_key(json, "meta");
	gecko_meta_write_process(json, of->facts, of->process);
	json_key(json, "libs");
	err = gecko_libs_write(of, json);
	if (!err)
		err = write_threads(of, json);
	if (!err)
		err = gecko_counters_write(&process->counters, json);
	if (process->overhead)
		write_overhead(process->overhead, json);
	meta_write_pauses(json, of->facts);
	write_log(of->process, json);
	json_key_literal(json, "processes", "[]");
	json_object_end(json);
	return err ? err : json_error(json);
}
