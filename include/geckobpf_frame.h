/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * geckobpf_frame.h - what a frame of a stack is: a value, and the kind that says what the value means.
 *
 * Both sides include it. Kinds are in records, in profile buffers and in .gbpf files: none is
 * renumbered, none is reused.
 */
#ifndef GECKOBPF_FRAME_H
#define GECKOBPF_FRAME_H

enum gb_frame_kind {
	GB_FRAME_USER = 0, /* user code; value: its address, below 2^48 */
	GB_FRAME_KERNEL = 1, /* kernel code; value: its address */
	/* stands for the frames that are missing, as the root; value: enum gb_stack_end */
	GB_FRAME_TRUNCATED = 2,
	/*
	 * As USER, but it has called nothing: it was interrupted, by a signal or what acts like one,
	 * before it ran the instruction at its address. (A frame that nothing is above, or code of
	 * the kernel, is USER all the same: by its place one knows.)
	 */
	GB_FRAME_INTERRUPTED = 3,
	GB_FRAME_SIGNAL =
		4, /* as USER: what the handler of a signal returns to, which has called nothing either */
	GB_FRAME_SLEEP = 5, /* why the thread was off the CPU, as the leaf; value: GB_SLEEP() */
	/*
	 * A new kind (a label, a function that an interpreter runs, a system call) goes here, and
	 * gets a row in user/profile/frame_table.c, which names its frames. Whatever lies
	 * between passes it on. Code that a JIT compiler made is user code: its name is a
	 * symbol provider's.
	 */
	GB_FRAME_KIND_COUNT
};

/*
 * How the user part of a stack ended. Only COMPLETE is a real end of stack; those from FAILED on
 * say why it was not reached.
 */
enum gb_stack_end {
	GB_STACK_NONE = 0, /* no user stack: a kernel thread */
	GB_STACK_COMPLETE = 1, /* the outermost frame was reached */
	GB_STACK_RAW = 2, /* to be unwound in user space: see GB_RECORD_RAW */
	GB_STACK_FAILED = 3, /* the walk could not even begin */
	GB_STACK_FULL = 4, /* there was no room for more frames */
	GB_STACK_NO_PROCESS = 5, /* the process's mappings are not known yet */
	GB_STACK_NO_MAPPING = 6, /* a return address in no mapping */
	GB_STACK_NO_RULE = 7, /* unwind information that is not supported */
	GB_STACK_FP_FAILED = 8, /* code without unwind information, and no frame pointer either */
	GB_STACK_READ_FAILED = 9, /* the stack could not be read there (paged out, or garbage) */
	GB_STACK_NOT_MONOTONIC = 10, /* the caller's frame would lie below the callee's */
	GB_STACK_NO_MEMORY = 11, /* the address space is gone: the thread exits or execs */
	GB_STACK_COMPAT32 = 12, /* a 32-bit process */
	GB_STACK_NOT_TAKEN = 13, /* of a sleep: there was no time at which it could be walked */
	GB_STACK_END_COUNT
};

/* Why a thread was off the CPU. */
enum gb_sleep_why {
	GB_SLEEP_UNKNOWN = 0,
	GB_SLEEP_RUNNABLE = 1, /* it wanted a CPU, and had none */
	GB_SLEEP_SYSTEM_CALL = 2, /* it waited in one */
	GB_SLEEP_DISK =
		3, /* the same, or in a page fault, and the kernel says that it was for a device */
	GB_SLEEP_FAULT = 4, /* it waited in a page fault */
	GB_SLEEP_STOPPED = 5, /* by a signal, a debugger, or a frozen cgroup */
	GB_SLEEP_WHY_COUNT
};

/*
 * The value of a frame GB_FRAME_SLEEP, from the lowest bit on:
 *
 *   enum gb_sleep_why, 4 bits | the type of the file that it reads or writes, 4 bits | system call + 1, 16 bits
 *
 * The type is that of the inode, S_IFMT >> 12; 0: no file, or not known. The system call is 0 if it was in none.
 */
#define GB_SLEEP_FILE_BIT 4
#define GB_SLEEP_CALL_BIT 8
#define GB_SLEEP(why, file, call)                                                                  \
	((why) | (file) << GB_SLEEP_FILE_BIT | (call) << GB_SLEEP_CALL_BIT)
#define GB_SLEEP_WHY(value) ((value)&15)
#define GB_SLEEP_FILE(value) ((value) >> GB_SLEEP_FILE_BIT & 15)
#define GB_SLEEP_CALL(value) ((value) >> GB_SLEEP_CALL_BIT & 0xffff)

/*
 * A user frame is one word:
 *
 *   enum gb_frame_how, 2 bits | size, 14 bits | code address, 48 bits
 *
 * The size of its frame on the stack is in words of 8 bytes, so that stack addresses cost nothing:
 * the CFA of a frame, which is the RSP of its caller, is its own RSP plus that size. GB_FRAME_FAR:
 * the size does not fit, or the stack changes (signal stack); the next word is the CFA itself.
 */
#define GB_FRAME_PC_BITS 48
#define GB_FRAME_SIZE_BITS 14
#define GB_FRAME_FAR ((1ULL << GB_FRAME_SIZE_BITS) - 1)
#define GB_FRAME_PC(word) ((word) & ((1ULL << GB_FRAME_PC_BITS) - 1))
#define GB_FRAME_SIZE(word) ((word) >> GB_FRAME_PC_BITS & GB_FRAME_FAR)
#define GB_FRAME_HOW(word) ((word) >> (GB_FRAME_PC_BITS + GB_FRAME_SIZE_BITS))

/* What the address of a user frame is. */
enum gb_frame_how {
	GB_FRAME_HOW_CALLER = 0, /* where it goes on after a call */
	GB_FRAME_HOW_LEAF = 1, /* what the thread was about to run */
	GB_FRAME_HOW_INTERRUPTED = 2, /* of that kind, as is the next */
	GB_FRAME_HOW_SIGNAL = 3,
};

#endif
