// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sched.bpf.c - which thread gets on the CPU when, and the last moment of every thread.
 *
 * One map write per switch to a target; the CPU time itself is read from the kernel's account (cputime.bpf.h). Sleeps, if
 * they are wanted: sleep.bpf.h.
 */

/*
 * What the threads of a process share. A thread that nobody waits for is reaped before its last
 * switch and has lost it; its leader, if there still is one, has it. NULL (which reads as zeros):
 * the whole process is gone.
 */
static __always_inline struct signal_struct *shared_state(struct task_struct *task)
{
	return task->signal ? task->signal : task->group_leader->signal;
}

static __always_inline void report_exit(struct task_struct *task)
{
	struct signal_struct *shared = shared_state(task);
	struct gb_task_event *event;
	__u32 tgid = task->tgid;
	bool is_last;

	if (!is_target(tgid))
		return;
	/* live: threads that have not begun to exit; nr_threads: those not yet reaped, the leader included. */
	is_last = shared->live.counter == 0 && shared->nr_threads <= 1;
	if (!cfg_all && is_last)
		bpf_map_delete_elem(&targets, &tgid);
	/*
	 * Mappings that the process inherited while user space never heard of it. What user space
	 * publishes from now on, it removes itself.
	 */
	if (is_last)
		bpf_map_delete_elem(&process_maps, &tgid);
	event = reserve_event();
	if (!event)
		return;
	describe_task(event, task, GB_TASK_EXIT);
	event->exit_code = task->exit_code;
	event->live_threads = shared->live.counter;
	event->max_rss_bytes = shared->maxrss * GB_PAGE_BYTES;
	submit_event(event, is_last);
}

/* Whether this was the last run of its process, or of one of its last threads. */
static __always_inline bool is_over(struct task_struct *task)
{
	return task_is_dead(task) && shared_state(task)->live.counter == 0;
}

/* `task`, a target, leaves the CPU to `next`. A tick that was due for it is taken now: when it comes it finds another. */
static __always_inline void leave(void *ctx, struct run_state *state, struct task_struct *task,
				  struct task_struct *next, __u64 now)
{
	if (state->due_ns && is_sampled(state, task, state->started_ns, now))
		sample_tick(ctx, false, tracing_frames(ctx, state, next), task, state, now);
	if (state->late)
		ticks_settle(state, task->se.sum_exec_runtime);
	if (memory_wanted())
		counters_look(task, now, true);
	if (amounts_wanted())
		amounts_look(state, task, now, is_over(task));
}

static __always_inline int on_any_switch(void *ctx, bool preempt, struct task_struct *prev,
					 struct task_struct *next, enum gb_sleep_way way)
{
	struct run_state *state = current_run();
	bool is_to_target = is_target(next->tgid), is_dead = task_is_dead(prev);
	__u64 now = 0;

	if (!state)
		return 0;
	if (state->tid || is_to_target)
		now = bpf_ktime_get_ns();
	if (state->tid && state->tid == (__u32)prev->pid) {
		leave(ctx, state, prev, next, now);
		if (cfg_off_cpu && !is_dead)
			sleep_begin(prev, preempt, now);
	}
	if (is_dead) {
		report_exit(prev);
		if (cfg_off_cpu)
			sleep_forget(prev);
	}
	state->tid = 0;
	if (!is_to_target)
		return 0;
	run_begin(state, next, now, now);
	if (cfg_off_cpu)
		sleep_end(state, next, now, way);
	count(GB_STAT_SWITCHES);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_any_switch(ctx, preempt, prev, next, GB_SLEEP_WAY_NONE);
}

/* The same, where there is task work, which kernels that do not have it do not even let a program name. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch_deferring, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_any_switch(ctx, preempt, prev, next, GB_SLEEP_WAY_TASK_WORK);
}
