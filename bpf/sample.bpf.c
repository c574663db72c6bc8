// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sample.bpf.c - on every tick of a CPU's timer: who runs, its stack, its CPU time, into a ring.
 *
 * The record is built in per-CPU scratch memory and copied at its exact length. The reader is woken when a ring has filled
 * to a mark, not for every sample.
 */

static __always_inline void describe(struct gb_sample *sample, struct task_struct *task)
{
	struct run_state *state = current_run();

	sample->hdr.kind = GB_RECORD_SAMPLE;
	sample->hdr.flags = 0;
	sample->hdr.time_ns = bpf_ktime_get_ns();
	name_task(&sample->task, task);
	sample->cpu = bpf_get_smp_processor_id();
	sample->cpu_ns = 0;
	sample->run_ns = 0;
	if (!state)
		return;
	sample->cpu_ns = run_cpu_time(state, task, sample->hdr.time_ns);
	if (state->is_started_known)
		sample->run_ns = sample->hdr.time_ns - state->started_ns;
}

static __always_inline void capture(struct bpf_perf_event_data *ctx, struct gb_sample *sample,
				    struct task_struct *task)
{
	__u32 kernel_count = 0;

	if (cfg_kernel_stacks && !is_user_mode(ctx))
		kernel_count = stack_kernel(ctx, sample->pc);
	/* For the verifier, which does not know that bpf_get_stack() keeps to its size. */
	if (kernel_count > GB_MAX_KERNEL_FRAMES)
		kernel_count = GB_MAX_KERNEL_FRAMES;
	sample->kernel_count = kernel_count;
	sample->user_count = 0;
	sample->user_end = GB_STACK_NONE;
	if (TASK_FIELD(task, mm) && !(TASK_FIELD(task, flags) & GB_PF_KTHREAD))
		sample->user_count = stack_user(ctx, &sample->pc[kernel_count], &sample->user_end);
	if (sample->user_end == GB_STACK_FAILED)
		count(GB_STAT_NO_USER_STACK);
}

static __always_inline void send(struct gb_sample *sample)
{
	__u64 size = sizeof(*sample) + (sample->kernel_count + sample->user_count) * sizeof(__u64);
	__u32 index = sample->task.tid & cfg_ring_mask;
	void *ring = bpf_map_lookup_elem(&samples, &index);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (!ring)
		return;
	if (size > sizeof(struct sample_scratch))
		size = sizeof(struct sample_scratch);
	sample->hdr.size = size;
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > cfg_wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	count(bpf_ringbuf_output(ring, sample, size, flags) ? GB_STAT_RING_FULL : GB_STAT_SAMPLES);
}

SEC("perf_event")
int on_timer(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task_struct();
	struct gb_sample *sample;
	__u32 zero = 0;

	if (!is_target(TASK_FIELD(task, tgid)))
		return 0;
	sample = bpf_map_lookup_elem(&scratch, &zero);
	if (!sample)
		return 0;
	count(GB_STAT_TICKS);
	describe(sample, task);
	capture(ctx, sample, task);
	send(sample);
	return 0;
}
