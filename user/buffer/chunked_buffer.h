/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunked_buffer.h - a stream of blocks over chunks; the oldest chunks go when the store needs
 * their room (chunk_store.h).
 *
 *   block = ULEB128 of the payload's size (never 0) | payload
 *
 *   released chunks, in the store              current chunk
 *   | tail] [block] [block] [head | tail] [block] [head | tail] [block]           |
 *   '- range_start                                                     '- range_end
 *
 * The index of a block is the position of its first byte. Positions are 64 bits, start at 1 and are
 * never used twice; 0 is nowhere, before everything. A chunk that could not be filled leaves a
 * hole: the next begins where it would have ended. A block has its bytes in one chunk or in two
 * neighbours, anywhere split; chunks differ in size. The first chunk is fetched when the first
 * block needs it, so a new buffer costs nothing; each next one is requested when the current one is
 * half full; chunk_store_fulfil() fetches it when there is time, or else the put that needs it. A
 * put of less than 128 bytes that neither crosses the half nor fills the chunk takes no lock and
 * does not call the store.
 *
 * One thread at a time; no put while a walk is on.
 */
#ifndef GECKOBPF_BUFFER_CHUNKED_BUFFER_H
#define GECKOBPF_BUFFER_CHUNKED_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/chunk_walk.h"

struct chunk_store;
struct chunked_buffer;

/* Blocks larger than this are refused, whatever the fill level and the size of chunks. */
#define MAX_BLOCK_BYTES (64U * 1024)

struct chunked_buffer_state {
	uint64_t range_start; /* at or before the first readable block */
	uint64_t range_end; /* after the last one */
	uint64_t pushed; /* blocks put */
	uint64_t cleared; /* of these, gone since */
	uint64_t failed_bytes; /* of blocks refused */
	uint64_t failed; /* blocks refused */
};

/* Of `pushed` and `cleared`, those that are no samples. */
struct chunked_buffer_others {
	uint64_t pushed, cleared;
};

/* `store` is borrowed; `process_id` goes into the chunks. 0 or -ENOMEM. */
int chunked_buffer_open(struct chunked_buffer **out, struct chunk_store *store,
			uint32_t process_id);
/* Its blocks go, its chunks are the store's again. NULL is fine. */
void chunked_buffer_close(struct chunked_buffer *buffer);

/*
 * The process ended: its current chunk is cut down to what is used and released, and no other one
 * is held. A later put begins a new chunk.
 */
void chunked_buffer_finish(struct chunked_buffer *buffer);

/* Whether the next block will be the first that begins in its chunk. */
bool chunked_buffer_starts_chunk(const struct chunked_buffer *buffer);

/*
 * Puts a block of `payload_bytes` > 0. 0; -E2BIG: it is larger than MAX_BLOCK_BYTES; -ENOMEM: no
 * chunk, and what was left of the current one is lost.
 */
int chunked_buffer_put(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes);

/* The same of a block that is no sample. */
int chunked_buffer_put_other(struct chunked_buffer *buffer, const void *payload,
			     size_t payload_bytes);

/*
 * Begins a walk over the readable blocks, which chunk_walk_end() ends. No chunk is compressed
 * meanwhile (chunk_store_pause()).
 */
void chunked_buffer_walk(const struct chunked_buffer *buffer, struct chunk_walk *walk);

struct chunked_buffer_state chunked_buffer_get_state(const struct chunked_buffer *buffer);
struct chunked_buffer_others chunked_buffer_get_others(const struct chunked_buffer *buffer);

#endif
