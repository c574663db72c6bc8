/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunked_buffer.h - a stream of blocks over chunks; the oldest chunks go when the manager needs
 * their room.
 *
 *   block = ULEB128 of the payload's size (never 0) | payload
 *
 *   released chunks, in the manager            current chunk
 *   | tail] [block] [block] [head | tail] [block] [head | tail] [block]           |
 *   '- range_start                                                     '- range_end
 *
 * The index of a block is the position of its first byte. Positions are 64 bits, start at 1 and are
 * never used twice; 0 is nowhere, before everything. A chunk that could not be filled leaves a
 * hole: the next begins where it would have ended. A block has its bytes in one chunk or in two
 * neighbours, anywhere split; chunks differ in size. The first chunk is fetched when the first
 * block needs it, so a new buffer costs nothing; each next one is requested when the current one is
 * half full, and whoever has the time fulfils the request (chunk_manager_fulfil()), or else the put
 * that needs it. A put of less than 128 bytes that neither crosses the half nor fills the chunk
 * takes no lock and asks nobody.
 *
 * One thread at a time; no put while a walk is on.
 */
#ifndef GECKOBPF_BUFFER_CHUNKED_BUFFER_H
#define GECKOBPF_BUFFER_CHUNKED_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/chunk_walk.h"

struct chunk;
struct chunk_manager;
struct chunked_buffer;

/* Counts end with the session (set_manager, clear); indexes do not. */
struct chunked_buffer_state {
	uint64_t range_start; /* at or before the first readable block */
	uint64_t range_end; /* after the last one */
	uint64_t pushed; /* blocks put */
	uint64_t cleared; /* of these, gone since */
	uint64_t failed_bytes; /* of blocks refused */
	uint64_t failed; /* blocks refused */
};

/* Where a payload is to be written: head, then tail. */
struct block_room {
	uint8_t *head, *tail;
	size_t head_bytes, tail_bytes;
};

/* Writes the next `size` bytes of a payload, which there must be room for. */
void block_room_write(struct block_room *room, const void *data, size_t size);

/* `process_id` goes into the chunks. Out of session: there is no manager yet. 0 or -ENOMEM. */
int chunked_buffer_open(struct chunked_buffer **out, uint32_t process_id);
/* Gives the chunks back to the manager, which may be closed then. NULL is fine. */
void chunked_buffer_close(struct chunked_buffer *buffer);

/*
 * Ends the session (chunks go back, counts become 0, nothing is readable) and begins one with
 * `manager`, which serves no other buffer, borrowed until the session ends; NULL: none, puts are
 * refused.
 */
void chunked_buffer_set_manager(struct chunked_buffer *buffer, struct chunk_manager *manager);

/*
 * The process ended: its current chunk is cut down to what is used and released, and no other one
 * is held. A later put begins a new chunk.
 */
void chunked_buffer_finish(struct chunked_buffer *buffer);

/* Whether the next block will be the first that begins in its chunk. */
bool chunked_buffer_starts_chunk(const struct chunked_buffer *buffer);

/*
 * Puts a block of `payload_bytes` > 0; `write` is called once and must fill the room. *index may be
 * NULL. 0; -ENOTCONN: out of session, nothing is counted; -E2BIG: the block is larger than the
 * manager's max_block_bytes; -ENOMEM: no chunk, and what was left of the current one is lost. After an error `write` has not been called.
 */
int chunked_buffer_reserve_and_put(struct chunked_buffer *buffer, size_t payload_bytes,
				   void (*write)(void *context, struct block_room *room),
				   void *context, uint64_t *index);
int chunked_buffer_put(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes,
		       uint64_t *index);

/* Begins a walk over the readable blocks, which chunk_walk_end() ends. */
void chunked_buffer_walk(const struct chunked_buffer *buffer, struct chunk_walk *walk);

/*
 * Calls `visit` for every readable block, oldest first; non-zero ends the walk. 0; what `visit`
 * returned; -ENOMEM; -EBADMSG: some could not be read (chunk_walk.h), all others were visited.
 */
int chunked_buffer_each(const struct chunked_buffer *buffer,
			int (*visit)(void *context, const struct block_view *block), void *context);

/*
 * The first readable block at or after `index`; 0: the first of all. `walk`, begun by the caller,
 * holds the block and goes on behind it. 0; -ENOENT: there is none; -ENOMEM.
 */
int chunked_buffer_read_at(struct chunk_walk *walk, uint64_t index, struct block_view *out);

/*
 * Forgets all blocks and sets the counts to 0. No memory is freed: the buffer keeps its chunks for
 * what comes.
 */
void chunked_buffer_clear(struct chunked_buffer *buffer);

/*
 * Takes out the chunks with their blocks, oldest first, all done, some perhaps compressed; the
 * caller destroys them. NULL: there were none. The range jumps to where the next chunk begins, the
 * counts stay.
 */
struct chunk *chunked_buffer_take_chunks(struct chunked_buffer *buffer);

/* Whether `index` is a position in the written part of the chunk that is being filled. */
bool chunked_buffer_is_current(const struct chunked_buffer *buffer, uint64_t index);

struct chunked_buffer_state chunked_buffer_get_state(const struct chunked_buffer *buffer);

#endif
