/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_memory.h - the memory that all profile buffers of a recording share: one limit, one table of nodes, one thread
 * that compresses what is finished.
 *
 *   profile buffers ──> memory controller <── compressor
 *          └──────────> entry cache
 *
 * One thread uses it, with the buffers. Readers see the same whether a chunk is compressed or not, but the compressor must
 * not exchange chunks under them: pause it.
 */
#ifndef GECKOBPF_BUFFER_PROFILE_MEMORY_H
#define GECKOBPF_BUFFER_PROFILE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer/compressor.h"
#include "buffer/memory_controller.h"

struct entry_cache;
struct profile_memory;

struct profile_memory_config {
	uint64_t max_bytes; /* of chunks, compressed where they are, and of what is set as extra */
	bool compresses; /* start the thread */
};

/* 0, -ENOMEM, -EAGAIN: no more threads. */
int profile_memory_open(struct profile_memory **out, const struct profile_memory_config *config);
/* All buffers are closed. NULL is fine. */
void profile_memory_close(struct profile_memory *memory);

/* For the buffers' configuration; both live as long as `memory`. */
struct memory_controller *profile_memory_controller(const struct profile_memory *memory);
struct entry_cache *profile_memory_cache(const struct profile_memory *memory);

/* Around reading. */
void profile_memory_pause(struct profile_memory *memory);
void profile_memory_resume(struct profile_memory *memory);

/* As fork(2); no other way leaves the child with buffers that it can read. It may do so for ever, and do nothing else with them. */
pid_t profile_memory_fork(struct profile_memory *memory);

/* All 0 without a compressor. */
struct compressor_counts profile_memory_compression(const struct profile_memory *memory);

#endif
