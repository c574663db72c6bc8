/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_buffer.c - any order of puts, reads, clears, compressions and ends, in three buffers under
 * one limit, against a list of what was put.
 *
 * The input is a list of steps of three bytes: what to do, in which buffer, and how large. Bytes of
 * payloads follow from their number. The "compressor" turns all bits and says that it needs half.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/chunk.h"
#include "buffer/chunk_manager.h"
#include "buffer/chunked_buffer.h"
#include "buffer/memory_controller.h"

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

/* A buffer, and all that was put since it was emptied last. */
struct subject {
	struct chunk_manager *manager;
	struct chunked_buffer *buffer;
	struct put puts[BLOCKS_MAX];
	size_t count;
	size_t at; /* while it is compared */
};

static struct subject subjects[BUFFERS];
static uint8_t scratch[PAYLOAD_MAX];

static int expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	uint32_t n;

	for (n = 0; n < compressed->header.offset_past_last_block; n++)
		out[n] = (uint8_t)~compressed->bytes[n];
	return 0;
}

static void compress_one(struct memory_controller *memory, bool give_up)
{
	const struct chunk *chunk;
	struct chunk *twin = NULL;
	void *token;
	uint32_t n;

	chunk = memory_controller_borrow(memory, &token);
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
	memory_controller_return(memory, token, twin);
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
	err = chunked_buffer_put(subject->buffer, scratch, size, &now->index);
	if (size + 3 > 64 * 1024) {
		CHECK(err == -E2BIG);
		return;
	}
	CHECK(!err);
	CHECK(!subject->count || now->index > now[-1].index);
	subject->count++;
}

static int compare(void *context, const struct block_view *block)
{
	static uint8_t copy[PAYLOAD_MAX], wanted[PAYLOAD_MAX];
	struct subject *subject = context;
	const struct put *put = &subject->puts[subject->at++];

	CHECK(subject->at <= subject->count);
	CHECK(block->index == put->index);
	CHECK(block->next_index == (subject->at < subject->count ? put[1].index : 0));
	CHECK(block->head_bytes + block->tail_bytes == put->size);
	fill(wanted, put->seed, put->size);
	CHECK(!memcmp(block_view_bytes(block, copy), wanted, put->size));
	return 0;
}

static void read_all(struct subject *subject)
{
	struct chunked_buffer_state now = chunked_buffer_get_state(subject->buffer);

	CHECK(now.pushed == subject->count);
	CHECK(now.cleared <= now.pushed && now.range_start <= now.range_end);
	subject->at = (size_t)now.cleared;
	CHECK(!chunked_buffer_each(subject->buffer, compare, subject));
	CHECK(subject->at == subject->count);
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
	err = chunked_buffer_read_at(&walk, index, &block);
	CHECK(err == (n == subject->count ? -ENOENT : 0));
	CHECK(err || block.index == subject->puts[n].index);
	chunk_walk_end(&walk);
}

static void leave(struct subject *subject)
{
	chunked_buffer_set_manager(subject->buffer, NULL);
	chunked_buffer_set_manager(subject->buffer, subject->manager);
	subject->count = 0;
}

static void take(struct subject *subject)
{
	chunk_destroy_list(chunked_buffer_take_chunks(subject->buffer));
	leave(subject);
}

static void step(struct memory_controller *memory, const uint8_t *bytes)
{
	struct subject *subject = &subjects[bytes[1] % BUFFERS];
	uint32_t number = bytes[2];

	switch (bytes[0] % 16) {
	case 0:
		chunked_buffer_clear(subject->buffer);
		subject->count = 0;
		break;
	case 1:
		chunked_buffer_finish(subject->buffer);
		break;
	case 2:
		leave(subject);
		break;
	case 3:
		take(subject);
		break;
	case 4:
		read_all(subject);
		break;
	case 5:
		read_one(subject, number);
		break;
	case 6:
		memory_controller_fulfil(memory);
		break;
	case 7:
		compress_one(memory, number & 1);
		break;
	case 8:
		memory_controller_set_extra(memory, number * 64);
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

static void open_all(struct memory_controller **memory)
{
	static const struct chunk_expander expander = {expand, NULL};
	const struct memory_controller_config config = {
		.max_bytes = LIMIT, .chunk_first_bytes = 1024, .expander = &expander};
	uint32_t n;

	CHECK(!memory_controller_open(memory, &config));
	for (n = 0; n < BUFFERS; n++) {
		struct subject *subject = &subjects[n];

		subject->count = 0;
		CHECK(!memory_controller_manager(*memory, &subject->manager));
		CHECK(!chunked_buffer_open(&subject->buffer, n));
		chunked_buffer_set_manager(subject->buffer, subject->manager);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_controller *memory;
	size_t n;

	open_all(&memory);
	for (; size >= 3; size -= 3, data += 3)
		step(memory, data);
	for (n = 0; n < BUFFERS; n++) {
		read_all(&subjects[n]);
		chunked_buffer_close(subjects[n].buffer);
		chunk_manager_close(subjects[n].manager);
	}
	CHECK(!memory_controller_get_stats(memory).released_bytes);
	CHECK(!memory_controller_get_stats(memory).unreleased_bytes);
	memory_controller_close(memory);
	return 0;
}
