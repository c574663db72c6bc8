/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_sink.c - see stack_sink.h.
 *
 * A thread's own numbers of stacks are the rows of its table of sums. When its process ends, they become stacks of the
 * profile, in the order in which the thread met them.
 */
#include "format/stack_sink.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/display_name.h"
#include "format/stack_profile.h"
#include "format/utf8.h"
#include "profile/frames.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stacks.h"
#include "target/process.h"

/* A hundred years: no sum of the profile's times overflows. */
#define STACKS_PER_FRAME 8
#define MAX_CPU_NS 3155760000000000000ULL

struct sum_row {
	uint32_t prefix; /* another row, which is before it; ID_NONE: a root */
	uint32_t frame; /* of the process */
	uint32_t stack; /* of the profile, once it is there */
	uint64_t samples, cpu_ns;
};

struct stack_sink;

struct sum_thread {
	struct stacks_user user; /* the first member */
	const struct stack_sink *sink;
	struct {
		struct sum_row *items;
		size_t count, capacity;
	} rows;
	uint64_t no_stack_cpu_ns;
	uint32_t
		last; /* the row of its last sample; ID_NONE: that had no stack, or there was none */
	uint64_t first_ns; /* of its rows, if there are any */
};

struct stack_sink {
	struct profile_sink sink; /* the first member */
	const struct profile_input *input;
	struct stack_profile *profile;
	size_t source; /* its number */
	uint64_t cpu_left_ns;
	struct display_name display_name;
	struct {
		char *items;
		size_t count, capacity;
	} text;
	/* Of the process that is being read. */
	struct {
		struct sum_thread **items;
		size_t count, capacity;
	} threads;
	struct {
		uint32_t *items; /* by frame; STACK_NONE: not so far */
		size_t count, capacity;
	} functions;
};

static struct stack_sink *sink_of(struct profile_sink *sink)
{
	return (struct stack_sink *)sink;
}

/* ---- texts --------------------------------------------------------------------------------- */

/* Adds them to sink->text. 0 or -ENOMEM. */
static int put_bytes(struct stack_sink *sink, const char *bytes, size_t length)
{
	int err = array_reserve((void **)&sink->text.items, &sink->text.capacity,
				sink->text.count + length, 1);

	if (err)
		return err;
	memcpy(sink->text.items + sink->text.count, bytes, length);
	sink->text.count += length;
	return 0;
}

/* Sets sink->text to any bytes as UTF-8, which is what a profile in a file would have. */
static int clean_text(struct stack_sink *sink, const char *bytes, size_t length)
{
	size_t at = 0, have;
	bool is_whole;
	int err = 0;

	sink->text.count = 0;
	while (at < length && !err) {
		have = utf8_sequence(bytes + at, length - at, &is_whole);
		err = is_whole ? put_bytes(sink, bytes + at, have)
			       : put_bytes(sink, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		at += have;
	}
	return err;
}

static int add_text(struct stack_sink *sink, const char *bytes, size_t length, uint32_t *id)
{
	int err = clean_text(sink, bytes, length);

	return err ? err
		   : stack_profile_add_text(sink->profile, sink->text.items, sink->text.count, id);
}

static int add_known(struct stack_sink *sink, const char *text, uint32_t *id)
{
	*id = STACK_NONE;
	return text ? add_text(sink, text, strlen(text), id) : 0;
}

static double to_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Stacks take less memory than frames. */
static bool is_too_much(const struct stack_sink *sink, size_t stack_count)
{
	return sink->input->max_frames && stack_count / STACKS_PER_FRAME > sink->input->max_frames;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int add_row(struct stacks_user *user, uint32_t prefix, uint32_t frame, uint32_t *id)
{
	struct sum_thread *thread = (struct sum_thread *)user; /* its first member */
	int err = ARRAY_ROOM(&thread->rows);

	if (!err && is_too_much(thread->sink, thread->rows.count))
		err = -E2BIG;
	if (err)
		return err;
	*id = (uint32_t)thread->rows.count;
	thread->rows.items[thread->rows.count++] =
		(struct sum_row){.prefix = prefix, .frame = frame};
	return 0;
}

static int begin_process(struct profile_sink *base, struct profile_process *process)
{
	return 0;
}

static int begin_thread(struct profile_sink *base, struct profile_thread *thread)
{
	struct stack_sink *sink = sink_of(base);
	struct sum_thread *sums = calloc(1, sizeof(*sums));

	if (!sums || ARRAY_ROOM(&sink->threads)) {
		free(sums);
		return -ENOMEM;
	}
	sums->user.add = add_row;
	sums->sink = sink;
	sums->last = ID_NONE;
	stacks_join(thread->process->stacks, &sums->user);
	sink->threads.items[sink->threads.count++] = sums;
	thread->of_sink = sums;
	return 0;
}

/* What a row accounts for; a recording cannot have used more than there is in a hundred years. */
static uint64_t take_cpu(struct stack_sink *sink, const struct profile_row *row)
{
	uint64_t cpu_ns = row->cpu_delta_ns == PROFILE_CPU_UNKNOWN ? 0 : row->cpu_delta_ns;

	if (cpu_ns > sink->cpu_left_ns)
		cpu_ns = sink->cpu_left_ns;
	sink->cpu_left_ns -= cpu_ns;
	return cpu_ns;
}

/* sums->last becomes that of the row. */
static int find_last(struct sum_thread *sums, struct profile_thread *thread,
		     const struct profile_row *row)
{
	if (row->stack == PROFILE_SAME_STACK)
		return 0;
	sums->last = ID_NONE;
	if (row->stack == PROFILE_NO_STACK || row->event == GB_EVENT_SLEEP)
		return 0;
	return stacks_id(thread->process->stacks, &sums->user, row->stack, &sums->last);
}

static int on_row(struct profile_sink *base, struct profile_thread *thread,
		  const struct profile_row *row)
{
	uint64_t cpu_ns = take_cpu(sink_of(base), row);
	struct sum_thread *sums = thread->of_sink;
	int err = find_last(sums, thread, row);

	if (thread->row_count == 1)
		sums->first_ns = row->time_ns;
	if (err)
		return err;
	if (sums->last == ID_NONE) {
		sums->no_stack_cpu_ns += cpu_ns;
		return 0;
	}
	sums->rows.items[sums->last].samples += row->stack != PROFILE_SAME_STACK;
	sums->rows.items[sums->last].cpu_ns += cpu_ns;
	return 0;
}

/* ---- the end of a process -------------------------------------------------------------------- */

static int add_function(struct stack_sink *sink, const struct frames *frames, uint32_t frame)
{
	uint32_t *function = &sink->functions.items[frame];
	int err = display_name_set(&sink->display_name,
				   frames_function(frames, frames_at(frames, frame)->function));

	if (!err)
		err = clean_text(sink, sink->display_name.items, sink->display_name.count);
	return err ? err
		   : stack_profile_add_function(sink->profile, sink->text.items, sink->text.count,
						function);
}

static int add_stack(struct stack_sink *sink, const struct frames *frames, struct sum_thread *sums,
		     struct sum_row *row)
{
	uint32_t prefix = row->prefix == ID_NONE ? STACK_NONE : sums->rows.items[row->prefix].stack;
	int err = sink->functions.items[row->frame] == STACK_NONE
			  ? add_function(sink, frames, row->frame)
			  : 0;

	if (!err)
		err = stack_profile_add_stack(sink->profile, prefix,
					      sink->functions.items[row->frame], &row->stack);
	return !err && is_too_much(sink, row->stack) ? -E2BIG : err;
}

static int add_stacks(struct stack_sink *sink, const struct frames *frames, struct sum_thread *sums)
{
	size_t i;
	int err = 0;

	for (i = 0; i < sums->rows.count && !err; i++)
		err = add_stack(sink, frames, sums, &sums->rows.items[i]);
	return err;
}

static int add_counts(struct stack_sink *sink, const struct sum_thread *sums)
{
	struct stack_count count = {.stack = STACK_OF_NONE, .cpu_ns = sums->no_stack_cpu_ns};
	int err = count.cpu_ns ? stack_profile_add_count(sink->profile, &count) : 0;
	size_t i;

	for (i = 0; i < sums->rows.count && !err; i++) {
		const struct sum_row *row = &sums->rows.items[i];

		if (!row->samples)
			continue;
		count = (struct stack_count){row->stack, row->samples, row->cpu_ns};
		err = stack_profile_add_count(sink->profile, &count);
	}
	return err;
}

static int name_thread(struct stack_sink *sink, const struct profile_thread *of, uint32_t *id)
{
	const struct thread *thread = of->thread;
	char text[32];

	if (of->name)
		return add_text(sink, of->name, strlen(of->name), id);
	if (thread->tid == thread->process->tgid)
		return add_known(sink, "main thread", id);
	if (thread->name[0])
		return add_text(sink, thread->name, strnlen(thread->name, sizeof(thread->name)),
				id);
	snprintf(text, sizeof(text), "Thread <%u>", thread->tid);
	return add_known(sink, text, id);
}

static int add_tid(struct stack_sink *sink, const struct thread *thread, uint32_t *id)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", thread->tid);
	return add_known(sink, text, id);
}

static int add_thread(struct stack_sink *sink, const struct profile_thread *thread)
{
	struct sum_thread *sums = thread->of_sink;
	struct stack_thread added = {
		.born_ms = to_ms(thread->born_ns),
		.died_ms = thread->died_ns == PROFILE_LIVES_ON ? NAN : to_ms(thread->died_ns),
		.first_ms = thread->row_count ? to_ms(sums->first_ns) : NAN,
		.last_ms = thread->row_count ? to_ms(thread->time_ns) : NAN,
	};
	int err = add_stacks(sink, thread->process->frames, sums);

	if (!err)
		err = name_thread(sink, thread, &added.name);
	if (!err)
		err = add_tid(sink, thread->thread, &added.tid);
	if (!err)
		err = stack_profile_add_thread(sink->profile, &added);
	if (!err)
		err = add_counts(sink, sums);
	if (!err)
		stack_profile_end_thread(sink->profile);
	return err;
}

static int add_process(struct stack_sink *sink, const struct profile_process *process)
{
	const struct process *of = process->process;
	struct stack_process added = {
		.born_ms = to_ms(process->threads[0]->born_ns),
		.died_ms = of->died_ns ? to_ms(profile_time_ns(process->facts, of->died_ns)) : NAN,
	};
	char pid[32];
	int err;

	snprintf(pid, sizeof(pid), of->life ? "%u.%u" : "%u", of->tgid, of->life);
	err = add_known(sink, pid, &added.pid);
	if (!err)
		err = add_text(sink, process->name, process->name_length, &added.name);
	return err ? err : stack_profile_add_process(sink->profile, &added);
}

static int reset_functions(struct stack_sink *sink, size_t count)
{
	int err = array_reserve((void **)&sink->functions.items, &sink->functions.capacity, count,
				sizeof(*sink->functions.items));
	size_t i;

	for (i = 0; i < count && !err; i++)
		sink->functions.items[i] = STACK_NONE;
	return err;
}

static void clear_threads(struct stack_sink *sink)
{
	size_t i;

	for (i = 0; i < sink->threads.count; i++) {
		stacks_leave(&sink->threads.items[i]->user);
		free(sink->threads.items[i]->rows.items);
		free(sink->threads.items[i]);
	}
	sink->threads.count = 0;
}

static int end_process(struct profile_sink *base, struct profile_process *process,
		       struct progress *progress)
{
	struct stack_sink *sink = sink_of(base);
	int err = reset_functions(sink, frames_count(process->frames));
	size_t i;

	if (!err)
		err = add_process(sink, process);
	for (i = 0; i < process->thread_count && !err; i++)
		err = add_thread(sink, process->threads[i]);
	clear_threads(sink);
	return err;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void add_stack_ends(struct stack_source *source, const uint64_t *ends)
{
	unsigned int end;

	source->stacks_complete = ends[GB_STACK_COMPLETE];
	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (profile_stack_end(end))
			source->stacks_truncated += ends[end];
}

void stack_sink_add_losses(struct stack_source *source, const struct profile_input *input,
			   const struct profile_summary *summary)
{
	const struct recording_facts *facts = profile_whole(input);
	size_t i;

	for (i = 0; i < facts->log_count; i++) {
		const struct recording_fact *fact = &facts->log[i];

		if (fact->text)
			stack_source_add_text(source, fact->name, fact->text);
		else
			stack_source_add_fact(source, fact->name, fact->value);
	}
	stack_source_add_fact(source, "samples_lost_damaged", summary->damaged);
}

static int end_source(struct profile_sink *base, const struct profile_summary *summary)
{
	struct stack_sink *sink = sink_of(base);
	struct stack_source *source = &sink->profile->sources.items[sink->source];

	source->has_log = true;
	stack_sink_add_losses(source, sink->input, summary);
	add_stack_ends(source, summary->stack_ends);
	return 0;
}

static int begin_source(struct stack_sink *sink, const char *path)
{
	const struct recording_facts *facts = profile_whole(sink->input);
	struct stack_source source = {
		.start_real_ms = to_ms(facts->start_real_ns - facts->lead_ns),
		.interval_ns = facts->interval_ns,
	};
	uint64_t from_ns, to_ns;
	int err = add_known(sink, path, &source.path);

	profile_filter_span(&sink->input->filter, profile_time_ns(facts, facts->end_ns), &from_ns,
			    &to_ns);
	source.duration_ms = to_ms(to_ns - from_ns);
	if (!err)
		err = add_known(sink, facts->product ? facts->product : "geckobpf",
				&source.product);
	if (!err)
		err = add_known(sink, facts->version, &source.version);
	if (!err)
		err = stack_profile_add_source(sink->profile, &source);
	sink->source = sink->profile->sources.count - 1;
	return err;
}

static void close_sink(struct profile_sink *base)
{
	struct stack_sink *sink = sink_of(base);

	clear_threads(sink);
	free(sink->threads.items);
	free(sink->functions.items);
	display_name_clear(&sink->display_name);
	free(sink->text.items);
	free(sink);
}

static const struct profile_sink_ops stack_sink_ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = on_row,
	.end_process = end_process,
	.end = end_source,
	.close = close_sink,
};

int stack_sink_open(struct profile_sink **out, const struct profile_input *input, const char *path,
		    struct stack_profile *profile)
{
	struct stack_sink *sink = calloc(1, sizeof(*sink));
	int err;

	if (!sink)
		return -ENOMEM;
	sink->sink.ops = &stack_sink_ops;
	sink->input = input;
	sink->profile = profile;
	sink->cpu_left_ns = MAX_CPU_NS;
	err = begin_source(sink, path);
	if (err) {
		close_sink(&sink->sink);
		return err;
	}
	*out = &sink->sink;
	return 0;
}
