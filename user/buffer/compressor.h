/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compressor.h - a thread that makes chunks smaller when the machine has nothing better to do.
 *
 *   source ── take: a chunk to read ──> compressor ── give: its twin, or none ──> source
 *
 * The source owns the chunks and does its own locking; the compressor has one chunk at a time and
 * touches nothing else. It runs as SCHED_IDLE while it compresses, and as SCHED_OTHER inside take
 * and give, lest it be put aside while it holds the source's lock. Where it may not come back from
 * SCHED_IDLE (that takes CAP_SYS_NICE or a limit on nice values that allows 0), it is SCHED_OTHER
 * always. All signals are blocked in it.
 */
#ifndef GECKOBPF_BUFFER_COMPRESSOR_H
#define GECKOBPF_BUFFER_COMPRESSOR_H

#include <stdbool.h>
#include <stdint.h>

struct chunk;
struct compressor;

/* Both functions are called by the compressor's thread, in turns. */
struct compressor_source {
	/*
	 * Waits for a chunk that is done and not compressed, which stays as it is until it is given
	 * back. NULL: the compressor is to end.
	 */
	struct chunk *(*take)(void *context);
	/* `twin` is the source's now; NULL: the chunk stays as it is. */
	void (*give)(void *context, struct chunk *chunk, struct chunk *twin);
	void *context;
};

struct compressor_counts {
	uint64_t chunks; /* compressed */
	uint64_t bytes_in, bytes_out; /* of these chunks: stored_bytes before and after */
	uint64_t kept; /* chunks that would not have become smaller */
	uint64_t failures; /* chunks for which there was no memory */
	uint64_t cpu_ns; /* CPU time of the thread, up to the last chunk given back */
};

/*
 * Starts the thread, for chunks of at most `max_bytes`; larger ones are kept. 0, -EINVAL as
 * chunk_codec_open(), -ENOMEM, -EAGAIN: no more threads.
 */
int compressor_open(struct compressor **out, const struct compressor_source *source,
		    uint32_t max_bytes);
/* Waits until `take` has returned NULL, which the caller has seen to. NULL is fine. */
void compressor_close(struct compressor *compressor);

/*
 * True: a thread waits for the chunk at hand, so the compressor runs as any other thread from now
 * on; false: that is over. From any thread.
 */
void compressor_hurry(struct compressor *compressor, bool hurry);

/* What it has done so far. From any thread. */
struct compressor_counts compressor_get_counts(const struct compressor *compressor);

#endif
