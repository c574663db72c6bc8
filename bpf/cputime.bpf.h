/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cputime.bpf.h - the CPU time of the running thread, to the nanosecond, at any moment; and which ticks it missed.
 *
 * The kernel's own account (se.sum_exec_runtime) is exact when a thread gets on the CPU, but between scheduler ticks it
 * stands still. So the clock is added to it:
 *
 *   CPU time = account at the start of this run + (now - start of this run)
 *
 * The account leaves out time that the hypervisor or interrupts took, the clock does not, so the
 * two can drift apart in a long run. Whenever the account is seen to have moved, the sum is held
 * within [account, account + one tick], and the base is set anew if it was not. So we never differ
 * from the kernel by more than a tick.
 */
#ifndef CPUTIME_BPF_H
#define CPUTIME_BPF_H

#define GB_LONGEST_TICK_NS 10000000ULL /* HZ=100 */

static __always_inline struct run_state *current_run(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&run, &zero);
}

static __always_inline void run_begin(struct run_state *state, struct task_struct *task, __u64 now,
				      bool is_started_known)
{
	state->tid = TASK_FIELD(task, pid);
	state->is_started_known = is_started_known;
	state->started_ns = now;
	state->base_ns = now;
	state->base_cpu_ns = TASK_FIELD(task, se.sum_exec_runtime);
	state->kernel_cpu_ns = state->base_cpu_ns;
	state->settled_cpu_ns = state->base_cpu_ns;
	state->ticks = 0;
	state->late = 0;
}

/* The CPU time that `task`, which runs on this CPU, has used up to `now`. */
static __always_inline __u64 run_cpu_time(struct run_state *state, struct task_struct *task,
					  __u64 now)
{
	__u64 account = TASK_FIELD(task, se.sum_exec_runtime);
	__u64 sum;

	if (state->tid != (__u32)TASK_FIELD(task, pid))
		run_begin(state, task, now, false); /* it has run since before we looked */
	sum = state->base_cpu_ns + (now - state->base_ns);
	if (account == state->kernel_cpu_ns)
		return sum;
	state->kernel_cpu_ns = account;
	if (sum >= account && sum <= account + GB_LONGEST_TICK_NS)
		return sum;
	sum = sum < account ? account : account + GB_LONGEST_TICK_NS;
	state->base_ns = now;
	state->base_cpu_ns = sum;
	return sum;
}

/*
 * Those of the ticks that did not come by the clock which the thread ran for by its account: a hypervisor or an interrupt
 * that kept them away is not in the account, on most kernels. Called when the account is later than they are.
 */
static __always_inline void run_settle_ticks(struct run_state *state, __u64 account)
{
	__u64 due = (account - state->settled_cpu_ns) / cfg_period_ns;
	__u64 missed = due > state->ticks ? due - state->ticks : 0;

	if (account > state->settled_cpu_ns)
		count_more(GB_STAT_TICKS_MISSED, missed < state->late ? missed : state->late);
	state->settled_cpu_ns = account;
	state->ticks = 0;
	state->late = 0;
}

/*
 * Called at every tick. Those that should have come before it, in this run of the thread on the CPU, and did not, are late.
 * Where a hypervisor takes the CPU away or interrupts stay off, the kernel lets the timer fire once for all the periods
 * that went by. Ticks keep to a grid of periods; the earliest there was shows where it lies.
 */
static __always_inline void run_note_tick(struct run_state *state, struct task_struct *task,
					  __u64 now)
{
	__u64 timed_ns = timers_since_ns, started_ns = state->started_ns;
	__u64 since = started_ns > timed_ns ? started_ns : timed_ns;
	__u64 account = TASK_FIELD(task, se.sum_exec_runtime);
	__u64 due = state->due_ns, late = 0;

	if (state->late && account != state->late_cpu_ns)
		run_settle_ticks(state, account);
	if (due && due < since) /* those were not for this run, or there was no timer */
		due += (since - due + cfg_period_ns - 1) / cfg_period_ns * cfg_period_ns;
	if (due && now >= due + cfg_period_ns)
		late = (now - due) / cfg_period_ns;
	state->due_ns = due && due <= now ? due + (late + 1) * cfg_period_ns : now + cfg_period_ns;
	state->ticks++;
	if (!late)
		return;
	state->late += late;
	state->late_cpu_ns = account;
}

#endif
