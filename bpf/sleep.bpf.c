// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sleep.bpf.c - what belongs to sleeps (sleep.bpf.h) besides the switches: wake-ups, where a thread goes on, and a list of
 * those that sleep. Its other side is user/capture/sleep_source.c.
 */

SEC("?tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct sleeper *sleeper = bpf_map_lookup_elem(&sleepers, &tid);

	if (sleeper && sleeper->out_ns && !sleeper->woken_ns)
		sleeper->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * Where a thread goes on, on kernels without task work. The kernel does not run it twice on one CPU at a time, so the
 * scratch memory is its own; whose turn is left out so has another when it has slept again.
 */
SEC("?fexit/schedule")
int BPF_PROG(on_scheduled)
{
	struct run_state *state = current_run();
	struct task_struct *task;
	struct sleeper *sleeper;

	if (!state || !state->awoken_tid)
		return 0;
	task = current_task_struct();
	if (state->awoken_tid != (__u32)TASK_FIELD(task, pid))
		return 0;
	state->awoken_tid = 0;
	sleeper = bpf_map_lookup_elem(&sleepers, &(__u32){TASK_FIELD(task, pid)});
	if (sleeper)
		send_with_stack(sleeper, task, scratch_key(SLOT_SLEEP));
	return 0;
}

/*
 * Read as a file, when sleeps do not count any more: those that are under way are sent, up to then, without a stack; and
 * what no sample was sent of yet.
 */
SEC("?iter/task")
int list_sleepers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sleeper *sleeper;

	if (!task || task->flags & GB_PF_KTHREAD || task->signal->live.counter == 0 ||
	    !is_target(task->tgid))
		return 0;
	sleeper = find_sleeper(task);
	if (!sleeper)
		sleeper = make_sleeper(task);
	if (!sleeper)
		return 0;
	if (sleeper->out_ns || task_state(task)) {
		if (!sleeper->out_ns)
			sleeper->state = 1;
		sleep_count(sleeper, task, sleeps_until_ns);
	}
	sleeper->out_ns = 0;
	send_all_bare(sleeper, task);
	return 0;
}
