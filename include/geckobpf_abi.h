/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * geckobpf_abi.h - what the BPF programs and user space say to each other.
 *
 * All records and map values. Both sides include it; the BPF side has its types from vmlinux.h.
 * Every record in a ring buffer starts with struct gb_record; `size` covers the whole record, so that a reader can
 * skip a kind it does not know. Times are CLOCK_MONOTONIC nanoseconds. Pids and tids are those of the initial pid
 * namespace.
 */
#ifndef GECKOBPF_ABI_H
#define GECKOBPF_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include "arch/arch.h"
#include "geckobpf_frame.h"

#define GB_COMM_BYTES 16
#define GB_MAX_KERNEL_FRAMES 127
#define GB_MAX_USER_FRAMES 1024
#define GB_MAX_USER_WORDS 1088 /* some frames take two words */

enum gb_record_kind {
	GB_RECORD_NONE = 0,
	GB_RECORD_SAMPLE = 1, /* struct gb_sample, in a ring of `samples` */
	GB_RECORD_TASK = 2, /* struct gb_task_event, in `control` or from the task iterator */
	/* 3 and 4 are made in user space from perf events: user/recording/map_records.h */
	/* struct gb_sample whose user part is registers and stack memory, in a ring of `samples` */
	GB_RECORD_RAW = 5,
	/* struct gb_record alone, in `control`: code was mapped, so read perf's mmap events */
	GB_RECORD_WAKE = 6,
	/* struct gb_counter_event, in a ring of `samples` or from the task iterator */
	GB_RECORD_COUNTER = 7,
	/* struct gb_amounts_event, the same */
	GB_RECORD_AMOUNTS = 8,
};

struct gb_record {
	__u16 kind; /* enum gb_record_kind */
	__u16 flags;
	__u32 size; /* bytes, this header included */
	__u64 time_ns;
};

/*
 * Names one thread of one program image, for ever: tids are reused and exec replaces the image, but no two threads
 * share (tid, start_ns), and exec_id rises with every exec. Any record can therefore be read without having seen the
 * ones before it.
 */
struct gb_task {
	__u32 tgid;
	__u32 tid;
	__u64 start_ns; /* when the thread was cloned */
	__u64 group_start_ns; /* when its process (group leader) was */
	__u32 exec_id; /* the kernel's self_exec_id: execs that led to this image */
	__u32 pad;
};

/* Some words of a sample, all of one kind. */
struct gb_frame_run {
	__u16 kind; /* enum gb_frame_kind */
	__u16 words;
};

/* How the stack that a thread slept in is taken when it runs again. */
enum gb_sleep_way {
	GB_SLEEP_WAY_NONE, /* not at all */
	GB_SLEEP_WAY_SCHEDULE, /* where schedule() returns */
	GB_SLEEP_WAY_TASK_WORK, /* by task work */
};

#define GB_SAMPLE_RUNS 4

/* What made a sample. Numbers are in profile buffers and in .gbpf files, as those of frames are. */
enum gb_event {
	GB_EVENT_TIMER = 0,
	GB_EVENT_SLEEP = 1, /* off the CPU for `weight` periods, the last of them up to its time */
	GB_EVENT_COUNT
};

/*
 * The words are runs of frames of one kind, leaf first: two of code of the kernel and one of user code look so
 *
 *   runs  { KERNEL, 2 } { USER, 1 } { USER, 0 } { USER, 0 }      pc[]  kernel leaf | its caller | user code
 *
 * A frame is one word, its value, but for user code: see GB_FRAME_PC_BITS.
 */
struct gb_sample {
	struct gb_record hdr;
	struct gb_task task;
	__u64 cpu_ns; /* CPU time that the thread had used in its life, up to hdr.time_ns */
	/* how long it had been on the CPU without a break, or of a sleep: off it; 0: not known */
	__u64 run_ns;
	__u64 user_sp; /* RSP of the user leaf frame; 0: not known */
	__s64 weight; /* how much it counts */
	struct gb_frame_run runs[GB_SAMPLE_RUNS]; /* those that are not needed have no words */
	__u32 cpu;
	__u16 event; /* enum gb_event */
	__u8 user_end; /* enum gb_stack_end */
	__u8 pad;
	__u64 pc[];
};

_Static_assert(sizeof(struct gb_sample) == 104, "no padding that is not named");

/*
 * A raw sample's run of user code: the registers (enum gb_reg), then stack memory from user_sp on.
 * Sent, on a budget, for a process whose mappings are not known yet, or where a table is on its way; user space
 * unwinds it.
 */
#define GB_RAW_REGS GB_REG_COUNT
#define GB_RAW_STACK_WORDS 8192 /* 64 KiB */
#define GB_RAW_PER_SECOND 200 /* on each CPU */

enum gb_task_what {
	GB_TASK_SEEN = 1, /* from the task iterator: it exists */
	GB_TASK_FORK = 2, /* it was created by `parent` */
	GB_TASK_EXEC = 3, /* it runs a new image; task.exec_id is the new one */
	GB_TASK_RENAME = 4,
	GB_TASK_EXIT = 5, /* its last moment; cpu_ns is final */
};

struct gb_task_event {
	struct gb_record hdr;
	struct gb_task task;
	/* FORK: the thread that called fork or clone; SEEN: the first thread of the process's parent; otherwise zero */
	struct gb_task parent;
	__u64 cpu_ns; /* SEEN, EXIT: CPU time used so far */
	__u32 what; /* enum gb_task_what */
	__u32 live_threads; /* EXIT: threads of the process that still run */
	__s32 exit_code; /* EXIT: as wait(2) encodes it */
	__u32 is_kernel; /* 1: a kernel thread */
	char comm[GB_COMM_BYTES]; /* the (new) name, NUL-terminated */
	/* Earlier versions did not send what follows. */
	__u64 max_rss_bytes; /* EXIT: the most memory that the process had, see getrusage(2); 0: not known yet */
};

/* What is counted of a process: what it has now, and from GB_COUNTER_AMOUNTS on what adds up. */
enum gb_counter {
	GB_COUNTER_MEMORY = 0, /* bytes that are in memory: its resident set */
	GB_COUNTER_FAULTS_MINOR = 1, /* page faults that were served from memory */
	GB_COUNTER_FAULTS_MAJOR = 2, /* and those that had to wait for a disk */
	GB_COUNTER_SWITCHES_VOLUNTARY = 3, /* of a thread that had to wait */
	GB_COUNTER_SWITCHES_INVOLUNTARY = 4, /* of one whose CPU another got, or that yielded it */
	GB_COUNTER_DISK_READ = 5, /* bytes that it caused to be read from disks */
	GB_COUNTER_DISK_WRITTEN =
		6, /* and to be written, at the time when it changed them in memory */
	GB_COUNTER_NETWORK_RECEIVED = 7, /* bytes by internet sockets */
	GB_COUNTER_NETWORK_SENT = 8,
	GB_COUNTER_COUNT
};

#define GB_COUNTER_AMOUNTS GB_COUNTER_FAULTS_MINOR
#define GB_AMOUNT_COUNT (GB_COUNTER_COUNT - GB_COUNTER_AMOUNTS)

struct gb_counter_event {
	struct gb_record hdr;
	struct gb_task task; /* a thread of the process */
	__u32 counter; /* enum gb_counter */
	__u32 pad;
	__s64 value; /* at that time */
};

/* What has been counted of a process from since_ns up to hdr.time_ns, in all of its threads: by counter, from GB_COUNTER_AMOUNTS on. */
struct gb_amounts_event {
	struct gb_record hdr;
	struct gb_task task; /* a thread of the process */
	__u64 since_ns; /* what came before was told before, unless nothing of it was counted */
	__s64 amounts
		[GB_AMOUNT_COUNT]; /* later versions may have more; a negative one takes back what was told twice */
};

/* Value of the `targets` map: a process that is profiled. */
struct gb_target {
	__u32 armed; /* 0: nothing is recorded of it until its exec: a command, or who waits for the profiler */
	__u32 follow; /* 1: the children it forks become targets as well */
};

#define GB_ANCESTORS 8 /* of the profiler, that are known to be */

/* ---- unwind tables: written by user space into maps, read by the unwinder ---- */

#define GB_SLOTS 3 /* kinds of programs that need scratch memory of their own on each CPU */
#define GB_CHUNK_ROWS 16384 /* rows in one value of a row pool: 64 KiB */
#define GB_POOL_CHUNKS 64 /* values in one pool: 4 MiB */
#define GB_MAX_POOLS 256
#define GB_MAX_PAGES (1 << 19)
#define GB_MAX_RULES (1 << 16)
#define GB_MAX_MAPPINGS (1 << 18) /* of all processes */
#define GB_MAPPING_STEPS 16 /* so at most 65535 of one process */

struct gb_chunk {
	/* rule number << 12 | offset in the page; sorted within a page */
	__u32 rows[GB_CHUNK_ROWS];
};

/*
 * One 4 KiB page of code; its rows lie in one chunk, the first has offset 0. Written and read in
 * one piece: rows may move.
 */
struct gb_page {
	__u32 chunk; /* pool * GB_POOL_CHUNKS + value in it */
	__u16 first, count;
} __attribute__((aligned(8)));

enum gb_mapping_flag {
	/* only frame pointers: JIT code, no unwind information, no memory for the table */
	GB_MAPPING_NO_TABLE = 1,
	GB_MAPPING_TRACKS_REG = 2, /* the file's rules say where GB_REG_TRACKED is */
	/* with NO_TABLE: the table is on its way, so the stack had better wait for it */
	GB_MAPPING_AWAITED = 4,
};

/* Code of a process: one file's, or anonymous. */
struct gb_mapping {
	__u64 begin, end; /* addresses */
	__u64 bias; /* address - bias = virtual address of the file */
	__s32 page_offset; /* (virtual address >> 12) + page_offset = index in `pages` */
	__u32 flags; /* enum gb_mapping_flag */
};

/*
 * Value of `process_maps`: the mappings of one image are the `count` items from `first` on in
 * `mappings`, sorted. They are never changed while a process points at them: a new set is written,
 * then this value is replaced.
 */
struct gb_process_map {
	__u32 first, count;
	__u32 exec_id; /* of the image */
	/* of this set of mappings, never 0: what was looked up in another set does not count */
	__u32 generation;
};

/*
 * How to get from a frame to its caller, for one stretch of code. The canonical frame address (CFA) is the value of
 * the stack pointer (SP) in the caller right after the call returned.
 */
enum gb_cfa_kind {
	GB_CFA_INVALID = 0, /* not expressible: stop here, truncated */
	GB_CFA_SP = 1, /* SP + cfa_off */
	GB_CFA_FP = 2, /* FP + cfa_off, the frame pointer */
	GB_CFA_ARCH_1 = 3, /* two rules that the machine gives a meaning: gb_arch_cfa() */
	GB_CFA_ARCH_2 = 4,
	GB_CFA_FP_DEREF = 5, /* *(FP + cfa_off) + cfa_add: realigned stacks (DRAP) */
	GB_CFA_SP_DEREF = 6, /* *(SP + cfa_off) + cfa_add */
	/* register `reg` + cfa_off; it is known in the leaf, after a signal frame, or if tracked */
	GB_CFA_REG = 7,
	GB_CFA_SIGNAL = 8, /* a signal frame: all registers are on the stack */
	/* the outermost frame: a real end of stack. With GB_RA_INTERRUPTED it has called nothing */
	GB_CFA_END = 9,
	GB_CFA_FRAME_POINTER = 10, /* nothing is known: follow FP, guardedly */
	/* *(SP + 8 * register `reg` + cfa_off) + cfa_add; as with GB_CFA_REG */
	GB_CFA_SP_INDEXED = 11,
};

/* The caller's frame pointer. */
enum gb_fp_kind {
	GB_FP_SAME = 0,
	GB_FP_CFA = 1, /* *(CFA + fp_off) */
	GB_FP_FP = 2, /* *(FP + fp_off) */
	GB_FP_UNDEFINED = 3, /* lost: 0 */
	GB_FP_SP = 4, /* *(SP + fp_off) */
};

/* The return address. */
enum gb_ra_kind {
	GB_RA_CFA = 0, /* *(CFA + GB_RETURN_AT) */
	GB_RA_REG = 1, /* register ra_reg: vfork keeps it there */
	/* the same, and the CFA may be anywhere: the code has changed to another stack */
	GB_RA_OTHER_STACK = 2,
	GB_RA_INTERRUPTED = 3, /* as GB_RA_CFA, but nothing was called: see GB_FRAME_INTERRUPTED */
};

struct gb_unwind_rule {
	__u8 cfa; /* enum gb_cfa_kind */
	__u8 fp; /* enum gb_fp_kind */
	__u8 ra; /* enum gb_ra_kind */
	__u8 reg; /* enum gb_reg: low 4 bits for the CFA, high 4 bits for the return address */
	__s32 cfa_off; /* bytes */
	__s32 fp_off; /* bytes */
	__s16 cfa_add; /* bytes */
	/*
	 * GB_REG_TRACKED was saved at CFA + tracked_off. 0: unchanged, or not tracked in this file;
	 * or GB_TRACKED_LOST.
	 */
	__s16 tracked_off;
};

/* Its value in the caller is somewhere that no rule can say, as in realigned stacks. */
#define GB_TRACKED_LOST (-32768)

/* Index into the `stats` map (per-CPU __u64 each). */
enum gb_stat {
	GB_STAT_TICKS, /* timer interrupts that found a target running */
	GB_STAT_TICKS_MISSED, /* and those that did not come, or so late that it was time for the next */
	GB_STAT_TICKS_MISSED_OWN, /* of these, those that were due while a sample was made */
	GB_STAT_TICKS_MISSED_THROTTLED, /* of these, those that the kernel's limit of samples has kept away */
	GB_STAT_TICKS_NOT_PICKED, /* timer interrupts that found another of its threads than those that are wanted */
	GB_STAT_SAMPLES, /* samples handed to user space */
	GB_STAT_SAMPLES_NS, /* how long samples took to make, the lost ones too: at the timer and in switches */
	GB_STAT_RING_FULL, /* samples lost: no room in the ring */
	GB_STAT_CONTROL_FULL, /* task events lost: no room in the control ring */
	GB_STAT_TARGETS_FULL, /* forked children not followed: the `targets` map was full */
	GB_STAT_RAW, /* samples sent raw, to be unwound in user space */
	GB_STAT_COUNTERS_FULL, /* values of counters that came later: no room in the ring */
	GB_STAT_AMOUNTS_NO_SLOT, /* looks at amounts of a process when another had its slot */
	GB_STAT_SWITCHES, /* context switches to a target */
	GB_STAT_SLEEPS, /* samples of sleeps that were made */
	GB_STAT_SLEEPS_BARE, /* of these, those that have the reason alone, and no stack */
	GB_STAT_SLEEPERS_FULL, /* switches of threads whose sleeps there was no room to follow */
	GB_STAT_COUNT
};

#endif
