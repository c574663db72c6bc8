/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_memory.c - see profile_memory.h. */
#include "buffer/profile_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "buffer/chunk_codec.h"
#include "buffer/chunk_walk.h"
#include "buffer/entry_cache.h"

/* The cache is at most that part of the limit, since it comes on top of it. */
#define CACHE_OF_LIMIT 8
#define CACHE_LEAST_BYTES (256U * 1024)

struct profile_memory {
	struct chunk_store *store;
	struct entry_cache *cache;
	struct chunk_codec *codec; /* the reader's */
	struct chunk_expander expander;
	struct compressor *compressor; /* NULL: nothing is compressed */
};

static int expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	const struct profile_memory *memory = context;

	return chunk_expand(memory->codec, compressed, out);
}

static struct chunk *take(void *context)
{
	const struct profile_memory *memory = context;

	return chunk_store_borrow(memory->store, true);
}

static void give(void *context, struct chunk *chunk, struct chunk *twin)
{
	const struct profile_memory *memory = context;

	chunk_store_return(memory->store, chunk, twin);
}

static size_t cache_bytes(const struct profile_memory_config *config)
{
	uint64_t bytes = config->max_bytes / CACHE_OF_LIMIT;

	if (config->cache_bytes)
		return config->cache_bytes;
	if (bytes < CACHE_LEAST_BYTES)
		return CACHE_LEAST_BYTES;
	return bytes < ENTRY_CACHE_BYTES ? (size_t)bytes : ENTRY_CACHE_BYTES;
}

static int open_all(struct profile_memory *memory, const struct profile_memory_config *config)
{
	const struct compressor_source source = {take, give, memory};
	const struct chunk_store_config store = {
		.max_bytes = config->max_bytes,
		.chunk_first_bytes = config->chunk_first_bytes,
		.chunk_max_bytes = config->chunk_max_bytes,
		.expander = config->expander ? config->expander : &memory->expander,
	};
	int err;

	memory->expander = (struct chunk_expander){expand, memory};
	err = chunk_codec_open(&memory->codec, CHUNK_MAX_BYTES, CODEC_READ);
	if (!err)
		err = entry_cache_open(&memory->cache, cache_bytes(config));
	if (!err)
		err = chunk_store_open(&memory->store, &store);
	if (!err && config->compresses)
		err = compressor_open(&memory->compressor, &source, CHUNK_MAX_BYTES);
	return err;
}

int profile_memory_open(struct profile_memory **out, const struct profile_memory_config *config)
{
	struct profile_memory *memory = calloc(1, sizeof(*memory));
	int err;

	if (!memory)
		return -ENOMEM;
	err = open_all(memory, config);
	if (err) {
		profile_memory_close(memory);
		return err;
	}
	*out = memory;
	return 0;
}

void profile_memory_close(struct profile_memory *memory)
{
	if (!memory)
		return;
	if (memory->compressor)
		chunk_store_stop(memory->store);
	compressor_close(memory->compressor);
	chunk_store_close(memory->store);
	entry_cache_close(memory->cache);
	chunk_codec_close(memory->codec);
	free(memory);
}

struct chunk_store *profile_memory_store(const struct profile_memory *memory)
{
	return memory->store;
}

struct entry_cache *profile_memory_cache(const struct profile_memory *memory)
{
	return memory->cache;
}

void profile_memory_fulfil(struct profile_memory *memory)
{
	chunk_store_fulfil(memory->store);
}

void profile_memory_set_extra(struct profile_memory *memory, uint64_t bytes)
{
	chunk_store_set_extra(memory->store, bytes);
}

struct profile_memory_stats profile_memory_get_stats(const struct profile_memory *memory)
{
	struct profile_memory_stats stats = {.chunks = chunk_store_get_stats(memory->store)};

	if (memory->compressor)
		stats.compression = compressor_get_counts(memory->compressor);
	return stats;
}

uint64_t profile_memory_complete_since_ns(const struct profile_memory *memory)
{
	return chunk_store_complete_since_ns(memory->store);
}

static void hurry(const struct profile_memory *memory, bool hurry)
{
	if (memory->compressor)
		compressor_hurry(memory->compressor, hurry);
}

void profile_memory_pause(struct profile_memory *memory)
{
	hurry(memory, true);
	chunk_store_pause(memory->store);
}

void profile_memory_resume(struct profile_memory *memory)
{
	chunk_store_resume(memory->store);
	hurry(memory, false);
}

pid_t profile_memory_fork(struct profile_memory *memory)
{
	pid_t child;

	hurry(memory, true);
	child = chunk_store_fork(memory->store);
	if (child)
		hurry(memory, false);
	return child;
}
