// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * timer.bpf.c - the timer: on every tick of a CPU's perf event, a sample of the thread that runs.
 * Its other side is user/capture/timer_source.c.
 */

/* By its name as it is now, so a thread that is renamed comes or goes. Ticks that it does not want are none that it missed. */
static __always_inline bool is_picked(void)
{
	const volatile struct gb_names *names = (const volatile struct gb_names *)cfg_thread_names;
	struct run_state *state = current_run();
	char name[GB_NAME_BYTES];

	if (!bpf_get_current_comm(name, sizeof(name)) && gb_names_match(names, name))
		return true;
	count(GB_STAT_TICKS_NOT_PICKED);
	if (state)
		state->due_ns = 0; /* it is known again at the next that is wanted */
	return false;
}

SEC("?perf_event")
int on_timer(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task_struct();
	bool is_user = is_user_mode(ctx);
	struct sample_scratch *buffer;
	struct gb_sample *sample;
	struct run_state *state;
	__u32 key = scratch_key(SLOT_TIMER);

	if (!is_target(TASK_FIELD(task, tgid)) || (cfg_picks_threads && !is_picked()))
		return 0;
	buffer = bpf_map_lookup_elem(&scratch, &key);
	if (!buffer)
		return 0;
	sample = (struct gb_sample *)buffer->words;
	state = current_run();
	sample_describe(sample, task, state);
	count(GB_STAT_TICKS);
	if (state)
		run_note_tick(state, task, sample->hdr.time_ns);
	if (cfg_kernel_stacks && !is_user)
		sample_kernel_stack(ctx, sample);
	sample_user_stack(ctx, is_user, buffer, task, key);
	sample_send(sample);
	return 0;
}
