/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ticks.bpf.h - which ticks of the timer belong to which run of a thread on the CPU.
 *
 * A CPU's timer is due on a grid of periods, and comes some microseconds later: interrupts are off in a switch, a
 * hypervisor takes its time. Of a run of 100 us that is a tenth. So a tick belongs to the thread that ran when it was
 * due: if that one leaves the CPU first, it is sampled as it leaves (sched.bpf.c), and the tick, when it comes, is
 * nobody's (timer.bpf.c). One that comes to a thread that was not there yet, and that nobody took, was due within the
 * switch to it, which the kernel accounts to it. So a thread has the samples of its CPU time, however short it runs.
 */
#ifndef TICKS_BPF_H
#define TICKS_BPF_H

/* When this tick was due. `now` where the event has no timer that says so. */
static __always_inline __u64 tick_due(struct bpf_perf_event_data *ctx, __u64 now)
{
	struct bpf_perf_event_data_kern *data = (struct bpf_perf_event_data_kern *)ctx;
	__u64 due;

	if (!bpf_core_field_exists(struct perf_event, hw.hrtimer.node.expires))
		return now;
	due = BPF_CORE_READ(data, event, hw.hrtimer.node.expires);
	return due && due < now ? due : now;
}

/*
 * Those of the ticks that did not come by the clock which the thread ran for by its account: a hypervisor or an interrupt
 * that kept them away is not in the account, on most kernels. Called when the account is later than they are.
 */
static __always_inline void ticks_settle(struct run_state *state, __u64 account)
{
	__u64 due = (account - state->settled_cpu_ns) / cfg_period_ns;
	__u64 missed = due > state->ticks ? due - state->ticks : 0;

	if (account > state->settled_cpu_ns)
		count_more(GB_STAT_TICKS_MISSED, missed < state->late ? missed : state->late);
	state->settled_cpu_ns = account;
	state->ticks = 0;
	state->late = 0;
}

/* Whether the tick that was due then was taken already, as its thread left the CPU. The grid is where it says, then. */
static __always_inline bool tick_is_taken(struct run_state *state, __u64 due)
{
	bool is_taken = state->due_ns > due + cfg_period_ns / 2;

	state->due_ns = is_taken ? due + cfg_period_ns : due;
	return is_taken;
}

/*
 * Takes the ticks that were due from `since` on up to `now` and moves the grid behind them. Returns whether there were any:
 * the thread is to be sampled. One sample stands for all of them: where a hypervisor takes the CPU away or interrupts
 * stay off, the kernel lets the timer fire once for all the periods that went by. The others are late. No tick: the
 * timer does not run, or has not said yet where its grid lies, or none was due.
 */
static __always_inline bool ticks_take(struct run_state *state, struct task_struct *task,
				       __u64 since, __u64 now)
{
	__u64 due = state->due_ns, late, account;

	if (due > now || due < timers_since_ns)
		return false;
	if (due < since)
		due += (since - due + cfg_period_ns - 1) / cfg_period_ns * cfg_period_ns;
	late = due > now ? 0 : (now - due) / cfg_period_ns;
	state->due_ns = due > now ? due : due + (late + 1) * cfg_period_ns;
	if (due > now)
		return false;
	account = TASK_FIELD(task, se.sum_exec_runtime);
	if (state->late && account != state->late_cpu_ns)
		ticks_settle(state, account);
	state->ticks++;
	if (late) {
		state->late += late;
		state->late_cpu_ns = account;
	}
	return true;
}

#endif
