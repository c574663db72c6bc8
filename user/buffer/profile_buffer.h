/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_buffer.h - the samples of one process: they go in, and come out again in the order they
 * went in.
 *
 * Stands on a chunked buffer (chunked_buffer.h), whose chunks count against the limit of a profile
 * memory, so one limit holds for all processes and the oldest data of any of them goes first. What
 * the bytes are: entry.h. One thread at a time uses the profile buffers that share a memory.
 */
#ifndef GECKOBPF_BUFFER_PROFILE_BUFFER_H
#define GECKOBPF_BUFFER_PROFILE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/frame.h"

struct profile_buffer;
struct profile_memory;

#define STACK_NODE_NONE UINT32_MAX
#define SAMPLE_MAX_FRAMES 2048

/*
 * A sample to put. `frames` is root first; at most SAMPLE_MAX_FRAMES. Times are below 2^63.
 */
struct sample_entry {
	uint32_t thread; /* the thread's number in its process */
	uint8_t user_end; /* enum gb_stack_end */
	uint64_t time_ns;
	uint64_t cpu_ns; /* CPU time the thread had used in its life */
	uint64_t run_ns; /* how long it had been on the CPU without a break; 0: not known */
	uint64_t slept_ns; /* of a sleep: how long it was off the CPU; else 0 */
	uint32_t event; /* enum gb_event */
	int64_t weight; /* how much it counts: periods */
	/* Stack addresses, see frame.h; 0: those of the thread's sample before, or not known. */
	uint64_t stack_base, far_sp;
	const struct frame *frames;
	uint32_t frame_count;
};

/* A sample read back: what was put, but for cpu_ns and run_ns, which are coarser. */
struct sample_view {
	uint32_t thread;
	uint8_t user_end;
	uint64_t time_ns;
	/*
	 * Up to 999 ns less than was put, and not less than 0. It lacks the same in all samples
	 * between which the thread stayed on the CPU, so differences of these are exact.
	 */
	uint64_t cpu_ns;
	/*
	 * Tells when the thread came onto the CPU, if that was more than a period after its
	 * previous sample (or, in the first of a thread since a restart, more than a period after
	 * time 0): whole us, rounded up. Else 0: it ran on or hardly paused, or it is not known.
	 */
	uint64_t run_ns;
	uint64_t slept_ns; /* whole us, rounded down */
	uint32_t event; /* enum gb_event, or one that a later version wrote */
	int64_t weight;
	uint64_t stack_base, far_sp; /* mean something where the stack has such frames */
	uint32_t stack; /* node number, or STACK_NODE_NONE: no frames */
};

/* What was counted of the process at a time: to put, and read back. Times are below 2^63. */
struct counter_entry {
	uint32_t counter; /* below ENTRY_COUNTERS */
	uint64_t time_ns;
	int64_t value;
};

#define ENTRY_COUNTERS 16

/*
 * What a reader is told, in this order. Any function returning non-zero ends the walk with that
 * value.
 */
struct profile_visitor {
	/*
	 * Node numbers start over at 0: forget all nodes. Called before the first node, at every
	 * chunk and after a dropped sample.
	 */
	int (*restart)(void *context);
	/*
	 * Node `node` (0, 1, 2, ... since restart) is `frame` called by node `prefix`
	 * (STACK_NODE_NONE: a root). `frame` is valid during the call.
	 */
	int (*node)(void *context, uint32_t node, uint32_t prefix, const struct frame *frame);
	int (*sample)(void *context, const struct sample_view *sample);
	/* NULL: who reads does not want to know. */
	int (*counter)(void *context, const struct counter_entry *entry);
};

struct profile_buffer_state {
	uint64_t range_start, range_end; /* byte positions of the readable range */
	uint64_t pushed; /* entries put */
	uint64_t cleared; /* of these, entries that went since to make room */
	uint64_t samples_pushed, samples_cleared; /* of both, those that are samples */
	uint64_t failed_bytes; /* of entries refused: too large, or no memory for a chunk */
	uint64_t failed; /* entries refused, those without memory to encode them included */
	uint64_t damaged; /* entries that the last walk could not read */
};

struct profile_buffer_config {
	struct profile_memory *memory; /* borrowed; it must outlive the buffer */
	uint32_t process_id;
	uint64_t period_ns; /* between samples of a busy thread; 0: 1 ms */
};

/* 0 or -ENOMEM. */
int profile_buffer_open(struct profile_buffer **out, const struct profile_buffer_config *config);
/* NULL is fine. */
void profile_buffer_close(struct profile_buffer *buffer);

/* The process ended: no more memory is held than what its samples take. */
void profile_buffer_finish(struct profile_buffer *buffer);

/* 0; -ENOMEM or -E2BIG when the sample was dropped, which is counted. */
int profile_buffer_put_sample(struct profile_buffer *buffer, const struct sample_entry *sample);

/* The same of a counter's value; -EINVAL: there is no such counter. */
int profile_buffer_put_counter(struct profile_buffer *buffer, const struct counter_entry *entry);

/*
 * Walks all readable entries, oldest first; nothing is put meanwhile, to any buffer of the
 * memory, and no chunk is compressed (profile_memory_pause()). Entries that make no sense
 * are counted (profile_buffer_state.damaged) and left out, as are those that cannot be understood
 * without them, and those of which a visitor says -EBADMSG. 0, -ENOMEM, or what a visitor returned.
 */
int profile_buffer_read(struct profile_buffer *buffer, const struct profile_visitor *visitor,
			void *context);

/*
 * The entries as they are, from the first at or after position `from` on (0: all), each with the position after it. As
 * profile_buffer_read(), but bytes are not looked at, and any result of `visit` but 0 ends the walk.
 */
int profile_buffer_each(struct profile_buffer *buffer, uint64_t from,
			int (*visit)(void *context, uint64_t next, const uint8_t *bytes,
				     size_t size),
			void *context);

/*
 * Puts an entry that came from profile_buffer_each(): all of a buffer's, in order, before any
 * sample. What its bytes say shows when they are read. 0, -E2BIG, -ENOMEM.
 */
int profile_buffer_put_entry(struct profile_buffer *buffer, const uint8_t *bytes, size_t size);

struct profile_buffer_state profile_buffer_get_state(const struct profile_buffer *buffer);

#endif
