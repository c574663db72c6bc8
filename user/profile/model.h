/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what a profile is made of, whatever the format that it is written in.
 *
 *   process ──> thread ──> row: time, CPU time since the row before, weight, stack
 *                                                                             │
 *                                         stack: (prefix, frame) <── its callees (stacks.h)
 *                                              frame: (function, where in it, category)     (frames.h)
 *                                                  function: (kind, name, lib)
 *
 * Stacks, frames and functions are numbered 0, 1, 2, ... in each process, in order of first use. Names are in parts: it
 * is for a format to say "f (in lib)". Times are nanoseconds since the profile's time 0.
 *
 * Beside its rows a thread has markers (marker.h), and a process has counters (counter.h) beside its threads.
 */
#ifndef GECKOBPF_PROFILE_MODEL_H
#define GECKOBPF_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "geckobpf_abi.h"
#include "profile/filter.h"
#include "recording/recording.h"

struct frames;
struct libs;
struct object;
struct process;
struct stacks;
struct thread;

/* Of frames of user code that have callees, where no names are wanted. */
enum profile_addresses {
	ADDRESSES_AS_RECORDED, /* where they go on */
	ADDRESSES_OF_CALLS,
	/* where they go on, and the reader takes off 1: what was interrupted has one more, therefore */
	ADDRESSES_BEHIND_CALLS,
};

/* ---- categories ---------------------------------------------------------------------- */

/* Indexes into profile_categories. */
enum profile_category_index {
	CATEGORY_OTHER,
	CATEGORY_IDLE,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_LIBRARY, /* user code of other files than the program */
	CATEGORY_LIBC,
	CATEGORY_BLOCKED, /* off the CPU, until something happens */
	CATEGORY_RUNNABLE, /* off the CPU, though it wanted one */
	CATEGORY_COUNT
};

/* Subcategories, which the categories' lists are in the order of; 0 is what has no other. */
enum profile_kernel_work {
	KERNEL_SYSTEM_CALL = 1,
	KERNEL_PAGE_FAULT,
	KERNEL_INTERRUPT,
	KERNEL_NETWORK,
	KERNEL_FILE_SYSTEM,
	KERNEL_MEMORY,
	KERNEL_SCHEDULER,
	KERNEL_WORK_COUNT
};

/* Of the program, of libraries and of libc; code that is made while it runs is of none of these files. */
enum profile_user_work { USER_ALLOCATION = 1, USER_UNNAMED, USER_JIT, USER_WORK_COUNT };

/* Of what is waited for: CATEGORY_BLOCKED, and CATEGORY_IDLE where waiting means that there is no work. */
enum profile_wait {
	WAIT_LOCK = 1,
	WAIT_POLL,
	WAIT_SLEEP,
	WAIT_DISK,
	WAIT_PAGE_FAULT,
	WAIT_SOCKET_READ,
	WAIT_SOCKET_WRITE,
	WAIT_SOCKET_ACCEPT,
	WAIT_PIPE,
	WAIT_CHILD,
	WAIT_STOPPED,
	WAIT_COUNT
};

struct profile_category {
	const char *name, *color;
	const char *const *subcategories; /* NULL-terminated; the first one is what has no other */
};

extern const struct profile_category profile_categories[CATEGORY_COUNT];

/* ---- code ------------------------------------------------------------------------------ */

/* Texts live as long as the process's frames. */
struct profile_function {
	uint8_t kind; /* enum gb_frame_kind */
	const char *name; /* NULL: not known; then `value` tells what it is */
	const char *lib; /* the name of the file, or "[kernel]", "[heap]"; NULL: none */
	const struct object *object; /* the file; NULL: none */
	/*
	 * Of code without a name: the virtual address in its file (libs_address()), or the address if it has no lib
	 * either. 0 if it has a name.
	 */
	uint64_t value;
	bool is_start; /* `value` is where the function starts, else any code of which no more is known */
	const char *file; /* of the source; NULL: not known */
};

#define FRAME_NONE UINT32_MAX

struct profile_frame {
	uint32_t function;
	uint8_t category; /* enum profile_category_index */
	uint8_t subcategory; /* of that category */
	/*
	 * Bit n: subcategory n of its caller, if that is of the same category, says more than its own. Stacks have such
	 * frames only where the caller has none of these (frames_inherit()).
	 */
	uint8_t inherits;
	uint8_t inline_depth; /* 0: the function itself; 1: the first one inlined into it, ... */
	uint32_t
		inlined_into; /* the number of the frame that it is part of; FRAME_NONE: it is the function itself */
	uint32_t line, column; /* 0: not known */
	/*
	 * As it was looked up: of a caller, the call. Frames are one for each function and place that is known of it,
	 * so it is the first address that was met there; if no names are wanted, frames are one for each address.
	 */
	uint64_t address;
	uint64_t offset; /* of it in the function's file; see libs_relative_address() */
	/* Where the function starts, a virtual address of its file, and how many bytes it has; 0: not known. */
	uint64_t symbol_start, symbol_bytes;
};

/* ---- processes, threads, rows ------------------------------------------------------------ */

#define PROFILE_LIVES_ON UINT64_MAX

/* A program image. It lives from begin_process() to the end of end_process(). */
struct profile_process {
	const struct process *process;
	const struct recording_facts *facts; /* of the recording that it is of */
	struct profile_filter filter; /* what of it is in the profile */
	struct libs *libs; /* of that recording */
	struct frames *frames;
	struct stacks *stacks;
	const char *name; /* with the arguments that are wanted; any bytes */
	size_t name_length;
	/* In order of appearance. All are there at the end; its main thread always is one of them. */
	struct profile_thread **threads;
	size_t thread_count;
	void *of_sink; /* for the sink; NULL at first */
};

/* Lives as long as its process. */
struct profile_thread {
	const struct thread *thread;
	const struct thread *source; /* whose rows come: it, or one of another image (gather.h) */
	const char *name; /* NULL: the thread's own */
	struct profile_process *process;
	uint64_t born_ns, died_ns; /* died: PROFILE_LIVES_ON if it did not */
	uint64_t row_count;
	uint64_t sample_count; /* rows with a stack, but for sleeps */
	uint64_t clamped_count; /* rows whose time would have gone backwards */
	uint64_t time_ns, cpu_ns; /* of its last row; CPU time in all the source's life */
	uint64_t source_rows; /* of the source */
	bool has_sample; /* among them */
	bool is_asleep; /* its last row is of a sleep */
	void *of_sink; /* for the sink; NULL at first */
};

#define PROFILE_SLEEP_MAX (1LL << 40) /* the weight of a row of a sleep, at most: 35 years */
#define PROFILE_NO_STACK UINT32_MAX
/* That of the row before, if it has one: the thread ran on. Such a row weighs nothing. */
#define PROFILE_SAME_STACK (UINT32_MAX - 1)
#define PROFILE_CPU_UNKNOWN UINT64_MAX

/* Times never fall within a thread. A row without a stack counts in no call tree (thread_rows.h). */
struct profile_row {
	uint64_t time_ns;
	uint64_t cpu_delta_ns; /* used since the row before; PROFILE_CPU_UNKNOWN: there is none */
	/*
	 * The rest of the time since the row before, if the thread slept then, or waited for a CPU: to be shown so. 0:
	 * it did not, or too short to tell.
	 */
	uint64_t slept_ns;
	uint32_t stack; /* its number now, see stacks.h; PROFILE_NO_STACK, PROFILE_SAME_STACK */
	/*
	 * How much it counts, in intervals; 0: not at all. More than 1 of a sleep: it is of the time since the row before,
	 * which is of the same sleep.
	 */
	int64_t weight;
	uint32_t event; /* enum gb_event */
};

/* Whether it is the process's first thread. */
bool profile_is_main(const struct profile_thread *thread);

/* A time of the recording as one of the profile; 0 if it was before. */
static inline uint64_t profile_time_ns(const struct recording_facts *facts, uint64_t time_ns)
{
	return facts->lead_ns + (time_ns > facts->start_ns ? time_ns - facts->start_ns : 0);
}

/* Whether that is a time of which something was overwritten. */
bool profile_is_before_begin(const struct recording_facts *facts, uint64_t time_ns);

/*
 * Whether what was recorded at that time of the recording is in the profile. Outside of it is the time of which
 * something was overwritten, what a capture's end has passed, and what is not wanted.
 */
bool profile_has_time(const struct recording_facts *facts, const struct profile_filter *filter,
		      uint64_t time_ns);

#endif
