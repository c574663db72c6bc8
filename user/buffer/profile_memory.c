/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_memory.c - see profile_memory.h. */
#include "buffer/profile_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"
#include "buffer/chunk_manager.h"
#include "buffer/entry_cache.h"

/* The cache is at most that part of the limit, since it comes on top of it. */
#define CACHE_OF_LIMIT 8
#define CACHE_LEAST_BYTES (256U * 1024)

struct profile_memory {
	struct memory_controller *controller;
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

static const struct chunk *take(void *context, void **token)
{
	const struct profile_memory *memory = context;

	return memory_controller_wait_work(memory->controller, token);
}

static void give(void *context, void *token, struct chunk *replacement)
{
	const struct profile_memory *memory = context;

	memory_controller_return(memory->controller, token, replacement);
}

static size_t cache_bytes(uint64_t limit)
{
	uint64_t bytes = limit / CACHE_OF_LIMIT;

	if (bytes < CACHE_LEAST_BYTES)
		return CACHE_LEAST_BYTES;
	return bytes < ENTRY_CACHE_BYTES ? (size_t)bytes : ENTRY_CACHE_BYTES;
}

static int open_all(struct profile_memory *memory, const struct profile_memory_config *config)
{
	const struct compressor_source source = {take, give, memory};
	int err;

	memory->expander = (struct chunk_expander){expand, memory};
	err = chunk_codec_open(&memory->codec, CHUNK_MAX_BYTES, CODEC_READ);
	if (!err)
		err = entry_cache_open(&memory->cache, cache_bytes(config->max_bytes));
	if (!err)
		err = memory_controller_open(&memory->controller,
					     &(struct memory_controller_config){
						     .max_bytes = config->max_bytes,
						     .expander = &memory->expander,
					     });
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
		memory_controller_stop(memory->controller);
	compressor_close(memory->compressor);
	memory_controller_close(memory->controller);
	entry_cache_close(memory->cache);
	chunk_codec_close(memory->codec);
	free(memory);
}

struct memory_controller *profile_memory_controller(const struct profile_memory *memory)
{
	return memory->controller;
}

struct entry_cache *profile_memory_cache(const struct profile_memory *memory)
{
	return memory->cache;
}

void profile_memory_pause(struct profile_memory *memory)
{
	if (memory->compressor)
		compressor_hurry(memory->compressor, true);
	memory_controller_pause(memory->controller);
}

void profile_memory_resume(struct profile_memory *memory)
{
	memory_controller_resume(memory->controller);
	if (memory->compressor)
		compressor_hurry(memory->compressor, false);
}

pid_t profile_memory_fork(struct profile_memory *memory)
{
	pid_t child;

	if (memory->compressor)
		compressor_hurry(memory->compressor, true);
	child = memory_controller_fork(memory->controller);
	if (child && memory->compressor)
		compressor_hurry(memory->compressor, false);
	return child;
}

struct compressor_counts profile_memory_compression(const struct profile_memory *memory)
{
	if (!memory->compressor)
		return (struct compressor_counts){0};
	return compressor_get_counts(memory->compressor);
}
