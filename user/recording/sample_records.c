/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_records.c - see sample_records.h. */
#include "recording/sample_records.h"

#include "buffer/profile_buffer.h"
#include "recording/counter_records.h"
#include "recording/records_state.h"
#include "recording/sample_frames.h"
#include "target/process.h"

static bool is_consistent(const struct gb_sample *sample, size_t size, size_t max_user_words)
{
	const size_t max_words[GB_FRAME_KIND_COUNT] = {
		[GB_FRAME_USER] = max_user_words,
		[GB_FRAME_KERNEL] = GB_MAX_KERNEL_FRAMES,
		[GB_FRAME_SLEEP] = 1,
	};
	size_t words[GB_FRAME_KIND_COUNT] = {0}, i;

	for (i = 0; i < GB_SAMPLE_RUNS; i++) {
		const struct gb_frame_run *run = &sample->runs[i];

		if (run->kind >= GB_FRAME_KIND_COUNT)
			return false;
		words[run->kind] += run->words;
		if (words[run->kind] > max_words[run->kind])
			return false;
	}
	return sample->user_end < GB_STACK_END_COUNT && size == sample_bytes(sample);
}

static int open_buffer(struct records *records, struct process *process)
{
	const struct profile_buffer_config config = {
		.memory = records->config.memory,
		.process_id = process->tgid,
		.period_ns = records->config.period_ns,
	};

	int err = profile_buffer_open(&process->buffer, &config);

	if (!err)
		counter_records_begin(records, process);
	return err;
}

void records_put_sample(struct records *records, struct thread *thread,
			const struct gb_sample *sample)
{
	struct process *process = thread->process;
	struct sample_entry entry;

	records_mark_alive(records, process);
	if (!process->buffer && open_buffer(records, process)) {
		records->counts.put_failed++;
		return;
	}
	entry = (struct sample_entry){
		.thread = thread->number,
		.user_end = sample->user_end,
		.time_ns = sample->hdr.time_ns,
		.cpu_ns = sample->cpu_ns,
		.run_ns = sample->event == GB_EVENT_SLEEP ? 0 : sample->run_ns,
		.slept_ns = sample->event == GB_EVENT_SLEEP ? sample->run_ns : 0,
		.event = sample->event,
		.weight = sample->weight,
	};
	sample_frames_turn(sample, records->frames, &entry);
	if (profile_buffer_put_sample(process->buffer, &entry)) {
		records->counts.put_failed++;
	} else {
		if (entry.time_ns > thread->sampled_ns)
			thread->sampled_ns = entry.time_ns;
		records->counts.samples++;
	}
	if (process->died_ns)
		records_note_ended(records, process);
}

/* NULL: it makes no sense, or there is no memory, which is counted. */
static struct thread *thread_of(struct records *records, const struct gb_sample *sample,
				size_t size, size_t max_user_words)
{
	struct thread *thread = NULL;

	if (!is_consistent(sample, size, max_user_words))
		records->counts.bad_records++;
	else if (processes_thread(records->config.processes, &sample->task, &thread))
		records->counts.put_failed++;
	return thread;
}

static void apply_sample(struct records *records, const void *record, size_t size)
{
	const struct gb_sample *sample = record;
	struct thread *thread = thread_of(records, sample, size, GB_MAX_USER_WORDS);

	if (thread && (!thread->held_count || records_hold(records, thread, sample, HELD_BEHIND)))
		records_put_sample(records, thread, sample);
}

bool records_unwind(struct records *records, const struct thread *thread,
		    const struct gb_sample *raw, uint32_t *awaited)
{
	struct gb_sample *sample = &records->unwound.sample;

	if (records->listener.unwind)
		return records->listener.unwind(records->listener.context, thread->process, raw,
						sample, awaited);
	sample_without_user(raw, sample);
	return true;
}

void records_put_unwound(struct records *records, struct thread *thread)
{
	const struct gb_sample *sample = &records->unwound.sample;

	if (is_consistent(sample, sample->hdr.size, GB_MAX_USER_WORDS))
		records_put_sample(records, thread, sample);
	else
		records->counts.bad_records++;
}

/* Registers and stack memory: the frames are found here, with what is known of the process by now. */
static void apply_raw(struct records *records, const void *record, size_t size)
{
	const struct gb_sample *raw = record;
	struct thread *thread = thread_of(records, raw, size, GB_RAW_REGS + GB_RAW_STACK_WORDS);
	uint32_t awaited = HELD_BEHIND;

	if (!thread)
		return;
	if ((!records_unwind(records, thread, raw, &awaited) || thread->held_count) &&
	    !records_hold(records, thread, raw, awaited))
		return;
	records_put_unwound(records, thread);
}

const struct record_kind sample_record = {
	.kind = GB_RECORD_SAMPLE,
	.order = RECORD_AT_ONCE,
	.min_bytes = sizeof(struct gb_sample),
	.apply = apply_sample,
};

/* What its process had mapped when it was taken has to be known. */
const struct record_kind raw_record = {
	.kind = GB_RECORD_RAW,
	.order = RECORD_AFTER_EARLIER,
	.min_bytes = sizeof(struct gb_sample),
	.apply = apply_raw,
};
