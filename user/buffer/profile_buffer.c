/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_buffer.c - entries (entry.h) as the blocks of a chunked buffer. */
#include "buffer/profile_buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/leb128.h"
#include "base/clock.h"
#include "buffer/chunk_manager.h"
#include "buffer/chunked_buffer.h"
#include "buffer/entry.h"
#include "buffer/memory_controller.h"

struct profile_buffer {
	struct chunk_manager *chunks;
	struct chunked_buffer *blocks;
	struct entry_cache *cache;
	struct entry_encoder *encoder; /* NULL: the first entry makes it */
	uint64_t period_ns;
	uint64_t unencoded; /* samples dropped before they had bytes */
};

int profile_buffer_open(struct profile_buffer **out, const struct profile_buffer_config *config)
{
	struct profile_buffer *buffer = calloc(1, sizeof(*buffer));
	int err;

	if (!buffer)
		return -ENOMEM;
	err = memory_controller_manager(config->memory, &buffer->chunks);
	if (!err)
		err = chunked_buffer_open(&buffer->blocks, config->process_id);
	if (err) {
		profile_buffer_close(buffer);
		return err;
	}
	chunked_buffer_set_manager(buffer->blocks, buffer->chunks);
	buffer->cache = config->cache;
	buffer->period_ns = config->period_ns ? config->period_ns : NS_PER_MS;
	*out = buffer;
	return 0;
}

void profile_buffer_close(struct profile_buffer *buffer)
{
	if (!buffer)
		return;
	chunked_buffer_close(buffer->blocks);
	chunk_manager_close(buffer->chunks);
	entry_encoder_close(buffer->encoder);
	free(buffer);
}

void profile_buffer_finish(struct profile_buffer *buffer)
{
	chunked_buffer_finish(buffer->blocks);
	entry_encoder_close(buffer->encoder);
	buffer->encoder = NULL;
}

static int encode(struct profile_buffer *buffer, const struct sample_entry *sample,
		  const uint8_t **bytes, size_t *size)
{
	int err = 0;

	if (!buffer->encoder)
		err = entry_encoder_open(&buffer->encoder, buffer->cache, buffer->period_ns);
	return err ? err
		   : entry_encode_sample(buffer->encoder, sample,
					 chunked_buffer_starts_chunk(buffer->blocks), bytes, size);
}

int profile_buffer_put_sample(struct profile_buffer *buffer, const struct sample_entry *sample)
{
	const uint8_t *bytes;
	size_t size;
	int err;

	err = encode(buffer, sample, &bytes, &size);
	if (err) {
		buffer->unencoded++;
		return err;
	}
	err = chunked_buffer_put(buffer->blocks, bytes, size, NULL);
	if (err)
		entry_encoder_drop(buffer->encoder);
	return err;
}

struct walk {
	struct entry_decoder *decoder;
	const struct profile_visitor *visitor;
	void *context;
	uint8_t *copy; /* of an entry that two chunks share */
	size_t copy_capacity;
};

static int make_copy_room(struct walk *walk, const struct block_view *block)
{
	if (!block->tail_bytes)
		return 0;
	return array_reserve((void **)&walk->copy, &walk->copy_capacity,
			     block->head_bytes + block->tail_bytes, 1);
}

static size_t block_bytes(size_t payload_bytes)
{
	return leb128_size(payload_bytes) + payload_bytes;
}

static int visit_block(void *context, const struct block_view *block)
{
	size_t size = block->head_bytes + block->tail_bytes;
	struct walk *walk = context;
	int err = make_copy_room(walk, block);

	if (err)
		return err;
	return entry_decode(walk->decoder, block_view_bytes(block, walk->copy), size, walk->visitor,
			    walk->context);
}

int profile_buffer_read(const struct profile_buffer *buffer, const struct profile_visitor *visitor,
			void *context)
{
	struct walk walk = {.visitor = visitor, .context = context};
	int result = entry_decoder_open(&walk.decoder);

	if (!result)
		result = chunked_buffer_each(buffer->blocks, visit_block, &walk);
	entry_decoder_close(walk.decoder);
	free(walk.copy);
	return result;
}

int profile_buffer_each(const struct profile_buffer *buffer, uint64_t from,
			int (*visit)(void *context, uint64_t next, const uint8_t *bytes,
				     size_t size),
			void *context)
{
	struct walk walk = {0};
	struct chunk_walk chunks;
	struct block_view block;
	int err;

	chunked_buffer_walk(buffer->blocks, &chunks);
	err = chunked_buffer_read_at(&chunks, from, &block);
	while (!err) {
		size_t size = block.head_bytes + block.tail_bytes;

		err = make_copy_room(&walk, &block);
		if (!err)
			err = visit(context, block.index + block_bytes(size),
				    block_view_bytes(&block, walk.copy), size);
		if (!err)
			err = chunk_walk_next(&chunks, &block);
	}
	if (err == -ENOENT)
		err = chunks.unreadable ? -EBADMSG : 0;
	chunk_walk_end(&chunks);
	free(walk.copy);
	return err;
}

int profile_buffer_put_entry(struct profile_buffer *buffer, const uint8_t *bytes, size_t size)
{
	return chunked_buffer_put(buffer->blocks, bytes, size, NULL);
}

struct profile_buffer_state profile_buffer_get_state(const struct profile_buffer *buffer)
{
	struct chunked_buffer_state blocks = chunked_buffer_get_state(buffer->blocks);

	return (struct profile_buffer_state){
		.range_start = blocks.range_start,
		.range_end = blocks.range_end,
		.pushed = blocks.pushed,
		.cleared = blocks.cleared,
		.failed_bytes = blocks.failed_bytes,
		.failed = blocks.failed + buffer->unencoded,
	};
}
