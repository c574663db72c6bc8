/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample.bpf.h - how all sources make a sample: the thread that runs, its CPU time and its stacks
 * go into a ring.
 *
 * The record is built in per-CPU scratch memory and copied at its exact length. The reader is woken
 * when a ring has filled to a mark, not for every sample.
 */
#ifndef SAMPLE_BPF_H
#define SAMPLE_BPF_H

/* Indexes of runs[] in the samples that are made here; a sleep has its reason in place of kernel frames. */
enum sample_run { RUN_KERNEL, RUN_USER };

static __always_inline void set_run(struct gb_sample *sample, enum sample_run run,
				    enum gb_frame_kind kind, __u32 words)
{
	sample->runs[run].kind = kind;
	sample->runs[run].words = words;
}

static __always_inline void sample_describe(struct gb_sample *sample, struct task_struct *task,
					    struct run_state *state, __u64 now)
{
	sample->hdr.kind = GB_RECORD_SAMPLE;
	sample->hdr.flags = 0;
	sample->hdr.time_ns = now;
	name_task(&sample->task, task);
	sample->cpu = bpf_get_smp_processor_id();
	sample->cpu_ns = 0;
	sample->run_ns = 0;
	sample->user_sp = 0;
	sample->weight = 1;
	sample->event = 0;
	sample->user_end = GB_STACK_NONE;
	__builtin_memset(sample->runs, 0, sizeof(sample->runs));
	if (!state)
		return;
	sample->cpu_ns = run_cpu_time(state, task, sample->hdr.time_ns);
	if (state->started_ns)
		sample->run_ns = sample->hdr.time_ns - state->started_ns;
}

static __always_inline void sample_kernel_stack(void *ctx, struct gb_sample *sample, __u32 skipped)
{
	__u32 kernel_count = stack_kernel(ctx, sample->pc, skipped);

	/* For the verifier, which does not know that bpf_get_stack() keeps to its size. */
	if (kernel_count > GB_MAX_KERNEL_FRAMES)
		kernel_count = GB_MAX_KERNEL_FRAMES;
	set_run(sample, RUN_KERNEL, GB_FRAME_KERNEL, kernel_count);
}

/*
 * Whether user space, which looks a moment later, knows more of this stack. Code in no mapping was mapped a moment ago,
 * as a rule. What was found by frame pointers where a table is on its way may be wrong, however it ended.
 */
static __always_inline bool is_known_later(const struct sample_scratch *buffer, __u8 end)
{
	if (end == GB_STACK_NO_PROCESS || end == GB_STACK_NO_MAPPING)
		return true;
	return buffer->unwind.seen & GB_MAPPING_AWAITED;
}

/* `ctx`: of the perf event, or NULL where the thread can only be in the kernel. */
static __always_inline void sample_user_stack(void *ctx, bool is_user,
					      struct sample_scratch *buffer,
					      struct task_struct *task, __u32 key)
{
	struct gb_sample *sample = (struct gb_sample *)buffer->words;
	__u32 kernel_count = sample->runs[RUN_KERNEL].words;
	__u64 regs[GB_PT_WORDS];

	if (TASK_FIELD(task, flags) & GB_PF_KTHREAD)
		return;
	sample->user_end = GB_STACK_NO_MEMORY;
	if (!TASK_FIELD(task, mm))
		return;
	sample->user_end = GB_STACK_FAILED;
	if (user_regs(ctx, is_user, task, regs))
		return;
	sample->user_sp = regs[GB_PT_SP];
	if (gb_pt_is_32_bit(regs[GB_PT_MODE])) {
		sample->user_end = GB_STACK_COMPAT32;
		return;
	}
	buffer->user_at = SAMPLE_WORDS + kernel_count;
	sample->user_end = GB_STACK_NO_PROCESS;
	if (find_process(buffer, task)) {
		set_run(sample, RUN_USER, GB_FRAME_USER, unwind(buffer, regs, key));
		sample->user_end = buffer->unwind.end;
	}
	if ((sample->user_end == GB_STACK_NO_PROCESS || sample->user_end == GB_STACK_READ_FAILED) &&
	    is_in_exec(task)) {
		/* the old image is gone, the new one has not run */
		sample->user_end = GB_STACK_NO_MEMORY;
		sample->runs[RUN_USER].words = 0;
		return;
	}
	if (!is_known_later(buffer, sample->user_end) || !may_send_raw(sample->hdr.time_ns))
		return;
	sample->hdr.kind = GB_RECORD_RAW;
	sample->user_end = GB_STACK_RAW;
	set_run(sample, RUN_USER, GB_FRAME_USER, copy_raw(buffer, regs));
	count(GB_STAT_RAW);
}

/* `size` bytes, which the record says as well. */
static __always_inline void sample_output(struct gb_sample *sample, __u64 size)
{
	__u32 index = sample->task.tid & cfg_ring_mask;
	void *ring = bpf_map_lookup_elem(&samples, &index);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!ring)
		return;
	/* A raw sample wants its process to be looked at. */
	if (sample->hdr.kind == GB_RECORD_RAW ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > cfg_wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	count(bpf_ringbuf_output(ring, sample, size, flags) ? GB_STAT_RING_FULL : GB_STAT_SAMPLES);
}

static __always_inline void sample_send(struct gb_sample *sample)
{
	__u32 words = sample->runs[RUN_KERNEL].words + sample->runs[RUN_USER].words;
	__u64 size = sizeof(*sample) + words * sizeof(__u64);

	if (size > SCRATCH_WORDS * sizeof(__u64))
		size = SCRATCH_WORDS * sizeof(__u64);
	sample->hdr.size = size;
	sample_output(sample, size);
}

#endif
