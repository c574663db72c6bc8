/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counters.bpf.h - the counters of a process that say what it has: what the kernel counts of it anyway, looked at when a
 * tick finds it running, when one of its threads leaves the CPU, and when tasks are listed. (Those that only grow:
 * amounts.bpf.h.)
 *
 * A value is sent when it is news, through the ring that is the process's, so that its values stay in order:
 *
 *   at a tick                 it changed, and the last one is 10 ms old
 *   when a thread leaves      it changed, and that is 10 ms old or the change is large; so what a sleeping process has is
 *                             known. Of large changes a millisecond each, and 16 more at once
 *   at either                 a second went by: so what is left when older ones are overwritten has one, too
 *
 * A new counter is a number in enum gb_counter and a line in counter_value().
 */
#ifndef COUNTERS_BPF_H
#define COUNTERS_BPF_H

#define GB_COUNTER_AGAIN_NS 1000000000ULL
#define GB_COUNTER_LEAVE_NS 1000000ULL
#define GB_COUNTER_BURST 16
#define GB_COUNTER_LARGE (64 << 10)

static __always_inline bool memory_wanted(void)
{
	return cfg_counters & 1U << GB_COUNTER_MEMORY;
}

/* As /proc/PID/statm has it; what CPUs (or other threads) have not yet added to the sum is left out. */
static __always_inline __s64 memory_bytes(struct mm_struct *mm, struct task_struct *task)
{
	__s64 pages = mm_pages(mm, task);

	return pages > 0 ? pages * GB_PAGE_BYTES : 0;
}

static __always_inline __s64 counter_value(__u32 counter, struct mm_struct *mm,
					   struct task_struct *task)
{
	return memory_bytes(mm, task);
}

/*
 * The memory that is the task's own process's; NULL: it has none. A child of vfork uses that of its parent until exec, and
 * within exec the old image's number may have the new one's memory.
 */
static __always_inline struct mm_struct *own_memory(struct task_struct *task)
{
	if (TASK_FIELD(task, flags) & GB_PF_KTHREAD || TASK_FIELD(task, vfork_done))
		return NULL;
	return TASK_FIELD(task, mm);
}

static __always_inline void describe_counter(struct gb_counter_event *event,
					     struct task_struct *task, __u32 counter, __s64 value)
{
	event->hdr.kind = GB_RECORD_COUNTER;
	event->hdr.flags = 0;
	event->hdr.size = sizeof(*event);
	event->hdr.time_ns = bpf_ktime_get_ns();
	name_task(&event->task, task);
	event->counter = counter;
	event->pad = 0;
	event->value = value;
}

static __always_inline bool is_news(const struct counter_slot *slot, __s64 value, __u64 now,
				    bool leaves)
{
	__u64 since = now - slot->sent_ns;
	__s64 change = value - slot->value;

	if (since >= GB_COUNTER_AGAIN_NS)
		return true;
	if (!change || since >= GB_COUNTER_TICK_NS)
		return change;
	return leaves && (change >= GB_COUNTER_LARGE || change <= -GB_COUNTER_LARGE) &&
	       slot->due_ns <= now + GB_COUNTER_BURST * GB_COUNTER_LEAVE_NS;
}

static __always_inline bool counter_send(struct task_struct *task, __u32 counter, __s64 value)
{
	__u32 index = TASK_FIELD(task, tgid) & cfg_ring_mask;
	void *ring = bpf_map_lookup_elem(&samples, &index);
	struct gb_counter_event event;

	if (!ring)
		return false;
	describe_counter(&event, task, counter, value);
	if (!bpf_ringbuf_output(ring, &event, sizeof(event), BPF_RB_NO_WAKEUP))
		return true;
	count(GB_STAT_COUNTERS_FULL); /* it is sent when it is looked at again */
	return false;
}

/* `task`, of a target, is on this CPU; `leaves`: not any more. */
static __always_inline void counters_look(struct task_struct *task, __u64 now, bool leaves)
{
	__u32 tgid = TASK_FIELD(task, tgid), key = tgid & (GB_COUNTER_SLOTS - 1);
	struct mm_struct *mm = own_memory(task);
	struct counter_slot *slot;
	__u64 image;
	__s64 value;

	if (!mm)
		return;
	slot = bpf_map_lookup_elem(&counter_slots, &key);
	if (!slot)
		return;
	value = counter_value(GB_COUNTER_MEMORY, mm, task);
	image = image_of(task);
	if ((slot->image == image && !is_news(slot, value, now, leaves)) || is_in_exec(task) ||
	    !counter_send(task, GB_COUNTER_MEMORY, value))
		return;
	slot->image = image;
	slot->value = value;
	slot->sent_ns = now;
	slot->due_ns = (slot->due_ns > now ? slot->due_ns : now) + GB_COUNTER_LEAVE_NS;
}

#endif
