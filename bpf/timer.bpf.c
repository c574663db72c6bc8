// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * timer.bpf.c - the timer: for every tick of a CPU's perf event, a sample of the thread that ran when it was due
 * (ticks.bpf.h). Its other side is user/capture/timer_source.c.
 */

/* By its name as it is now, so a thread that is renamed comes or goes. Ticks that it does not want are none that it missed. */
static __always_inline bool is_picked(struct run_state *state)
{
	const volatile struct gb_names *names = (const volatile struct gb_names *)cfg_thread_names;
	char name[GB_NAME_BYTES];

	if (!bpf_get_current_comm(name, sizeof(name)) && gb_names_match(names, name))
		return true;
	count(GB_STAT_TICKS_NOT_PICKED);
	ticks_forgive(state);
	return false;
}

/* Whether `task`, which runs, is to be sampled at `now`: a tick was due from `since` on, and it is picked. */
static __always_inline bool is_sampled(struct run_state *state, struct task_struct *task,
				       __u64 since, __u64 now)
{
	return ticks_take(state, task, since, now) && (!cfg_picks_threads || is_picked(state));
}

/* `ctx`: what bpf_get_stack() takes here; the first `skipped` kernel frames are left out. */
static __always_inline void sample_tick(void *ctx, bool is_user, __u32 skipped,
					struct task_struct *task, struct run_state *state,
					__u64 now)
{
	__u32 key = scratch_key(SLOT_TIMER);
	struct sample_scratch *buffer = bpf_map_lookup_elem(&scratch, &key);
	struct gb_sample *sample;

	if (!buffer)
		return;
	sample = (struct gb_sample *)buffer->words;
	sample_describe(sample, task, state, now);
	count(GB_STAT_TICKS);
	if (cfg_kernel_stacks && !is_user)
		sample_kernel_stack(ctx, sample, skipped);
	sample_user_stack(ctx, is_user, buffer, task, key);
	sample_send(sample);
	state->busy_until_ns = bpf_ktime_get_ns();
	count_more(GB_STAT_SAMPLES_NS, state->busy_until_ns - now);
}

SEC("?perf_event")
int on_timer(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task_struct();
	struct run_state *state = current_run();
	__u64 now = bpf_ktime_get_ns(), due;

	if (!state || !is_target(TASK_FIELD(task, tgid)))
		return 0;
	run_follow(state, task, now);
	due = tick_due(ctx, state, now);
	if (!tick_is_taken(state, due) && is_sampled(state, task, due, now))
		sample_tick(ctx, is_user_mode(ctx), 0, task, state, now);
	if (memory_wanted())
		counters_look(task, now, false);
	if (amounts_wanted())
		amounts_look(state, task, now, false);
	return 0;
}
