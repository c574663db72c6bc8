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

#define OWN_SLACK_NS 5000 /* the kernel sets the timer anew a moment after a sample was made */
#define SHIFTED_NS                                                                                 \
	1000 /* a timer that is set anew keeps to its grid; one that was stopped has another */
#define THROTTLED_INTERRUPTS                                                                       \
	(~0ULL) /* MAX_INTERRUPTS: the kernel has stopped the event until its next own tick */

static __always_inline bool has_due(void)
{
	return bpf_core_field_exists(struct perf_event, hw.hrtimer.node.expires);
}

/* When this tick was due. `now` where the event has no timer that says so. */
static __always_inline __u64 tick_due(struct bpf_perf_event_data *ctx, struct run_state *state,
				      __u64 now)
{
	struct bpf_perf_event_data_kern *data = (struct bpf_perf_event_data_kern *)ctx;
	struct perf_event *event = BPF_CORE_READ(data, event);
	__u64 due;

	state->event = (__u64)event;
	if (!has_due())
		return now;
	due = BPF_CORE_READ(event, hw.hrtimer.node.expires);
	return due && due < now ? due : now;
}

/* `count` ticks from the one that was due then on did not come. */
static __always_inline void ticks_note_late(struct run_state *state, __u64 due, __u64 count,
					    bool was_stopped)
{
	const __u64 busy_until_ns = state->busy_until_ns + OWN_SLACK_NS;
	__u64 own = due < busy_until_ns ? (busy_until_ns - due) / cfg_period_ns + 1 : 0;

	if (own > count)
		own = count;
	state->late += count;
	state->late_own += own;
	if (was_stopped)
		state->late_throttled += count - own;
}

/* Whether a timer that is due at one of these times, and was at the other, was stopped between them. */
static __always_inline bool is_off_grid(__u64 one, __u64 other)
{
	__u64 rest = (one > other ? one - other : other - one) % cfg_period_ns;

	return rest > SHIFTED_NS && cfg_period_ns - rest > SHIFTED_NS;
}

/* Those that the timer has left out before the one that was due then. */
static __always_inline void ticks_note_skipped(struct run_state *state, __u64 due)
{
	__u64 count = (due - state->skipped_ns + cfg_period_ns / 2) / cfg_period_ns;

	ticks_note_late(state, state->skipped_ns, count,
			has_due() && is_off_grid(due, state->skipped_ns));
}

/* Whether the kernel has stopped the timer since the tick that was due then, because it came too often. */
static __always_inline bool was_throttled(const struct run_state *state, __u64 due)
{
	struct perf_event *event = (struct perf_event *)state->event;

	if (!event || !has_due())
		return false;
	return BPF_CORE_READ(event, hw.interrupts) == THROTTLED_INTERRUPTS ||
	       is_off_grid(BPF_CORE_READ(event, hw.hrtimer.node.expires), due);
}

/* Those that did not come are none that were missed. */
static __always_inline void ticks_forgive(struct run_state *state)
{
	state->late = 0;
	state->late_own = 0;
	state->late_throttled = 0;
}

/*
 * Those of the ticks that did not come by the clock which the thread ran for by its account: a hypervisor or an interrupt
 * that kept them away is not in the account, on most kernels. Called when the account is later than they are.
 */
static __always_inline void ticks_settle(struct run_state *state, __u64 account)
{
	__u64 due = (account - state->settled_cpu_ns) / cfg_period_ns;
	__u64 missed = due > state->ticks ? due - state->ticks : 0, own, throttled;

	if (account <= state->settled_cpu_ns)
		missed = 0;
	if (missed > state->late)
		missed = state->late;
	own = missed < state->late_own ? missed : state->late_own;
	throttled = missed - own < state->late_throttled ? missed - own : state->late_throttled;
	if (missed) {
		count_more(GB_STAT_TICKS_MISSED, missed);
		count_more(GB_STAT_TICKS_MISSED_OWN, own);
		count_more(GB_STAT_TICKS_MISSED_THROTTLED, throttled);
	}
	state->settled_cpu_ns = account;
	state->ticks = 0;
	ticks_forgive(state);
}

/*
 * When the first tick was due, in this run, that the timer has left out before the one that was due then; 0: it has left
 * out none. The kernel sets the timer for the first period that has not begun when its interrupt ends, and tells nobody.
 */
static __always_inline __u64 first_skipped(const struct run_state *state, __u64 due)
{
	__u64 first = state->due_ns;

	if (first + cfg_period_ns / 2 >= due || first < timers_since_ns)
		return 0;
	if (first < state->begun_ns)
		first += (state->begun_ns - first + cfg_period_ns - 1) / cfg_period_ns *
			 cfg_period_ns;
	return first + cfg_period_ns / 2 < due ? first : 0;
}

/* Whether the tick that was due then was taken already, as its thread left the CPU. The grid is where it says, then. */
static __always_inline bool tick_is_taken(struct run_state *state, __u64 due)
{
	bool is_taken = state->due_ns > due + cfg_period_ns / 2;

	state->skipped_ns = is_taken ? 0 : first_skipped(state, due);
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
	if (state->skipped_ns)
		ticks_note_skipped(state, due);
	if (late)
		ticks_note_late(state, due, late, was_throttled(state, due));
	if (late || state->skipped_ns)
		state->late_cpu_ns = account;
	state->skipped_ns = 0;
	return true;
}

#endif
