/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_rows.c - see thread_rows.h. */
#include "profile/thread_rows.h"

#include "buffer/profile_buffer.h"
#include "target/process.h"

/*
 * What it used since its last row, as far as that fits between the two: a thread runs on one CPU at a time. More than
 * fits after the baseline was used between the listing of threads and the start, and is no part of the recording; later
 * the kernel's clocks differ by a little, and the next row has it.
 */
static uint64_t cpu_delta_ns(struct profile_thread *thread, uint64_t time_ns, uint64_t cpu_ns)
{
	uint64_t used_ns = cpu_ns > thread->cpu_ns ? cpu_ns - thread->cpu_ns : 0;
	uint64_t delta_ns =
		used_ns < time_ns - thread->time_ns ? used_ns : time_ns - thread->time_ns;

	thread->cpu_ns += thread->source_rows == 1 ? used_ns : delta_ns;
	return delta_ns;
}

/*
 * How long it was off the CPU since its last row. What is shorter than half an interval, or than the time that it ran,
 * is left to the CPU graph: as so many percent. 0 as well if nothing is known of its CPU time. (What is after a row of a
 * sleep belongs to that.)
 */
static uint64_t slept_ns(const struct profile_thread *thread, const struct profile_row *row)
{
	uint64_t off_ns = row->time_ns - thread->time_ns - row->cpu_delta_ns;

	if (!thread->cpu_ns || off_ns < row->cpu_delta_ns ||
	    off_ns <= thread->process->facts->interval_ns / 2)
		return 0;
	return off_ns;
}

/*
 * Sends a row that brings the thread's CPU time to `cpu_ns`; the row says the rest, its time being what was recorded.
 */
static int put_row(struct profile_thread *thread, struct profile_sink *sink,
		   struct profile_row *row, uint64_t cpu_ns)
{
	bool is_sleep = row->event == GB_EVENT_SLEEP;

	if (row->time_ns < thread->time_ns) {
		row->time_ns = thread->time_ns;
		thread->clamped_count++;
	}
	if (thread->source_rows) {
		row->cpu_delta_ns = cpu_delta_ns(thread, row->time_ns, cpu_ns);
		row->slept_ns =
			row->weight && !is_sleep && !thread->is_asleep ? slept_ns(thread, row) : 0;
	} else {
		row->cpu_delta_ns = thread->row_count ? 0 : PROFILE_CPU_UNKNOWN;
		thread->cpu_ns = cpu_ns;
	}
	thread->time_ns = row->time_ns;
	thread->row_count++;
	thread->source_rows++;
	thread->is_asleep = is_sleep;
	return sink->ops->row(sink, thread, row);
}

/* A row that is no sample. */
static int put_other_row(struct profile_thread *thread, struct profile_sink *sink, uint32_t stack,
			 uint64_t time_ns, uint64_t cpu_ns)
{
	struct profile_row row = {.time_ns = time_ns, .stack = stack};

	return put_row(thread, sink, &row, cpu_ns);
}

/* ---- the first, and the last ------------------------------------------------------------- */

/* What it had used when the recording began says nothing of when this profile does. */
static bool has_baseline(const struct thread *of, const struct recording_facts *facts,
			 const struct profile_filter *filter)
{
	if (of->cpu_first_ns == UINT64_MAX || (facts->is_cut && of->born_ns < facts->start_ns))
		return false;
	return profile_filter_time(filter, profile_time_ns(facts, of->born_ns));
}

static uint64_t end_of(const struct thread *of, const struct recording_facts *facts)
{
	uint64_t end_ns = facts->end_ns;

	if (of->process->died_ns && of->process->died_ns < end_ns)
		end_ns = of->process->died_ns;
	if (of->died_ns && of->died_ns < end_ns)
		end_ns = of->died_ns;
	return profile_time_ns(facts, end_ns);
}

uint64_t thread_rows_cpu_ns(const struct thread *of, const struct recording_facts *facts,
			    const struct profile_filter *filter)
{
	uint64_t born_ns = profile_time_ns(facts, of->born_ns), end_ns = end_of(of, facts), cpu_ns;

	if (!has_baseline(of, facts, filter) || !profile_filter_time(filter, end_ns) ||
	    of->cpu_last_ns <= of->cpu_first_ns || end_ns <= born_ns)
		return 0;
	cpu_ns = of->cpu_last_ns - of->cpu_first_ns;
	return cpu_ns < end_ns - born_ns ? cpu_ns : end_ns - born_ns;
}

int thread_rows_begin(struct profile_thread *thread, struct profile_sink *sink)
{
	const struct recording_facts *facts = thread->process->facts;
	const struct thread *of = thread->source;

	thread->source_rows = 0;
	thread->has_sample = false;
	if (!has_baseline(of, facts, &thread->process->filter))
		return 0;
	return put_other_row(thread, sink, PROFILE_NO_STACK, profile_time_ns(facts, of->born_ns),
			     of->cpu_first_ns);
}

/* From when on it is in the profile that the thread slept up to the sample, in its time; as much of the weight is cut off. */
static uint64_t sleep_start(const struct profile_thread *thread, const struct sample_view *sample,
			    struct profile_row *row)
{
	const struct recording_facts *facts = thread->process->facts;
	uint64_t slept_ns = sample->slept_ns < sample->time_ns ? sample->slept_ns : 0;
	uint64_t start_ns = profile_time_ns(facts, sample->time_ns - slept_ns);
	uint64_t from_ns = thread->process->filter.from_ns, most;

	if (start_ns > row->time_ns)
		start_ns = row->time_ns;
	if (start_ns < from_ns && from_ns < row->time_ns)
		start_ns = from_ns;
	if (row->time_ns - start_ns == slept_ns)
		return start_ns;
	most = facts->interval_ns ? (row->time_ns - start_ns) / facts->interval_ns + 1 : 1;
	if ((uint64_t)row->weight > most)
		row->weight = (int64_t)most;
	return start_ns;
}

/* One that takes several intervals has a row where it begins, too: that has the CPU time before. */
static int put_sleep(struct profile_thread *thread, struct profile_sink *sink,
		     const struct sample_view *sample, struct profile_row *row)
{
	uint64_t start_ns = sleep_start(thread, sample, row);
	struct profile_row first = *row;
	int err = 0;

	if (row->weight < 1 || row->weight > PROFILE_SLEEP_MAX) /* nobody slept that long */
		row->weight = first.weight = 1;
	if (row->weight > 1) {
		first.time_ns = start_ns > thread->time_ns ? start_ns : thread->time_ns;
		first.weight = 1;
		row->weight--;
		err = put_row(thread, sink, &first, sample->cpu_ns);
	}
	return err ? err : put_row(thread, sink, row, sample->cpu_ns);
}

int thread_rows_sample(struct profile_thread *thread, struct profile_sink *sink,
		       const struct sample_view *sample, uint32_t stack)
{
	struct profile_row row = {
		.time_ns = profile_time_ns(thread->process->facts, sample->time_ns),
		.stack = stack,
		.weight = sample->weight,
		.event = sample->event,
	};

	thread->has_sample = true;
	if (row.event == GB_EVENT_SLEEP)
		return put_sleep(thread, sink, sample, &row);
	thread->sample_count += stack != PROFILE_NO_STACK;
	return put_row(thread, sink, &row, sample->cpu_ns);
}

/* It ran on after its last row until it had used that much, up to `end_ns`; when exactly is not known. */
static int close_rows(struct profile_thread *thread, struct profile_sink *sink, uint64_t end_ns)
{
	uint64_t cpu_ns = thread->source->cpu_last_ns, time_ns = end_ns;
	int err;

	if (cpu_ns < thread->cpu_ns)
		cpu_ns = thread->cpu_ns;
	if (!thread->has_sample)
		return put_other_row(thread, sink, PROFILE_NO_STACK, end_ns, cpu_ns);
	if (end_ns > thread->time_ns && cpu_ns < thread->cpu_ns + (end_ns - thread->time_ns))
		time_ns = thread->time_ns + (cpu_ns - thread->cpu_ns);
	err = put_other_row(thread, sink, thread->is_asleep ? PROFILE_NO_STACK : PROFILE_SAME_STACK,
			    time_ns, cpu_ns);
	return err ? err : put_other_row(thread, sink, PROFILE_NO_STACK, time_ns, thread->cpu_ns);
}

int thread_rows_end(struct profile_thread *thread, struct profile_sink *sink)
{
	const struct thread *of = thread->source;
	uint64_t end_ns = end_of(of, thread->process->facts);
	/* The last stack is not to be drawn until another begins. */
	bool is_followed = thread->has_sample && of != thread->thread;

	if (!thread->source_rows || (of->cpu_last_ns <= thread->cpu_ns && !is_followed))
		return 0;
	/* What it used up to the end says nothing of a part that ends before. */
	if (!profile_filter_time(&thread->process->filter, end_ns))
		return 0;
	return close_rows(thread, sink, end_ns);
}
