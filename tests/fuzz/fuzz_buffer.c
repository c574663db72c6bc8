/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_buffer.c - any order of puts, reads, compressions and ends, in three buffers under one limit,
 * against a list of what was put.
 *
 * The input is a list of steps of three bytes: what to do, in which buffer, and how large. Bytes of
 * payloads follow from their number. The "compressor" turns all bits and says that it needs half.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_store.h"
#include "buffer/chunked_buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUFFERS 3
#define BLOCKS_MAX 4096
#define LIMIT (64 * 1024)
#define PAYLOAD_MAX (70 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

struct put {
	uint64_t index;
	uint32_t size;
	uint8_t seed;
};

/* A buffer, and all that was put. */
struct subject {
	struct chunked_buffer *buffer;
	struct put puts[BLOCKS_MAX];
	size_t count;
};

static struct chunk_store *store;
static struct subject subjects[BUFFERS];
static uint8_t scratch[PAYLOAD_MAX];

static int expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	uint32_t n;

	for (n = 0; n < compressed->header.offset_past_last_block; n++)
		out[n] = (uint8_t)~compressed->bytes[n];
	return 0;
}

static void compress_one(bool give_up)
{
	struct chunk *chunk = chunk_store_borrow(store, false), *twin = NULL;
	uint32_t n;

	if (!chunk)
		return;
	if (!give_up) {
		twin = chunk_create(chunk->header.offset_past_last_block);
		CHECK(twin);
		twin->header = chunk->header;
		twin->header.flags |= CHUNK_COMPRESSED;
		twin->header.stored_bytes /= 2;
		for (n = 0; n < chunk->header.offset_past_last_block; n++)
			twin->bytes[n] = (uint8_t)~chunk->bytes[n];
	}
	chunk_store_return(store, chunk, twin);
}

static void fill(uint8_t *bytes, uint8_t seed, uint32_t size)
{
	uint32_t n;

	for (n = 0; n < size; n++)
		bytes[n] = (uint8_t)(seed + n * 7 + (n >> 8));
}

static void put(struct subject *subject, uint32_t size)
{
	struct put *now = &subject->puts[subject->count];
	int err;

	if (subject->count == BLOCKS_MAX)
		return;
	*now = (struct put){.size = size, .seed = (uint8_t)(subject->count * 13 + size)};
	fill(scratch, now->seed, size);
	err = chunked_buffer_put(subject->buffer, scratch, size);
	if (size + 3 > 64 * 1024) {
		CHECK(err == -E2BIG);
		return;
	}
	CHECK(!err);
	now->index = chunked_buffer_get_state(subject->buffer).range_end - leb128_size(size) - size;
	CHECK(!subject->count || now->index > now[-1].index);
	subject->count++;
}

static void compare(const struct put *put, const struct block_view *block)
{
	static uint8_t copy[PAYLOAD_MAX], wanted[PAYLOAD_MAX];

	CHECK(block->index == put->index);
	CHECK(block->head_bytes + block->tail_bytes == put->size);
	fill(wanted, put->seed, put->size);
	CHECK(!memcmp(block_view_bytes(block, copy), wanted, put->size));
}

static void read_all(struct subject *subject)
{
	struct chunked_buffer_state now = chunked_buffer_get_state(subject->buffer);
	size_t at = (size_t)now.cleared;
	struct block_view block;
	struct chunk_walk walk;

	CHECK(now.pushed == subject->count);
	CHECK(now.cleared <= now.pushed && now.range_start <= now.range_end);
	chunked_buffer_walk(subject->buffer, &walk);
	while (!chunk_walk_next(&walk, &block)) {
		CHECK(at < subject->count);
		compare(&subject->puts[at++], &block);
	}
	chunk_walk_end(&walk);
	CHECK(at == subject->count && !walk.lost);
}

static void read_one(struct subject *subject, uint32_t far)
{
	size_t n = (size_t)chunked_buffer_get_state(subject->buffer).cleared;
	uint64_t index = subject->count ? subject->puts[far % subject->count].index + far % 3 : far;
	struct block_view block;
	struct chunk_walk walk;
	int err;

	while (n < subject->count && subject->puts[n].index < index)
		n++;
	chunked_buffer_walk(subject->buffer, &walk);
	err = chunk_walk_seek(&walk, index, &block);
	CHECK(err == (n == subject->count ? -ENOENT : 0));
	if (!err)
		compare(&subject->puts[n], &block);
	chunk_walk_end(&walk);
}

static void start_over(struct subject *subject)
{
	chunked_buffer_close(subject->buffer);
	CHECK(!chunked_buffer_open(&subject->buffer, store, (uint32_t)(subject - subjects)));
	subject->count = 0;
}

/* All that can go goes. */
static void make_room(uint64_t extra)
{
	chunk_store_set_extra(store, LIMIT);
	CHECK(!chunk_store_get_stats(store).released_bytes);
	chunk_store_set_extra(store, extra);
}

static void step(const uint8_t *bytes)
{
	struct subject *subject = &subjects[bytes[1] % BUFFERS];
	uint32_t number = bytes[2];

	switch (bytes[0] % 16) {
	case 0:
	case 2:
		start_over(subject);
		break;
	case 1:
		chunked_buffer_finish(subject->buffer);
		break;
	case 3:
		make_room(number);
		break;
	case 4:
		read_all(subject);
		break;
	case 5:
		read_one(subject, number);
		break;
	case 6:
		chunk_store_fulfil(store);
		break;
	case 7:
		compress_one(number & 1);
		break;
	case 8:
		chunk_store_set_extra(store, number * 64);
		break;
	case 9:
		put(subject, 1 + number * 274);
		break;
	case 10:
	case 11:
		put(subject, 1 + number * 16);
		break;
	default:
		put(subject, 1 + number);
	}
}

static void open_all(void)
{
	static const struct chunk_expander expander = {expand, NULL};
	const struct chunk_store_config config = {
		.max_bytes = LIMIT, .chunk_first_bytes = 1024, .expander = &expander};
	uint32_t n;

	CHECK(!chunk_store_open(&store, &config));
	for (n = 0; n < BUFFERS; n++) {
		subjects[n].count = 0;
		CHECK(!chunked_buffer_open(&subjects[n].buffer, store, n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n;

	open_all();
	for (; size >= 3; size -= 3, data += 3)
		step(data);
	for (n = 0; n < BUFFERS; n++) {
		read_all(&subjects[n]);
		chunked_buffer_close(subjects[n].buffer);
	}
	CHECK(!chunk_store_get_stats(store).released_bytes);
	CHECK(!chunk_store_get_stats(store).unreleased_bytes);
	chunk_store_close(store);
	return 0;
}
