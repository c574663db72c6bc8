/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_buffer.c - entries (entry.h) as the blocks of a chunked buffer. */
#include "buffer/profile_buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/leb128.h"
#include "base/clock.h"
#include "buffer/chunked_buffer.h"
#include "buffer/entry.h"
#include "buffer/profile_memory.h"

struct profile_buffer {
	struct chunked_buffer *blocks;
	struct entry_cache *cache;
	struct entry_encoder *encoder; /* NULL: the first entry makes it */
	uint64_t period_ns;
	uint64_t unencoded; /* samples dropped before they had bytes */
	uint64_t damaged; /* entries that the last walk could not read */
};

int profile_buffer_open(struct profile_buffer **out, const struct profile_buffer_config *config)
{
	struct profile_buffer *buffer = calloc(1, sizeof(*buffer));
	int err;

	if (!buffer)
		return -ENOMEM;
	err = chunked_buffer_open(&buffer->blocks, profile_memory_store(config->memory),
				  config->process_id);
	if (err) {
		free(buffer);
		return err;
	}
	buffer->cache = profile_memory_cache(config->memory);
	buffer->period_ns = config->period_ns ? config->period_ns : NS_PER_MS;
	*out = buffer;
	return 0;
}

void profile_buffer_close(struct profile_buffer *buffer)
{
	if (!buffer)
		return;
	chunked_buffer_close(buffer->blocks);
	entry_encoder_close(buffer->encoder);
	free(buffer);
}

void profile_buffer_finish(struct profile_buffer *buffer)
{
	chunked_buffer_finish(buffer->blocks);
	entry_encoder_close(buffer->encoder);
	buffer->encoder = NULL;
}

static int need_encoder(struct profile_buffer *buffer)
{
	return buffer->encoder
		       ? 0
		       : entry_encoder_open(&buffer->encoder, buffer->cache, buffer->period_ns);
}

static int encode(struct profile_buffer *buffer, const struct sample_entry *sample,
		  const uint8_t **bytes, size_t *size)
{
	int err = need_encoder(buffer);

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
	err = chunked_buffer_put(buffer->blocks, bytes, size);
	if (err)
		entry_encoder_drop(buffer->encoder);
	return err;
}

int profile_buffer_put_counter(struct profile_buffer *buffer, const struct counter_entry *entry)
{
	const uint8_t *bytes;
	size_t size;
	int err = need_encoder(buffer);

	if (!err)
		err = entry_encode_counter(buffer->encoder, entry,
					   chunked_buffer_starts_chunk(buffer->blocks), &bytes,
					   &size);
	if (err)
		return err;
	err = chunked_buffer_put_other(buffer->blocks, bytes, size);
	if (err)
		entry_encoder_drop(buffer->encoder);
	return err;
}

/* ---- reading ----------------------------------------------------------------- */

struct walk {
	/* Any result but 0 ends the walk. */
	int (*visit)(struct walk *walk, const struct block_view *block, const uint8_t *bytes,
		     size_t size);
	void *context;
	uint8_t *copy; /* of an entry that two chunks share */
	size_t copy_capacity;

	struct entry_decoder *decoder;
	const struct profile_visitor *visitor;
	uint64_t lost; /* blocks, before the one that was decoded last */
	uint64_t refused; /* entries that make no sense */

	int (*visit_bytes)(void *context, uint64_t next, const uint8_t *bytes, size_t size);
};

static int make_copy_room(struct walk *walk, const struct block_view *block)
{
	if (!block->tail_bytes)
		return 0;
	return array_reserve((void **)&walk->copy, &walk->copy_capacity,
			     block->head_bytes + block->tail_bytes, 1);
}

static int visit_block(struct walk *walk, const struct block_view *block)
{
	int err = make_copy_room(walk, block);

	return err ? err
		   : walk->visit(walk, block, block_view_bytes(block, walk->copy),
				 block->head_bytes + block->tail_bytes);
}

/* From the first block at or after position `from`. */
static int walk_from(struct profile_buffer *buffer, uint64_t from, struct walk *walk)
{
	struct chunk_walk chunks;
	struct block_view block;
	int found, result = 0;

	chunked_buffer_walk(buffer->blocks, &chunks);
	found = chunk_walk_seek(&chunks, from, &block);
	while (!found && !result) {
		result = visit_block(walk, &block);
		if (!result)
			found = chunk_walk_next(&chunks, &block);
	}
	buffer->damaged = chunks.lost + walk->refused;
	chunk_walk_end(&chunks);
	free(walk->copy);
	return found && found != -ENOENT ? found : result;
}

static int decode(struct walk *walk, const struct block_view *block, const uint8_t *bytes,
		  size_t size)
{
	int result;

	if (block->lost != walk->lost)
		entry_decoder_forget(walk->decoder);
	walk->lost = block->lost;
	result = entry_decode(walk->decoder, bytes, size, walk->visitor, walk->context);
	if (result != -EBADMSG)
		return result;
	walk->refused++;
	return 0;
}

int profile_buffer_read(struct profile_buffer *buffer, const struct profile_visitor *visitor,
			void *context)
{
	struct walk walk = {.visit = decode, .visitor = visitor, .context = context};
	int result = entry_decoder_open(&walk.decoder);

	if (!result)
		result = walk_from(buffer, 0, &walk);
	entry_decoder_close(walk.decoder);
	return result;
}

static size_t block_bytes(size_t payload_bytes)
{
	return leb128_size(payload_bytes) + payload_bytes;
}

static int hand_over(struct walk *walk, const struct block_view *block, const uint8_t *bytes,
		     size_t size)
{
	return walk->visit_bytes(walk->context, block->index + block_bytes(size), bytes, size);
}

int profile_buffer_each(struct profile_buffer *buffer, uint64_t from,
			int (*visit)(void *context, uint64_t next, const uint8_t *bytes,
				     size_t size),
			void *context)
{
	struct walk walk = {.visit = hand_over, .visit_bytes = visit, .context = context};

	return walk_from(buffer, from, &walk);
}

int profile_buffer_put_entry(struct profile_buffer *buffer, const uint8_t *bytes, size_t size)
{
	if (size && !entry_is_sample(*bytes))
		return chunked_buffer_put_other(buffer->blocks, bytes, size);
	return chunked_buffer_put(buffer->blocks, bytes, size);
}

struct profile_buffer_state profile_buffer_get_state(const struct profile_buffer *buffer)
{
	struct chunked_buffer_state blocks = chunked_buffer_get_state(buffer->blocks);
	struct chunked_buffer_others others = chunked_buffer_get_others(buffer->blocks);

	return (struct profile_buffer_state){
		.range_start = blocks.range_start,
		.range_end = blocks.range_end,
		.pushed = blocks.pushed,
		.cleared = blocks.cleared,
		.samples_pushed = blocks.pushed - others.pushed,
		.samples_cleared = blocks.cleared - others.cleared,
		.failed_bytes = blocks.failed_bytes,
		.failed = blocks.failed + buffer->unencoded,
		.damaged = buffer->damaged,
	};
}
