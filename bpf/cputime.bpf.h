/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cputime.bpf.h - the CPU time of the running thread, to the nanosecond, at any moment.
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

/* `started_ns`: when the run that `task` is in began; 0: not known. */
static __always_inline void run_begin(struct run_state *state, struct task_struct *task, __u64 now,
				      __u64 started_ns)
{
	state->tid = TASK_FIELD(task, pid);
	state->started_ns = started_ns;
	state->base_ns = now;
	state->base_cpu_ns = TASK_FIELD(task, se.sum_exec_runtime);
	state->kernel_cpu_ns = state->base_cpu_ns;
	state->settled_cpu_ns = state->base_cpu_ns;
	state->ticks = 0;
	state->begun_ns = now;
	state->skipped_ns = 0;
	state->late = 0;
	state->late_own = 0;
	state->late_throttled = 0;
	amounts_begin(state, task);
}

/* `task` runs on this CPU, perhaps since before there was a program to see it come. */
static __always_inline void run_follow(struct run_state *state, struct task_struct *task, __u64 now)
{
	if (state->tid != (__u32)TASK_FIELD(task, pid))
		run_begin(state, task, now, 0);
}

/* The CPU time that `task`, which runs on this CPU, has used up to `now`. */
static __always_inline __u64 run_cpu_time(struct run_state *state, struct task_struct *task,
					  __u64 now)
{
	__u64 account = TASK_FIELD(task, se.sum_exec_runtime);
	__u64 sum;

	run_follow(state, task, now);
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

#endif
