/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.bpf.h - all maps and all configuration. Each map says: key -> value, its writers and
 * readers, its bound, and what happens when it is full.
 */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

/* ---- configuration: set before load, so the verifier drops what is off ---- */
const volatile __u32 cfg_own_tgid; /* the profiler, never profiled */
const volatile __u32
	cfg_ancestors[GB_ANCESTORS]; /* its parent, that one's, and so on; 0: no more */
const volatile bool cfg_all; /* every process; `targets` is not used */
const volatile bool cfg_kernel_stacks;
const volatile bool cfg_picks_threads; /* only those with such names have samples */
const volatile __u64 cfg_thread_names[sizeof(struct gb_names) / sizeof(__u64)];
const volatile __u64 cfg_period_ns = 1; /* of the timers */
const volatile __u32 cfg_ring_mask; /* number of sample rings - 1; a power of two */
/* unread bytes in a sample ring at which the reader is woken */
const volatile __u64 cfg_wake_bytes;
const volatile __u64 cfg_control_wake_bytes; /* the same for `control` */

const volatile __u32 cfg_counters; /* that are looked at: a bit for each enum gb_counter */

/* When the timers were last started, also after a pause: CLOCK_MONOTONIC; all ones: they do not run. Written by user space. */
volatile __u64 timers_since_ns = ~0ULL;

const volatile bool cfg_off_cpu; /* the time that threads are off the CPU is sampled, too */
const volatile __u32 cfg_sleep_way; /* enum gb_sleep_way */
/* Since when, and (0: they go on) until when sleeps count: CLOCK_MONOTONIC. Written by user space. */
volatile __u64 sleeps_since_ns = 1;
volatile __u64 sleeps_until_ns = 1;

/* Inner map of `samples`; user space makes them, all of one size. */
struct sample_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/*
 * tid & cfg_ring_mask -> ring of struct gb_sample. Written by all sources (sample.bpf.h), read by
 * the drain. One ring on a small machine, more on a large one with the same total size. Chosen by
 * tid, not by CPU, so that the samples of one thread stay in order. Full: the sample is lost and
 * counted (GB_STAT_RING_FULL).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
	__type(key, __u32);
	__array(values, struct sample_ring);
} samples SEC(".maps");

/*
 * Ring of struct gb_task_event; apart from the samples, so that they cannot starve it. Written by
 * task.bpf.c and sched.bpf.c, read by the drain. Full: the event is lost and counted
 * (GB_STAT_CONTROL_FULL).
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} control SEC(".maps");

/*
 * tgid -> struct gb_target. Written by user space at start, then by task.bpf.c (fork adds, exec
 * arms, exit removes); read on every sample and switch. Full: a forked child is not followed, and
 * that is counted (GB_STAT_TARGETS_FULL). Preallocated (4 MB): before 6.1 timer programs can use no
 * other kind of hash map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct gb_target);
} targets SEC(".maps");

/* 0 -> the thread that runs on this CPU and its CPU time. Written and read by sched.bpf.c and sources only. */
struct run_state {
	__u32 tid; /* 0: not a target */
	__u32 pad;
	__u64 started_ns; /* when it got on the CPU; 0: not known */
	__u64 base_ns; /* when its CPU time was base_cpu_ns */
	__u64 base_cpu_ns;
	__u64 kernel_cpu_ns; /* the kernel's own account when last looked at */
	__u64 due_ns; /* of the timer's next tick on this CPU that is nobody's yet; 0: not known */
	/* since its ticks were last settled in this run, which was when its account was settled_cpu_ns: */
	__u64 settled_cpu_ns;
	__u32 ticks, late; /* those that came, and those that did not, by the clock */
	__u32 late_own, late_throttled; /* of the latter, for whose fault they did not */
	__u64 late_cpu_ns; /* its account when that was noticed */
	__u64 begun_ns; /* since when this run is known */
	__u64 skipped_ns; /* when the first tick was due that the timer has left out before the one at hand; 0: none */
	__u64 busy_until_ns; /* when the last sample had been made */
	__u64 event; /* the timer, by its address in the kernel; 0: it has not come yet */
	__u64 scheduler_pc; /* an address in the kernel's function that switches; 0: not known yet */
	__u64 awoken_tid; /* the thread that came onto the CPU last, if its stack is to be taken where it goes on */
	__u64 amounts
		[GB_AMOUNT_COUNT]; /* of the thread, those that have been added to its process's (amounts.bpf.h) */
	__u64 raw_second; /* the second in which raw_count raw samples were sent from this CPU */
	__u64 raw_count;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct run_state);
} run SEC(".maps");

/*
 * Low bits of the tgid -> what was told last of the counter of a process, by its image. Written and read by
 * counters.bpf.h. Processes that share a slot are told more often; two CPUs that write one at once may tell twice, or a
 * second late.
 */
#define GB_COUNTER_SLOTS 4096
#define GB_COUNTER_TICK_NS 10000000ULL /* how often a process's counters are told, as a rule */
struct counter_slot {
	__u64 image; /* exec id << 32 | tgid */
	__s64 value;
	__u64 sent_ns;
	__u64 due_ns; /* all that were told, a millisecond each, reach up to here */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_COUNTER_SLOTS);
	__type(key, __u32);
	__type(value, struct counter_slot);
} counter_slots SEC(".maps");

/*
 * Low bits of the tgid -> what was counted of a process and is not told yet, by its image. Written and read by
 * amounts.bpf.h. Of two processes that share a slot the second has it when the first is done, or has told nothing for 10 ms;
 * what the second has until then may be lost (GB_STAT_AMOUNTS_NO_SLOT).
 */
struct amounts_slot {
	__u64 image; /* exec id << 32 | tgid; 0: nobody's */
	__u64 since_ns; /* from when on nothing was told */
	__u64 until_ns; /* when it was last added to */
	struct gb_task task; /* a thread of the process */
	__s64 amounts[GB_AMOUNT_COUNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_COUNTER_SLOTS);
	__type(key, __u32);
	__type(value, struct amounts_slot);
} amounts_slots SEC(".maps");

/* enum gb_stat -> count. Written by all programs, read by user space, which adds up the CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GB_STAT_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} stats SEC(".maps");

static __always_inline void count_more(__u32 stat, __u64 more)
{
	__u64 *value = bpf_map_lookup_elem(&stats, &stat);

	if (value)
		*value += more;
}

static __always_inline void count(__u32 stat)
{
	count_more(stat, 1);
}

#endif
