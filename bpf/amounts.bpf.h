/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * amounts.bpf.h - the counters of a process that only grow: page faults, context switches, bytes of disks.
 *
 * The kernel counts them of each thread, and of a process only what its dead threads had. So what a thread's have grown by
 * while it was on the CPU is added to its process's slot, at a tick and when the thread leaves; what has come together there
 * is sent, through the ring that is the process's:
 *
 *   at either                     with what was added, 10 ms after the last time
 *   with the process's last run   all of it
 *   when tasks are listed         so what a sleeping process has not told is known
 *
 * What could not be sent stays in the slot. A new one is a number in enum gb_counter and a line in AMOUNTS(); or, if the kernel
 * does not count it of threads, a line in AMOUNTS_ADDED() and a program that calls amounts_add() (network.bpf.c).
 */
#ifndef AMOUNTS_BPF_H
#define AMOUNTS_BPF_H

/* The fields of a thread that have them; some kernels are built without some. */
#define AMOUNTS(EACH)                                                                              \
	EACH(GB_COUNTER_FAULTS_MINOR, min_flt)                                                     \
	EACH(GB_COUNTER_FAULTS_MAJOR, maj_flt)                                                     \
	EACH(GB_COUNTER_SWITCHES_VOLUNTARY, nvcsw)                                                 \
	EACH(GB_COUNTER_SWITCHES_INVOLUNTARY, nivcsw)                                              \
	EACH(GB_COUNTER_DISK_READ, ioac.read_bytes)                                                \
	EACH(GB_COUNTER_DISK_WRITTEN, ioac.write_bytes)

/* Those that programs add up, in the run on the CPU that they belong to. */
#define AMOUNTS_ADDED(EACH)                                                                        \
	EACH(GB_COUNTER_NETWORK_RECEIVED)                                                          \
	EACH(GB_COUNTER_NETWORK_SENT)

/* The place of a counter in a run's and a slot's amounts. */
#define AMOUNT(counter) ((counter)-GB_COUNTER_AMOUNTS)
#define IS_WANTED(counter) (cfg_counters & 1U << (counter))

static __always_inline bool amounts_wanted(void)
{
	return cfg_counters >> GB_COUNTER_AMOUNTS;
}

/* A run of `task` begins, or what came before in it is not known. */
static __always_inline void amounts_begin(struct run_state *state, struct task_struct *task)
{
#define BEGIN(counter, field)                                                                      \
	if (IS_WANTED(counter) && bpf_core_field_exists(task->field))                              \
		state->amounts[AMOUNT(counter)] = TASK_FIELD(task, field);
	AMOUNTS(BEGIN)
#undef BEGIN
#define CLEAR(counter) state->amounts[AMOUNT(counter)] = 0;
	AMOUNTS_ADDED(CLEAR)
#undef CLEAR
}

/* The run has caused that much more. */
static __always_inline void amounts_add(struct run_state *state, __u32 counter, __u64 more)
{
	state->amounts[AMOUNT(counter)] += more;
}

/* Whether the run has brought any since the last time. */
static __always_inline bool amounts_grew(const struct run_state *state, struct task_struct *task)
{
	__u64 more = 0;

#define COMPARE(counter, field)                                                                    \
	if (IS_WANTED(counter) && bpf_core_field_exists(task->field))                              \
		more |= TASK_FIELD(task, field) ^ state->amounts[AMOUNT(counter)];
	AMOUNTS(COMPARE)
#undef COMPARE
#define GATHER(counter)                                                                            \
	if (IS_WANTED(counter))                                                                    \
		more |= state->amounts[AMOUNT(counter)];
	AMOUNTS_ADDED(GATHER)
#undef GATHER
	return more;
}

static __always_inline void amount_settle(__u64 *settled, __u64 value, __s64 *sum)
{
	__u64 more = value - *settled;

	*settled = value;
	if (more)
		__sync_fetch_and_add(sum, (__s64)more);
}

/* Adds what the run has brought since the last time to the process's. */
static __always_inline void amounts_settle(struct run_state *state, struct task_struct *task,
					   struct amounts_slot *slot, __u64 now)
{
#define SETTLE(counter, field)                                                                     \
	if (IS_WANTED(counter) && bpf_core_field_exists(task->field))                              \
		amount_settle(&state->amounts[AMOUNT(counter)], TASK_FIELD(task, field),           \
			      &slot->amounts[AMOUNT(counter)]);
	AMOUNTS(SETTLE)
#undef SETTLE
#define SETTLE_ADDED(counter)                                                                      \
	if (IS_WANTED(counter) && state->amounts[AMOUNT(counter)])                                 \
		__sync_fetch_and_add(&slot->amounts[AMOUNT(counter)],                              \
				     (__s64)state->amounts[AMOUNT(counter)]);                      \
	state->amounts[AMOUNT(counter)] = 0;
	AMOUNTS_ADDED(SETTLE_ADDED)
#undef SETTLE_ADDED
	slot->until_ns = now;
}

/* What the slot has to tell. Returns whether there is any. */
static __always_inline bool describe_amounts(struct gb_amounts_event *event,
					     const struct amounts_slot *slot)
{
	__s64 any = 0;
	int i;

	event->hdr.kind = GB_RECORD_AMOUNTS;
	event->hdr.flags = 0;
	event->hdr.size = sizeof(*event);
	event->hdr.time_ns = slot->until_ns;
	event->task = slot->task;
	event->since_ns = slot->since_ns;
#pragma unroll
	for (i = 0; i < GB_AMOUNT_COUNT; i++)
		any |= event->amounts[i] = slot->amounts[i];
	return any;
}

/* It was told. Two CPUs that tell it at once take it away twice, so what comes next is less. */
static __always_inline void amounts_told(struct amounts_slot *slot,
					 const struct gb_amounts_event *event)
{
	int i;

#pragma unroll
	for (i = 0; i < GB_AMOUNT_COUNT; i++)
		if (event->amounts[i])
			__sync_fetch_and_add(&slot->amounts[i], -event->amounts[i]);
	slot->since_ns = event->hdr.time_ns;
}

static __always_inline void amounts_send(struct amounts_slot *slot)
{
	__u32 index = slot->task.tgid & cfg_ring_mask;
	void *ring = bpf_map_lookup_elem(&samples, &index);
	struct gb_amounts_event event;

	if (!ring || !describe_amounts(&event, slot))
		return;
	if (bpf_ringbuf_output(ring, &event, sizeof(event), BPF_RB_NO_WAKEUP))
		count(GB_STAT_COUNTERS_FULL); /* it is sent with what comes next */
	else
		amounts_told(slot, &event);
}

static __always_inline struct amounts_slot *amounts_slot_of(struct task_struct *task)
{
	__u32 key = TASK_FIELD(task, tgid) & (GB_COUNTER_SLOTS - 1);

	return bpf_map_lookup_elem(&amounts_slots, &key);
}

/* Makes the slot that of the task's process. Whether it may have it. */
static __always_inline bool amounts_take_slot(struct amounts_slot *slot, struct task_struct *task,
					      __u64 since, __u64 now)
{
	if (slot->image && now - slot->since_ns < GB_COUNTER_TICK_NS) {
		count(GB_STAT_AMOUNTS_NO_SLOT);
		return false;
	}
	if (slot->image)
		amounts_send(slot);
	__builtin_memset(slot->amounts, 0, sizeof(slot->amounts));
	name_task(&slot->task, task);
	slot->since_ns = since;
	slot->until_ns = now;
	slot->image = image_of(task);
	return true;
}

/* `task`, of a target, is on this CPU; `is_over`: its process will not be any more. */
static __always_inline void amounts_look(struct run_state *state, struct task_struct *task,
					 __u64 now, bool is_over)
{
	struct amounts_slot *slot;

	if (TASK_FIELD(task, flags) & GB_PF_KTHREAD || (!is_over && !amounts_grew(state, task)))
		return;
	slot = amounts_slot_of(task);
	if (!slot)
		return;
	if (slot->image != image_of(task) && !amounts_take_slot(slot, task, state->begun_ns, now))
		return;
	amounts_settle(state, task, slot, now);
	if (is_over || now - slot->since_ns >= GB_COUNTER_TICK_NS)
		amounts_send(slot);
	if (is_over)
		slot->image = 0;
}

/* `task` runs another image from now on: the slot has that of the one before. */
static __always_inline void amounts_end_image(struct run_state *state, struct task_struct *task,
					      __u64 now)
{
	struct amounts_slot *slot = amounts_slot_of(task);

	if (!slot || (__u32)slot->image != (__u32)TASK_FIELD(task, tgid))
		return;
	amounts_settle(state, task, slot, now);
	amounts_send(slot);
	slot->image = 0;
}

#endif
