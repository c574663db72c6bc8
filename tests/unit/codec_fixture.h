/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec_fixture.h - chunks for the tests of codec and compressor, written byte by byte. After
 * cmocka.h.
 */
#ifndef GECKOBPF_TESTS_CODEC_FIXTURE_H
#define GECKOBPF_TESTS_CODEC_FIXTURE_H

#include <stdint.h>
#include <string.h>

#include "base/leb128.h"
#include "buffer/chunk.h"

/* A random number from the one before it. */
static inline uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* In use, with `tail` bytes of a block begun before. */
static inline struct chunk *begin_chunk(uint32_t bytes, uint32_t tail)
{
	struct chunk *chunk = chunk_create(bytes);
	struct chunk_span span;

	assert_non_null(chunk);
	span = chunk_begin(chunk, 1, tail);
	memset(span.bytes, 0xa5, span.size);
	chunk->header.process_id = 42;
	return chunk;
}

/* Appends a block, or as much of it as there is room for. Whether there may be room for more. */
static inline bool add_block(struct chunk *chunk, const void *payload, uint32_t size)
{
	uint8_t bytes[8 + 70000], *end = leb128_put(bytes, size);
	struct chunk_span span;

	assert_true(size <= 70000);
	memcpy(end, payload, size);
	span = chunk_reserve_block(chunk, (uint32_t)(end - bytes) + size);
	memcpy(span.bytes, bytes, span.size);
	return chunk_remaining(chunk) > 0;
}

/* Numbers as entries have them, after a kind that says how many. Returns their size. */
static inline uint32_t make_entry(uint64_t *random, uint8_t *payload)
{
	uint32_t numbers = next_random(random) % 8, i;
	uint8_t *end = payload;

	*end++ = (uint8_t)(0x80 | numbers << 1);
	for (i = 0; i < numbers; i++)
		end = leb128_put(end, next_random(random) % 30000 >> next_random(random) % 4 * 4);
	if (next_random(random) % 50 == 0) {
		memset(end, 7, 200);
		end += 200;
	}
	return (uint32_t)(end - payload);
}

/* Full, its last block cut, done. */
static inline struct chunk *entry_chunk(uint32_t bytes, uint32_t tail, uint64_t seed)
{
	struct chunk *chunk = begin_chunk(bytes, tail);
	uint8_t payload[512];
	uint32_t size;

	do
		size = make_entry(&seed, payload);
	while (add_block(chunk, payload, size));
	chunk_mark_done(chunk);
	return chunk;
}

/* Full of noise, all of which belongs to a block begun before; done. */
static inline struct chunk *noise_chunk(uint32_t bytes, uint64_t seed)
{
	struct chunk *chunk = begin_chunk(bytes, bytes);
	uint32_t i;

	for (i = 0; i < bytes; i++)
		chunk->bytes[i] = (uint8_t)(next_random(&seed) >> 24);
	chunk_mark_done(chunk);
	return chunk;
}

#endif
