/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_walk.c - see process_walk.h.
 *
 * The sink hears of a process, and of a thread, when its first sample comes; of threads without samples, and of
 * a process that is kept although it has none, at the end.
 */
#include "profile/process_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "profile/marker.h"
#include "profile/process_name.h"
#include "profile/sink.h"
#include "profile/stacks.h"
#include "profile/tally.h"
#include "profile/thread_rows.h"
#include "target/object.h"
#include "target/process.h"

/* Of PROCESS_UNITS; what is left is for the end, where sinks write; most is done by then. */
#define READING_UNITS 75

struct process_walk {
	struct profile_pass *pass;
	struct process *process;
	struct profile_process shown;
	char *name; /* of the process that is shown */
	bool is_begun; /* the sink knows it */
	const struct thread **known; /* by thread number; NULL: no thread has it */
	bool *is_wanted; /* the same */
	/*
	 * By thread number, and behind them one that stands for a main thread that was never met; NULL: the sink does
	 * not know it so far.
	 */
	struct profile_thread **threads;
	size_t number_count;
	struct thread main;
	struct progress reading; /* in samples */
	uint64_t sample_count;
};

/* ---- opening ------------------------------------------------------------------------- */

static void close_walk(struct process_walk *walk)
{
	size_t i;

	for (i = 0; walk->threads && i <= walk->number_count; i++)
		free(walk->threads[i]);
	free(walk->threads);
	free(walk->shown.threads);
	free(walk->known);
	free(walk->is_wanted);
	free(walk->name);
	stacks_close(walk->shown.stacks);
	frames_close(walk->shown.frames);
}

static int open_tables(struct process_walk *walk)
{
	const struct frames_source source = {
		.process = walk->process,
		.symbols = walk->pass->symbols,
		.libs = walk->pass->libs,
		.has_kernel = walk->pass->source->kernel,
		.addresses = walk->pass->sink->addresses,
		.kinds = walk->pass->input->frame_kinds,
	};
	const struct stacks_limits limits = {0};
	int err = frames_open(&walk->shown.frames, &source);

	return err ? err : stacks_open(&walk->shown.stacks, walk->shown.frames, &limits);
}

static int open_threads(struct process_walk *walk)
{
	const struct threads *threads = &walk->process->threads;
	bool is_wanted = profile_filter_process(&walk->shown.filter, walk->process);
	size_t i;

	walk->number_count = threads->numbers.top;
	walk->known = calloc(walk->number_count + 1, sizeof(*walk->known));
	walk->is_wanted = calloc(walk->number_count + 1, sizeof(*walk->is_wanted));
	walk->threads = calloc(walk->number_count + 1, sizeof(*walk->threads));
	walk->shown.threads = calloc(threads->count + 1, sizeof(*walk->shown.threads));
	if (!walk->known || !walk->is_wanted || !walk->threads || !walk->shown.threads)
		return -ENOMEM;
	for (i = 0; i < threads->count; i++) {
		const struct thread *thread = threads->items[i];

		walk->known[thread->number] = thread;
		walk->is_wanted[thread->number] =
			is_wanted && profile_filter_thread(&walk->shown.filter, thread);
	}
	return 0;
}

static int open_walk(struct process_walk *walk, struct profile_pass *pass, struct process *process)
{
	int err;

	memset(walk, 0, sizeof(*walk));
	walk->pass = pass;
	walk->process = process;
	walk->shown.process = process;
	walk->shown.facts = pass->source->recording.facts;
	walk->shown.filter = pass->input->filter;
	walk->shown.libs = pass->libs;
	err = open_threads(walk);
	if (!err)
		err = open_tables(walk);
	if (!err)
		err = process_name_make(process, walk->shown.facts->include_args, &walk->name,
					&walk->shown.name_length);
	walk->shown.name = walk->name;
	return err;
}

/* ---- threads --------------------------------------------------------------------------- */

static int make_thread(struct process_walk *walk, const struct thread *of,
		       struct profile_thread **out)
{
	uint64_t died_ns = of->died_ns ? of->died_ns : of->process->died_ns;
	const struct recording_facts *facts = walk->shown.facts;
	struct profile_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	thread->thread = of;
	thread->process = &walk->shown;
	thread->born_ns = profile_time_ns(facts, of->born_ns);
	thread->died_ns = died_ns ? profile_time_ns(facts, died_ns) : PROFILE_LIVES_ON;
	*out = thread;
	return 0;
}

static int begin_thread(struct process_walk *walk, const struct thread *of,
			struct profile_thread **out)
{
	struct profile_sink *sink = walk->pass->sink;
	int err = walk->is_begun ? 0 : sink->ops->begin_process(sink, &walk->shown);

	walk->is_begun = true;
	if (!err)
		err = make_thread(walk, of, out);
	if (!err)
		err = sink->ops->begin_thread(sink, *out);
	return err ? err : thread_rows_begin(*out, sink);
}

static int need_thread(struct process_walk *walk, uint32_t number)
{
	struct profile_thread **thread = &walk->threads[number];

	return *thread ? 0 : begin_thread(walk, walk->known[number], thread);
}

/* ---- reading the buffer ---------------------------------------------------------------- */

static int on_restart(void *context)
{
	struct process_walk *walk = context;

	stacks_restart(walk->shown.stacks);
	return 0;
}

static int on_node(void *context, uint32_t number, uint32_t prefix, const struct frame *frame)
{
	struct process_walk *walk = context;

	return stacks_add_node(walk->shown.stacks, number, prefix, frame);
}

/* 0, or -EBADMSG: no thread has this number. */
static int find_thread(struct process_walk *walk, const struct sample_view *sample,
		       uint32_t *number)
{
	*number = threads_resolve(&walk->process->threads, sample->thread, sample->time_ns);
	return *number < walk->number_count && walk->known[*number] ? 0 : -EBADMSG;
}

static int find_stack(struct process_walk *walk, const struct sample_view *sample, uint32_t *stack)
{
	*stack = PROFILE_NO_STACK;
	if (sample->stack == STACK_NODE_NONE)
		return 0;
	return stacks_find(walk->shown.stacks, sample->stack, sample->time_ns, stack);
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct process_walk *walk = context;
	uint32_t number, stack;
	int err;

	progress_add(&walk->reading, 1);
	if (!profile_has_time(walk->shown.facts, &walk->shown.filter, sample->time_ns))
		return 0;
	err = find_thread(walk, sample, &number);
	if (err || !walk->is_wanted[number])
		return err;
	err = find_stack(walk, sample, &stack);
	if (!err)
		err = need_thread(walk, number);
	if (!err)
		err = thread_rows_sample(walk->threads[number], walk->pass->sink, sample, stack);
	if (err)
		return err;
	walk->sample_count++;
	if (sample->user_end < GB_STACK_END_COUNT)
		walk->pass->summary.stack_ends[sample->user_end]++;
	return 0;
}

static int read_buffer(struct process_walk *walk, struct progress *progress)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart,
		.node = on_node,
		.sample = on_sample,
	};
	struct profile_buffer_state state;
	int err;

	if (!walk->process->buffer)
		return 0;
	state = profile_buffer_get_state(walk->process->buffer);
	stages_enter(walk->pass->input->stages, "reading");
	progress_split(&walk->reading, progress, READING_UNITS, "reading samples",
		       state.pushed - state.cleared);
	err = profile_buffer_read(walk->process->buffer, &visitor, walk);
	progress_end(&walk->reading);
	return err;
}

/* ---- the end --------------------------------------------------------------------------- */

static int end_thread(struct process_walk *walk, struct profile_thread *thread)
{
	struct profile_summary *summary = &walk->pass->summary;
	int err = thread_rows_end(thread, walk->pass->sink);

	walk->shown.threads[walk->shown.thread_count++] = thread;
	summary->samples += thread->sample_count;
	summary->threads += thread->sample_count > 0;
	summary->clamped += thread->clamped_count;
	return err;
}

/*
 * A process whose main thread was never met gets one: without it front-ends do not show the
 * process as one.
 */
static int end_main_thread(struct process_walk *walk)
{
	struct profile_thread **thread = &walk->threads[walk->number_count];
	int err;

	walk->main = (struct thread){
		.tid = walk->process->tgid,
		.born_ns = walk->process->born_ns,
		.cpu_first_ns = UINT64_MAX,
		.process = walk->process,
	};
	err = begin_thread(walk, &walk->main, thread);
	return err ? err : end_thread(walk, *thread);
}

/*
 * A thread that had ended before, or that was not asked for, is not shown; but the main thread is in any part of time.
 */
static bool is_shown(const struct process_walk *walk, const struct thread *thread)
{
	if (!walk->is_wanted[thread->number])
		return false;
	return walk->threads[thread->number] || thread->tid == walk->process->tgid ||
	       !thread->died_ns || thread->died_ns > walk->shown.facts->start_ns;
}

static int end_threads(struct process_walk *walk)
{
	const struct threads *threads = &walk->process->threads;
	bool has_main = false;
	size_t i;
	int err = 0;

	for (i = 0; i < threads->count && !err; i++) {
		const struct thread *thread = threads->items[i];

		if (!is_shown(walk, thread))
			continue;
		has_main = has_main || thread->tid == walk->process->tgid;
		err = need_thread(walk, thread->number);
		if (!err)
			err = end_thread(walk, walk->threads[thread->number]);
	}
	return err || has_main ? err : end_main_thread(walk);
}

static int count_function(struct process_walk *walk, uint32_t frame, uint64_t samples)
{
	const struct profile_function *function =
		frames_function(walk->shown.frames, frames_at(walk->shown.frames, frame)->function);
	int err = 0;

	if (walk->pass->symbols && function->object && !function->name)
		err = libs_count_unnamed(walk->shown.libs, function->object, samples);
	return err ? err : tally_add(walk->pass->tally, function, samples);
}

static int count_functions(struct process_walk *walk)
{
	size_t count, i;
	const uint64_t *samples = stacks_self_samples(walk->shown.stacks, &count);
	int err = 0;

	for (i = 0; i < count && !err; i++)
		if (samples[i])
			err = count_function(walk, (uint32_t)i, samples[i]);
	return err;
}

/* If markers of the main thread are wanted: they are of the process as a whole. */
static int send_markers(struct process_walk *walk)
{
	struct marker_pass pass = {
		.recording = &walk->pass->source->recording,
		.process = &walk->shown,
		.sink = walk->pass->sink,
		.family = walk->pass->family,
	};
	size_t i;

	for (i = 0; i < walk->shown.thread_count && !pass.main; i++)
		if (profile_is_main(walk->shown.threads[i]))
			pass.main = walk->shown.threads[i];
	if (!pass.main || !profile_filter_process(&walk->shown.filter, walk->process) ||
	    !profile_filter_thread(&walk->shown.filter, pass.main->thread))
		return 0;
	return markers_send(&pass);
}

static int end_process(struct process_walk *walk, struct progress *progress)
{
	struct profile_sink *sink = walk->pass->sink;
	struct progress rest;
	int err = end_threads(walk);

	if (!err)
		err = send_markers(walk);

	progress_split(&rest, progress, PROCESS_UNITS - READING_UNITS, NULL, 1);
	if (!err)
		err = sink->ops->end_process(sink, &walk->shown, &rest);
	progress_end(&rest);
	walk->pass->summary.processes++;
	walk->pass->summary.unsymbolized += frames_unnamed(walk->shown.frames);
	return err ? err : count_functions(walk);
}

int process_walk(struct profile_pass *pass, struct process *process, bool keep_empty,
		 struct progress *progress)
{
	struct process_walk walk;
	int err = open_walk(&walk, pass, process);

	if (!err)
		err = read_buffer(&walk, progress);
	if (!err && (walk.sample_count || keep_empty))
		err = end_process(&walk, progress);
	close_walk(&walk);
	return err;
}
