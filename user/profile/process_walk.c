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

#include "base/cancel.h"
#include "base/progress.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "profile/counter.h"
#include "profile/frames.h"
#include "profile/gather.h"
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
/* At most, where there is a limit. */
#define NODES_PER_FRAME 4

struct process_walk {
	struct profile_pass *pass;
	const struct gather_track *track;
	struct process *process; /* the image that is read */
	const struct gather_image *image;
	struct profile_process shown;
	char *name; /* of the process that is shown */
	bool is_begun; /* the sink knows it */
	const struct thread **known; /* by thread number; NULL: no thread has it */
	bool *is_wanted; /* the same */
	uint32_t *slots; /* the same: where in `threads` */
	size_t number_count;
	/*
	 * Those of the track: the threads of its process by number, then one that stands for a main thread that was
	 * never met, then its lanes. NULL: the sink does not know it so far.
	 */
	struct profile_thread **threads;
	bool *is_listed; /* the same: it is in shown.threads */
	size_t own_count, slot_count;
	struct thread main;
	struct counters counters;
	bool has_counters; /* they are wanted */
	struct progress reading; /* in samples */
	uint64_t sample_count;
};

/* ---- opening ------------------------------------------------------------------------- */

static void close_image(struct process_walk *walk)
{
	free(walk->known);
	free(walk->is_wanted);
	free(walk->slots);
	walk->known = NULL;
	walk->is_wanted = NULL;
	walk->slots = NULL;
}

static void close_walk(struct process_walk *walk)
{
	size_t i;

	for (i = 0; walk->threads && i < walk->slot_count; i++)
		free(walk->threads[i]);
	free(walk->threads);
	free(walk->is_listed);
	free(walk->shown.threads);
	close_image(walk);
	free(walk->name);
	stacks_close(walk->shown.stacks);
	frames_close(walk->shown.frames);
}

static int name_made(struct process_walk *walk)
{
	walk->name = strdup(walk->track->name);
	walk->shown.name_length = strlen(walk->track->name);
	return walk->name ? 0 : -ENOMEM;
}

static int open_tables(struct process_walk *walk)
{
	const struct frames_source source = {
		.process = walk->shown.process,
		.symbols = walk->pass->symbols,
		.libs = walk->pass->libs,
		.has_kernel = walk->pass->source->kernel,
		.addresses = walk->pass->sink->addresses,
		.kinds = walk->pass->input->frame_kinds,
		.max_count = walk->pass->input->max_frames,
		.redaction = walk->pass->input->redaction,
	};
	const struct stacks_limits limits = {
		.nodes = walk->pass->input->max_frames * NODES_PER_FRAME,
	};
	int err = frames_open(&walk->shown.frames, &source);

	return err ? err : stacks_open(&walk->shown.stacks, walk->shown.frames, &limits);
}

/* The main thread's, or that of one that was not met. */
static uint32_t main_slot(const struct process_walk *walk)
{
	const struct threads *threads = &walk->shown.process->threads;
	size_t i;

	for (i = 0; i < threads->count; i++)
		if (threads->items[i]->tid == walk->shown.process->tgid)
			return threads->items[i]->number;
	return (uint32_t)walk->own_count;
}

/* Which thread of the track a thread of the image is; GATHER_NO_LANE: none, it has nothing to show. */
static uint32_t slot_of(const struct process_walk *walk, size_t index)
{
	if (walk->process == walk->shown.process)
		return walk->process->threads.items[index]->number;
	if (!walk->track->is_gathered)
		return main_slot(walk);
	if (walk->image->lanes[index] == GATHER_NO_LANE)
		return GATHER_NO_LANE;
	return (uint32_t)walk->own_count + 1 + walk->image->lanes[index];
}

static int open_image(struct process_walk *walk, const struct gather_image *image)
{
	const struct threads *threads = &image->process->threads;
	bool is_wanted = profile_filter_process(&walk->shown.filter, image->process);
	size_t i;

	walk->image = image;
	walk->process = image->process;
	walk->number_count = threads->numbers.top;
	walk->known = calloc(walk->number_count + 1, sizeof(*walk->known));
	walk->is_wanted = calloc(walk->number_count + 1, sizeof(*walk->is_wanted));
	walk->slots = calloc(walk->number_count + 1, sizeof(*walk->slots));
	if (!walk->known || !walk->is_wanted || !walk->slots)
		return -ENOMEM;
	for (i = 0; i < threads->count; i++) {
		const struct thread *thread = threads->items[i];

		walk->known[thread->number] = thread;
		walk->slots[thread->number] = slot_of(walk, i);
		walk->is_wanted[thread->number] =
			is_wanted && walk->slots[thread->number] != GATHER_NO_LANE &&
			profile_filter_thread(&walk->shown.filter, thread);
	}
	frames_move(walk->shown.frames, image->process);
	stacks_restart(walk->shown.stacks);
	return 0;
}

static int open_threads(struct process_walk *walk)
{
	walk->own_count = walk->shown.process->threads.numbers.top;
	walk->slot_count =
		walk->own_count + 1 + (walk->track->lanes ? walk->track->lanes->count : 0);
	walk->threads = calloc(walk->slot_count, sizeof(*walk->threads));
	walk->is_listed = calloc(walk->slot_count, sizeof(*walk->is_listed));
	walk->shown.threads = calloc(walk->slot_count, sizeof(*walk->shown.threads));
	return walk->threads && walk->is_listed && walk->shown.threads ? 0 : -ENOMEM;
}

static int open_walk(struct process_walk *walk, struct profile_pass *pass,
		     const struct gather_track *track)
{
	int err;

	memset(walk, 0, sizeof(*walk));
	walk->pass = pass;
	walk->track = track;
	walk->shown.process = track->process;
	walk->shown.facts = pass->source->recording.facts;
	walk->shown.filter = pass->input->filter;
	walk->shown.libs = pass->libs;
	/* One that is made up has none; one that only stands there, so that there is a thread, was not asked for. */
	walk->has_counters = pass->sink->ops->point && !track->is_gathered &&
			     profile_filter_process(&walk->shown.filter, track->process);
	err = open_threads(walk);
	if (!err)
		err = open_tables(walk);
	if (!err && track->is_gathered)
		err = name_made(walk);
	else if (!err)
		err = process_name_make(track->process, walk->shown.facts->include_args,
					&walk->name, &walk->shown.name_length);
	walk->shown.name = walk->name;
	return err;
}

/* ---- threads --------------------------------------------------------------------------- */

/* As which thread one is shown that is `of`, in that slot. */
static const struct thread *shown_thread(const struct process_walk *walk, const struct thread *of,
					 uint32_t slot)
{
	const struct threads *threads = &walk->shown.process->threads;
	size_t i;

	if (slot > walk->own_count)
		return &walk->track->lanes->items[slot - walk->own_count - 1].thread;
	for (i = 0; i < threads->count; i++)
		if (threads->items[i]->number == slot)
			return threads->items[i];
	return &walk->main;
}

static int make_thread(struct process_walk *walk, const struct thread *of, uint32_t slot,
		       struct profile_thread **out)
{
	const struct recording_facts *facts = walk->shown.facts;
	struct profile_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return -ENOMEM;
	thread->thread = of->process == walk->shown.process ? of : shown_thread(walk, of, slot);
	thread->process = &walk->shown;
	thread->born_ns = profile_time_ns(facts, of->born_ns);
	if (slot > walk->own_count)
		thread->name = walk->track->lanes->items[slot - walk->own_count - 1].name;
	*out = thread;
	return 0;
}

/* The same thread of the kernel, before and after exec: its CPU time goes on. */
static bool continues(const struct thread *before, const struct thread *of)
{
	return before && before->process == of->process->previous && before->tid == of->tid &&
	       before->key_ns == of->key_ns;
}

/* From now on its rows are those of `of`. */
static int begin_source(struct process_walk *walk, struct profile_thread *thread,
			const struct thread *of)
{
	uint64_t died_ns = of->died_ns ? of->died_ns : of->process->died_ns;
	bool goes_on = thread->source_rows && continues(thread->source, of);

	thread->source = of;
	thread->died_ns = died_ns ? profile_time_ns(walk->shown.facts, died_ns) : PROFILE_LIVES_ON;
	return goes_on ? 0 : thread_rows_begin(thread, walk->pass->sink);
}

static int begin_process(struct process_walk *walk)
{
	struct profile_sink *sink = walk->pass->sink;
	int err = sink->ops->begin_process(sink, &walk->shown);

	walk->is_begun = true;
	return err ? err : counters_begin(&walk->counters, &walk->shown, sink);
}

static int begin_thread(struct process_walk *walk, const struct thread *of, uint32_t slot)
{
	struct profile_thread **out = &walk->threads[slot];
	struct profile_sink *sink = walk->pass->sink;
	int err = walk->is_begun ? 0 : begin_process(walk);

	if (!err)
		err = make_thread(walk, of, slot, out);
	if (!err)
		err = sink->ops->begin_thread(sink, *out);
	return err ? err : begin_source(walk, *out, of);
}

/* *out: what that thread of the image is shown as. */
static int need_thread(struct process_walk *walk, uint32_t number, struct profile_thread **out)
{
	const struct thread *of = walk->known[number];
	uint32_t slot = walk->slots[number];
	int err = 0;

	if (!walk->threads[slot])
		err = begin_thread(walk, of, slot);
	else if (walk->threads[slot]->source != of)
		err = begin_source(walk, walk->threads[slot], of);
	*out = walk->threads[slot];
	return err;
}

/* ---- reading the buffer ---------------------------------------------------------------- */

static bool is_cancelled(const struct process_walk *walk)
{
	return cancel_tick(walk->pass->input->cancel);
}

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
	return stacks_find(walk->shown.stacks, sample->stack, sample->time_ns,
			   sample->event != GB_EVENT_SLEEP, stack);
}

static void count_sample(struct profile_summary *summary, const struct sample_view *sample,
			 uint32_t stack)
{
	bool is_sleep = sample->event == GB_EVENT_SLEEP;

	summary->stackless += !is_sleep && stack == PROFILE_NO_STACK;
	if (sample->user_end < GB_STACK_END_COUNT)
		(is_sleep ? summary->sleep_ends : summary->stack_ends)[sample->user_end]++;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct process_walk *walk = context;
	struct profile_thread *thread;
	uint32_t number, stack;
	int err;

	progress_add(&walk->reading, 1);
	if (is_cancelled(walk))
		return -EINTR;
	if (!profile_has_time(walk->shown.facts, &walk->shown.filter, sample->time_ns)) {
		walk->pass->summary.before_begin +=
			profile_is_before_begin(walk->shown.facts, sample->time_ns);
		return 0;
	}
	err = find_thread(walk, sample, &number);
	if (err || !walk->is_wanted[number])
		return err;
	err = find_stack(walk, sample, &stack);
	if (!err)
		err = need_thread(walk, number, &thread);
	if (!err)
		err = thread_rows_sample(thread, walk->pass->sink, sample, stack);
	if (err)
		return err;
	walk->sample_count++;
	count_sample(&walk->pass->summary, sample, stack);
	return 0;
}

static int on_counter(void *context, const struct counter_entry *entry)
{
	struct process_walk *walk = context;
	struct profile_sink *sink = walk->pass->sink;

	if (!walk->has_counters)
		return 0;
	return counters_take(&walk->counters, &walk->shown, walk->is_begun ? sink : NULL, entry);
}

static int read_buffer(struct process_walk *walk, struct progress *progress)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart,
		.node = on_node,
		.sample = on_sample,
		.counter = on_counter,
	};
	struct profile_buffer_state state;
	int err;

	if (!walk->process->buffer)
		return 0;
	state = profile_buffer_get_state(walk->process->buffer);
	stages_enter(walk->pass->input->stages, "reading");
	progress_split(&walk->reading, progress, 1, "reading samples",
		       state.samples_pushed - state.samples_cleared);
	err = profile_buffer_read(walk->process->buffer, &visitor, walk);
	progress_end(&walk->reading);
	return err;
}

/* ---- the end --------------------------------------------------------------------------- */

/* Whether the next image has a thread that is what this one became. */
static bool is_continued(const struct process_walk *walk, const struct thread *thread)
{
	const struct gather_image *next = walk->image + 1;
	size_t i;

	if (next == walk->track->images + walk->track->image_count)
		return false;
	for (i = 0; i < next->process->threads.count; i++)
		if (continues(thread, next->process->threads.items[i]))
			return true;
	return false;
}

static int end_source(struct process_walk *walk, uint32_t slot)
{
	struct profile_thread *thread = walk->threads[slot];

	if (!walk->is_listed[slot])
		walk->shown.threads[walk->shown.thread_count++] = thread;
	walk->is_listed[slot] = true;
	return is_continued(walk, thread->source) ? 0 : thread_rows_end(thread, walk->pass->sink);
}

/*
 * A process whose main thread was never met gets one: without it front-ends do not show the
 * process as one.
 */
static int end_main_thread(struct process_walk *walk)
{
	uint32_t slot = (uint32_t)walk->own_count;
	int err;

	if (walk->threads[slot])
		return 0;
	err = begin_thread(walk, &walk->main, slot);
	return err ? err : end_source(walk, slot);
}

/*
 * A thread that had ended before, or that was not asked for, is not shown; but the main thread is in any part of time.
 */
static bool is_shown(const struct process_walk *walk, const struct thread *thread)
{
	const struct profile_thread *shown;

	if (!walk->is_wanted[thread->number])
		return false;
	shown = walk->threads[walk->slots[thread->number]];
	return (shown && shown->source == thread) || thread->tid == walk->process->tgid ||
	       !thread->died_ns || thread->died_ns > walk->shown.facts->start_ns;
}

static int end_image(struct process_walk *walk)
{
	const struct threads *threads = &walk->process->threads;
	bool is_own = walk->process == walk->shown.process, has_main = !is_own;
	struct profile_thread *shown;
	size_t i;
	int err = 0;

	for (i = 0; i < threads->count && !err; i++) {
		const struct thread *thread = threads->items[i];

		if (!is_shown(walk, thread))
			continue;
		has_main = has_main || thread->tid == walk->process->tgid;
		err = is_cancelled(walk) ? -EINTR : need_thread(walk, thread->number, &shown);
		if (!err)
			err = end_source(walk, walk->slots[thread->number]);
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

/* If markers of the main thread are wanted: they are of the process as a whole, and not of one that is made up. */
static int send_markers(struct process_walk *walk)
{
	struct marker_pass pass = {
		.recording = &walk->pass->source->recording,
		.process = &walk->shown,
		.sink = walk->pass->sink,
		.family = walk->pass->family,
		.is_busiest = walk->shown.process == walk->pass->busiest,
	};
	size_t i;

	for (i = 0; i < walk->shown.thread_count && !pass.main; i++)
		if (profile_is_main(walk->shown.threads[i]))
			pass.main = walk->shown.threads[i];
	if (walk->track->is_gathered || !pass.main ||
	    !profile_filter_process(&walk->shown.filter, walk->shown.process) ||
	    !profile_filter_thread(&walk->shown.filter, pass.main->thread))
		return 0;
	return markers_send(&pass);
}

static void count_threads(struct process_walk *walk)
{
	struct profile_summary *summary = &walk->pass->summary;
	size_t i;

	for (i = 0; i < walk->shown.thread_count; i++) {
		summary->samples += walk->shown.threads[i]->sample_count;
		summary->threads += walk->shown.threads[i]->sample_count > 0;
		summary->clamped += walk->shown.threads[i]->clamped_count;
	}
}

static int end_process(struct process_walk *walk, struct progress *progress)
{
	struct profile_sink *sink = walk->pass->sink;
	struct progress rest;
	int err = send_markers(walk);

	if (!err)
		err = counters_end(&walk->counters, &walk->shown, sink);
	count_threads(walk);
	progress_split(&rest, progress, PROCESS_UNITS - READING_UNITS, NULL, 1);
	if (!err)
		err = sink->ops->end_process(sink, &walk->shown, &rest);
	progress_end(&rest);
	walk->pass->summary.processes++;
	walk->pass->summary.unsymbolized += frames_unnamed(walk->shown.frames);
	return err ? err : count_functions(walk);
}

/* Reads an image, and ends its threads if the track is shown. */
static int read_image(struct process_walk *walk, const struct gather_image *image, bool keep_empty,
		      struct progress *progress)
{
	int err = open_image(walk, image);

	if (!err)
		err = read_buffer(walk, progress);
	if (!err && (walk->sample_count || keep_empty))
		err = end_image(walk);
	close_image(walk);
	return err;
}

int process_walk(struct profile_pass *pass, const struct gather_track *track, bool keep_empty,
		 struct progress *progress)
{
	struct progress reading;
	struct process_walk walk;
	size_t i;
	int err = open_walk(&walk, pass, track);

	walk.main = (struct thread){
		.tid = track->process->tgid,
		.born_ns = track->process->born_ns,
		.cpu_first_ns = UINT64_MAX,
		.process = track->process,
	};
	keep_empty = keep_empty || track->has_cpu;
	progress_split(&reading, progress, READING_UNITS, NULL, track->image_count);
	for (i = 0; i < track->image_count && !err; i++)
		err = read_image(&walk, &track->images[i], keep_empty, &reading);
	progress_end(&reading);
	if (!err && (walk.sample_count || keep_empty))
		err = end_process(&walk, progress);
	close_walk(&walk);
	return err;
}
