/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h - what is profiled: program images, their threads, and what became of them.
 *
 * A `struct process` is one image of one process: exec ends it and starts another, a reused pid is
 * another. So it has one address space and becomes one item of the profile's processes[]. Records
 * name their thread completely (struct gb_task), so they may come in any order: what is not there
 * yet is made on sight and filled in later.
 */
#ifndef GECKOBPF_TARGET_PROCESS_H
#define GECKOBPF_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_pool.h"
#include "target/address_space.h"

struct gb_task;
struct profile_buffer;

#define THREAD_NAME_BYTES 16

struct thread {
	/* unique in its process, below threads.numbers.top; another's when this one was dropped */
	uint32_t number;
	uint32_t tid;
	uint64_t key_ns; /* the kernel's start time: tells threads with a reused tid apart */
	uint64_t born_ns; /* 0: before the recording began */
	/* 0: alive at the end of the recording (or replaced by exec: see the process) */
	uint64_t died_ns;
	uint64_t cpu_first_ns; /* CPU time it had used when first seen; UINT64_MAX: not known */
	uint64_t cpu_last_ns; /* and at its end, or the end of the recording; 0: not known */
	char name[THREAD_NAME_BYTES];
	char name_before[THREAD_NAME_BYTES]; /* before its last rename; "": it had none */
	uint32_t roll_call; /* the last one that it answered; see recording/records.h */
	bool is_changed; /* as that of its process */
	uint64_t sampled_ns; /* time of the latest sample put into the buffer; 0: there was none */
	/* Samples of it that wait, and the round in which one had to: recording/held_samples.c */
	uint32_t held_count, held_round;
	struct process *process;
};

#define THREAD_NONE UINT32_MAX

/* From `since_ns` on, samples that say `said` are those of the thread with that number. */
struct thread_alias {
	uint64_t since_ns;
	uint32_t said;
	uint32_t number;
};

/* In order of appearance. */
struct threads {
	struct thread **items;
	size_t count, capacity;
	struct number_pool numbers;
	/*
	 * For recordings that were read from a file, whose samples may say a number that is another
	 * thread's by now. Sorted by `said`, then `since_ns`. A number without an alias is that of
	 * the thread that has it.
	 */
	struct {
		struct thread_alias *items;
		size_t count, capacity;
	} aliases;
};

/*
 * How much of an image is in the stream (the .gbpf written while recording) already, kept by its
 * writer; zeroes: nothing. For its mappings address_space.archived says it.
 */
struct process_archived {
	uint64_t at; /* position in its buffer */
	uint64_t entry; /* number of the entry there */
	bool has_cmdline;
};

/* Names the image that made a process; tgid 0: not known. */
struct process_parent {
	uint32_t tgid, exec_id;
	uint64_t key_ns;
};

#define PROCESS_CMDLINE_BYTES 4096 /* of a command line are kept; a longer one ends in "..." */

/* How a process ended, as far as it is known; an image that exec replaced has none of it. */
struct process_end {
	bool is_known;
	int32_t status; /* as wait(2) encodes it */
	uint64_t
		max_rss_bytes; /* the most memory that it had, whatever image it was; 0: not known */
};

/* What a counter of it was told to be last. */
struct process_counter {
	uint64_t time_ns; /* 0: nothing was told */
	int64_t value;
};

#define PROCESS_COUNTERS 9

struct process {
	uint32_t number; /* unique and small; used again when the process is dropped */
	uint32_t tgid;
	uint32_t exec_id;
	/* 0 for the first image met under this tgid, 1, 2, ... for those met after it */
	uint32_t life;
	uint64_t key_ns; /* the kernel's start time of its first thread */
	uint64_t born_ns; /* fork or exec time; 0: before the recording began */
	/* exit time, or when exec replaced it; 0: alive at the end of the recording */
	uint64_t died_ns;
	bool is_kernel; /* a kernel thread: no address space */
	bool is_root; /* the user asked for it: not a child, not "everything" */
	bool is_counted; /* among those whose exit ends the recording; see recording/records.h */
	bool is_changed; /* since it was last archived; set where it is changed */
	struct process_archived archived;
	struct process_parent parent; /* the same for all images of a process */
	bool is_execed; /* exec made this image of the one before; false: it did not, or it is not known */
	struct process_end end;
	struct process_counter counters[PROCESS_COUNTERS]; /* by enum gb_counter */
	uint64_t counted_ns; /* since when those that add up are counted; 0: not so far */
	struct process *previous; /* the image before it under this tgid; NULL: none known */
	char name[THREAD_NAME_BYTES]; /* the main thread's, which ps(1) shows */
	char *cmdline; /* arguments joined by blanks, a text of base/shared_text.h; NULL: not known */
	struct threads threads;
	struct address_space space;
	struct profile_buffer *buffer; /* its samples; NULL: none so far. Borrowed */
	bool is_ending; /* in the list of those whose buffer is still to be finished */
	struct process *next_ending;
};

struct processes;

/* 0 or -ENOMEM. */
int processes_open(struct processes **out);
/* Frees processes, threads and address spaces; not their buffers. */
void processes_close(struct processes *processes);

/* The thread that `task` names, made (with its process) if it is new. 0 or -ENOMEM. */
int processes_thread(struct processes *processes, const struct gb_task *task, struct thread **out);

/* The image that now runs, or ran last, under `tgid`; NULL: none known. */
struct process *processes_latest(const struct processes *processes, uint32_t tgid);
/* The image that is so named; NULL: not met. */
struct process *processes_find(const struct processes *processes, uint32_t tgid, uint64_t key_ns,
			       uint32_t exec_id);
/*
 * How many images were stepped over, in all, to put those that came out of order behind later ones
 * of their tgid.
 */
uint64_t processes_life_steps(const struct processes *processes);
/*
 * Returns a life for `process`, met just now, that no other image of its tgid has: `wanted`, or a
 * higher one if another image has that, or may have it: of many images not all are looked at.
 */
uint32_t processes_choose_life(const struct processes *processes, const struct process *process,
			       uint32_t wanted);

/* Processes in order of appearance: `index` is not their number. */
size_t processes_count(const struct processes *processes);
struct process *processes_at(const struct processes *processes, size_t index);
size_t processes_thread_count(const struct processes *processes);

/*
 * Drops the processes for which `goes` returns true, with all that they own but their buffers;
 * which `goes` may close. Returns how many went. A record that names one of them makes it anew.
 */
size_t processes_sweep(struct processes *processes,
		       bool (*goes)(void *context, struct process *process), void *context);
/* The same with the threads of one process. */
size_t processes_sweep_threads(struct processes *processes, struct process *process,
			       bool (*goes)(void *context, const struct thread *thread),
			       void *context);

/*
 * The number of the thread that a sample of that time names by the number `said`; or THREAD_NONE,
 * which no thread has.
 */
uint32_t threads_resolve(const struct threads *threads, uint32_t said, uint64_t time_ns);

/* A number for new samples of the thread, whenever they are: no alias gives them to another. 0 or -ENOMEM. */
int threads_number_for(struct threads *threads, const struct thread *thread, uint32_t *said);

/* Something of the thread changed, and so of its process. */
static inline void thread_note_changed(struct thread *thread)
{
	thread->is_changed = thread->process->is_changed = true;
}

/* Memory of all that is here, about; buffers not included. Looks at every process. */
size_t processes_bytes(const struct processes *processes);

#endif
