/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sleep.bpf.h - the time that threads are off the CPU, as samples.
 *
 *   switch-out ──> since when, and in which state
 *   wake-up    ──> until when it was blocked; from then on it only wants a CPU
 *   switch-in  ──> blocked and runnable time are added to what the thread slept before; whenever that passes the
 *                  sampling period: a part, of so many whole periods and one reason. What is left is kept
 *   the thread goes on ──> a sample for each part, with the stack that it slept in
 *
 * So nothing is lost and nothing is sent twice, however short the sleeps are, and the samples of a thread are as many
 * as those that a timer would have taken of it. A switch costs no stack: that is taken when the thread runs in the
 * kernel again, and its user part has not changed since:
 *
 *   with task work (6.18)          by that, right before it goes back to user code
 *   where schedule() can be traced   as that returns in it (on_scheduled)
 *   neither                        not at all: the sample has its reason, and GB_STACK_NOT_TAKEN
 *
 * Threads of the kernel are left out: most of them wait for work all the time.
 */
#ifndef SLEEP_BPF_H
#define SLEEP_BPF_H

#define SLEEP_PARTS 4 /* a power of two */

/* Whole periods of a sleep, for one reason, that no sample was sent of yet. */
struct sleep_part {
	__u64 end_ns;
	__u64 slept_ns;
	__u64 cpu_ns; /* that the thread had used when it slept */
	__u32 weight; /* periods */
	__u32 reason; /* GB_SLEEP() */
};

struct sleeper {
	struct bpf_task_work work;
	__u64 start_ns; /* of the thread: a tid may be another's */
	__u64 out_ns; /* since when it is off the CPU; 0: not known, or it is on it */
	__u64 woken_ns; /* when it was woken; 0: not yet */
	__u64 rest_ns; /* off the CPU, and in no part */
	__u32 state; /* with which it left the CPU; 0: it was preempted */
	__u32 part_count;
	__u32 is_deferred; /* task work is under way */
	__u32 pad;
	struct sleep_part parts[SLEEP_PARTS];
};

/*
 * tid -> what is known of its sleeps. Written and read at switches, wake-ups, and where its stack is taken. User space
 * makes it of one element if sleeps are not sampled. Full: the sleeps of further threads are not seen, which is counted
 * (GB_STAT_SLEEPERS_FULL).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

const volatile char no_sleeper[sizeof(struct sleeper)]; /* zeros, as a new one has */

static __always_inline bool sleeps_count(void)
{
	return !sleeps_until_ns;
}

/* NULL: there is no room. */
static __always_inline struct sleeper *make_sleeper(struct task_struct *task)
{
	struct sleeper *sleeper;
	__u32 tid = task->pid;

	bpf_map_update_elem(&sleepers, &tid, (const void *)no_sleeper, BPF_ANY);
	sleeper = bpf_map_lookup_elem(&sleepers, &tid);
	if (sleeper)
		sleeper->start_ns = task->start_time;
	else
		count(GB_STAT_SLEEPERS_FULL);
	return sleeper;
}

static __always_inline struct sleeper *find_sleeper(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct sleeper *sleeper = bpf_map_lookup_elem(&sleepers, &tid);

	return sleeper && sleeper->start_ns == task->start_time ? sleeper : NULL;
}

static __always_inline void sleeper_drop(__u32 tid)
{
	bpf_map_delete_elem(&sleepers, &tid);
}

/* ---- reasons ------------------------------------------------------------------------------ */

/* S_IFMT >> 12 of what the thread has open there; 0: nothing. */
static __always_inline __u32 file_type(struct task_struct *task, __u32 descriptor)
{
	struct file **files = BPF_CORE_READ(task, files, fdt, fd);
	struct file *file = NULL;

	if (descriptor >= BPF_CORE_READ(task, files, fdt, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &files[descriptor]) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode) >> 12 & 15;
}

/* Of a thread that is blocked, or was until a moment ago: it has not run since. */
static __always_inline __u32 blocked_reason(struct task_struct *task, __u32 state)
{
	__u64 regs[GB_PT_WORDS];
	__u32 call, type = 0, why;

	if (state & GB_TASK_STOPPED)
		return GB_SLEEP(GB_SLEEP_STOPPED, 0, 0);
	if (bpf_probe_read_kernel(regs, sizeof(regs), saved_user_regs(task)))
		return GB_SLEEP(GB_SLEEP_UNKNOWN, 0, 0);
	call = gb_pt_call(regs);
	if (call && gb_pt_is_32_bit(regs[GB_PT_MODE])) /* of another numbering */
		return GB_SLEEP(GB_SLEEP_SYSTEM_CALL, 0, 0);
	if (call && gb_pt_descriptor(regs) != ~0U)
		type = file_type(task, gb_pt_descriptor(regs));
	why = call ? GB_SLEEP_SYSTEM_CALL : GB_SLEEP_FAULT;
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		why = GB_SLEEP_DISK;
	return GB_SLEEP(why, type, call);
}

static __always_inline bool is_sleep_picked(struct task_struct *task)
{
	const volatile struct gb_names *names = (const volatile struct gb_names *)cfg_thread_names;
	char name[GB_NAME_BYTES];

	return !cfg_picks_threads || (!bpf_probe_read_kernel(name, sizeof(name), task->comm) &&
				      gb_names_match(names, name));
}

/* ---- parts -------------------------------------------------------------------------------- */

/* It goes to the last part if that has the same reason, or if there is no room for another. */
static __always_inline void add_part(struct sleeper *sleeper, const struct sleep_part *more)
{
	__u32 count = sleeper->part_count;
	struct sleep_part *last = &sleeper->parts[(count - 1) & (SLEEP_PARTS - 1)];

	if (count && (count == SLEEP_PARTS || last->reason == more->reason)) {
		last->end_ns = more->end_ns;
		last->slept_ns += more->slept_ns;
		last->weight += more->weight;
		return;
	}
	sleeper->parts[count & (SLEEP_PARTS - 1)] = *more;
	sleeper->part_count = count + 1;
}

/* The thread was off the CPU from `from` to `to`. False: less than a period is to be told of it. */
static __always_inline bool make_part(struct sleeper *sleeper, struct task_struct *task, __u64 from,
				      __u64 to, bool is_blocked, struct sleep_part *part)
{
	if (to <= from)
		return false;
	sleeper->rest_ns += to - from;
	if (sleeper->rest_ns < cfg_period_ns)
		return false;
	part->weight = sleeper->rest_ns / cfg_period_ns;
	sleeper->rest_ns -= part->weight * cfg_period_ns;
	part->end_ns = to;
	part->slept_ns = to - from;
	part->cpu_ns = task->se.sum_exec_runtime;
	part->reason = is_blocked ? blocked_reason(task, sleeper->state)
				  : GB_SLEEP(GB_SLEEP_RUNNABLE, 0, 0);
	return is_sleep_picked(task);
}

static __always_inline void sleep_add(struct sleeper *sleeper, struct task_struct *task, __u64 from,
				      __u64 to, bool is_blocked)
{
	struct sleep_part part;

	if (make_part(sleeper, task, from, to, is_blocked, &part))
		add_part(sleeper, &part);
}

/* ---- samples ------------------------------------------------------------------------------ */

static __always_inline void describe_part(struct gb_sample *sample, const struct sleep_part *part)
{
	sample->hdr.time_ns = part->end_ns;
	sample->cpu_ns = part->cpu_ns;
	sample->run_ns = part->slept_ns;
	sample->weight = part->weight;
	sample->pc[0] = part->reason;
}

static __always_inline void describe_sleep(struct gb_sample *sample, struct task_struct *task,
					   __u64 now)
{
	sample_describe(sample, task, NULL, now);
	sample->event = GB_EVENT_SLEEP;
	set_run(sample, RUN_KERNEL, GB_FRAME_SLEEP, 1);
}

/* A part that no stack is taken of. */
static __always_inline void send_bare(struct task_struct *task, const struct sleep_part *part)
{
	__u64 words[SAMPLE_WORDS + 1];
	struct gb_sample *sample = (struct gb_sample *)words;

	describe_sleep(sample, task, part->end_ns);
	describe_part(sample, part);
	sample->user_end = GB_STACK_NOT_TAKEN;
	sample->hdr.size = sizeof(words);
	sample_output(sample, sizeof(words));
	count(GB_STAT_SLEEPS);
	count(GB_STAT_SLEEPS_BARE);
}

static __always_inline void send_all_bare(struct sleeper *sleeper, struct task_struct *task)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < SLEEP_PARTS; i++)
		if (i < sleeper->part_count)
			send_bare(task, &sleeper->parts[i]);
	sleeper->part_count = 0;
}

/* Of the current thread, which is in the kernel where it slept; nothing else uses that scratch memory meanwhile. */
static __always_inline void send_with_stack(struct sleeper *sleeper, struct task_struct *task,
					    __u32 key)
{
	struct sample_scratch *buffer = bpf_map_lookup_elem(&scratch, &key);
	struct gb_sample *sample;
	__u32 i;

	if (!buffer || !sleeper->part_count)
		return;
	sample = (struct gb_sample *)buffer->words;
	describe_sleep(sample, task, bpf_ktime_get_ns());
	sample_user_stack(NULL, false, buffer, task, key);
#pragma clang loop unroll(full)
	for (i = 0; i < SLEEP_PARTS; i++) {
		if (i >= sleeper->part_count)
			break;
		describe_part(sample, &sleeper->parts[i]);
		sample_send(sample);
		count(GB_STAT_SLEEPS);
	}
	sleeper->part_count = 0;
}

/* ---- task work ---------------------------------------------------------------------------- */

/* Since 6.18 (commit 38aa7003e369); `program` is filled in by the verifier. */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, bpf_task_work_callback_t callback,
					      void *program) __ksym __weak;
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* Runs in the thread, right before it goes back to user code. Another thread could have the same scratch memory else. */
static int go_on(struct bpf_map *map, void *key, void *value)
{
	struct sleeper *sleeper = value;

	bpf_preempt_disable();
	sleeper->is_deferred = 0;
	send_with_stack(sleeper, bpf_get_current_task_btf(), scratch_key(SLOT_SLEEP));
	bpf_preempt_enable();
	return 0;
}

static __always_inline void defer(struct sleeper *sleeper, struct task_struct *task)
{
	if (sleeper->is_deferred)
		return;
	sleeper->is_deferred = 1;
	if (!bpf_task_work_schedule_resume_impl(task, &sleeper->work, &sleepers, go_on, NULL))
		return;
	sleeper->is_deferred = 0;
	send_all_bare(sleeper, task);
}

/* ---- switches ----------------------------------------------------------------------------- */

/* NULL: its sleeps do not count now, or there is no room. */
static __always_inline struct sleeper *counted_sleeper(struct task_struct *task)
{
	struct sleeper *sleeper;

	if (!sleeps_count() || task->flags & GB_PF_KTHREAD)
		return NULL;
	sleeper = find_sleeper(task);
	return sleeper ? sleeper : make_sleeper(task);
}

/* `task` leaves the CPU, and comes again. */
static __always_inline void sleep_begin(struct task_struct *task, bool is_preempted, __u64 now)
{
	struct sleeper *sleeper = counted_sleeper(task);

	if (!sleeper)
		return;
	sleeper->out_ns = now;
	sleeper->woken_ns = 0;
	sleeper->state = is_preempted ? 0 : task_state(task);
}

/* Its last switch: what it still has to tell is told without a stack. */
static __always_inline void sleep_forget(struct task_struct *task)
{
	struct sleeper *sleeper = find_sleeper(task);

	if (!sleeper)
		return;
	send_all_bare(sleeper, task);
	sleeper_drop(task->pid);
}

/*
 * Since when it is off the CPU as far as that counts. It may have been so since before anybody looked: then it was blocked,
 * or is new.
 */
static __always_inline __u64 sleep_start(struct sleeper *sleeper, struct task_struct *task)
{
	__u64 from = sleeper->out_ns;

	if (!from) {
		from = task->start_time;
		sleeper->state = from < sleeps_since_ns;
	}
	return from < sleeps_since_ns ? sleeps_since_ns : from;
}

/* What it slept from then on up to `now`. */
static __always_inline void sleep_count(struct sleeper *sleeper, struct task_struct *task,
					__u64 now)
{
	__u64 from = sleep_start(sleeper, task), until = now;

	if (sleeper->state && sleeper->woken_ns && sleeper->woken_ns < now)
		until = sleeper->woken_ns;
	if (!sleeper->state || until < from)
		until = from;
	sleep_add(sleeper, task, from, until, true);
	sleep_add(sleeper, task, until, now, false);
}

/* `task` comes onto the CPU. */
static __always_inline void sleep_end(struct run_state *state, struct task_struct *task, __u64 now,
				      enum gb_sleep_way way)
{
	struct sleeper *sleeper = counted_sleeper(task);

	if (!sleeper)
		return;
	sleep_count(sleeper, task, now);
	sleeper->out_ns = 0;
	if (!sleeper->part_count)
		return;
	if (way == GB_SLEEP_WAY_TASK_WORK)
		defer(sleeper, task);
	else if (cfg_sleep_way == GB_SLEEP_WAY_SCHEDULE)
		state->awoken_tid = task->pid;
	else
		send_all_bare(sleeper, task);
}

#endif
