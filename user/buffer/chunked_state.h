/* SPDX-License-Identifier: BSD-2-Clause */
/* chunked_state.h - a chunked buffer from inside, for the files that make it up. */
#ifndef GECKOBPF_BUFFER_CHUNKED_STATE_H
#define GECKOBPF_BUFFER_CHUNKED_STATE_H

#include "buffer/chunked_buffer.h"

struct chunked_buffer {
	struct chunk_manager *manager; /* NULL: out of session */
	struct chunk *current; /* has room for at least one byte; NULL: the next put begins one */
	struct chunk *next; /* lent and unused */
	uint32_t easy_end; /* up to there a block in the current chunk needs no thought */
	bool is_requested; /* one for `next` */
	uint32_t process_id;
	uint64_t next_chunk_start; /* index at which the next chunk begins */
	struct chunked_buffer_state state;
};

/*
 * An empty current chunk that has room for `min_bytes` and begins at `index`; there is none yet. 0,
 * -ENOMEM or -ENOSPC.
 */
int chunked_buffer_begin_current(struct chunked_buffer *buffer, uint32_t min_bytes, uint64_t index);

/* After bytes were added: releases the current chunk if it is full, asks for the next in time. */
void chunked_buffer_settle(struct chunked_buffer *buffer);

#endif
