/* SPDX-License-Identifier: BSD-2-Clause */
/* chunked_nested.c - a buffer's content as a payload. */
#include "buffer/chunked_nested.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager.h"
#include "buffer/chunked_state.h"

/* What a payload says; `bytes` are in the chunk or in the payload. */
struct nested {
	const uint8_t *bytes;
	uint32_t size; /* 0: nothing */
	uint64_t start, pushed, cleared;
};

static void put_u64(struct block_room *room, uint64_t value)
{
	value = htole64(value);
	block_room_write(room, &value, sizeof(value));
}

static void write_nested(void *context, struct block_room *room)
{
	const struct nested *nested = context;
	uint8_t prefix[LEB128_MAX_BYTES_U32];

	block_room_write(room, prefix, (size_t)(leb128_put(prefix, nested->size) - prefix));
	if (!nested->size)
		return;
	put_u64(room, nested->start);
	block_room_write(room, nested->bytes, nested->size);
	put_u64(room, nested->pushed);
	put_u64(room, nested->cleared);
}

/* The only chunk with blocks; NULL: there is none. -EINVAL: there are several. */
static int only_chunk(const struct chunked_buffer *buffer, const struct chunk **out)
{
	const struct chunk *released = NULL;

	if (buffer && buffer->manager)
		released = chunk_manager_peek(buffer->manager);
	if (released && (released->next || buffer->current || chunk_is_compressed(released)))
		return -EINVAL;
	*out = released || !buffer ? released : buffer->current;
	return 0;
}

int chunked_nested_put(struct chunked_buffer *buffer, const struct chunked_buffer *inner,
		       uint64_t *index)
{
	struct nested nested = {0};
	const struct chunk *chunk;
	size_t payload_bytes;
	int err = only_chunk(inner, &chunk);

	if (err)
		return err;
	if (chunk) {
		uint32_t first = chunk->header.offset_first_block;

		nested = (struct nested){
			.bytes = chunk->bytes + first,
			.size = chunk->header.offset_past_last_block - first,
			.start = chunk->header.range_start + first,
			.pushed = inner->state.pushed,
			.cleared = inner->state.cleared,
		};
	}
	payload_bytes = leb128_size(nested.size);
	if (nested.size)
		payload_bytes += nested.size + 3 * sizeof(uint64_t);
	return chunked_buffer_reserve_and_put(buffer, payload_bytes, write_nested, &nested, index);
}

static uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static int parse(const uint8_t *payload, size_t size, struct nested *nested)
{
	const uint8_t *end = payload + size, *at;
	uint64_t bytes;

	at = leb128_get(payload, end, &bytes);
	if (!at || bytes > size)
		return -EBADMSG;
	*nested = (struct nested){.size = (uint32_t)bytes};
	if (!bytes)
		return at == end ? 0 : -EBADMSG;
	if ((size_t)(end - at) != bytes + 3 * sizeof(uint64_t))
		return -EBADMSG;
	nested->start = get_u64(at);
	nested->bytes = at + sizeof(uint64_t);
	nested->pushed = get_u64(nested->bytes + bytes);
	nested->cleared = get_u64(nested->bytes + bytes + sizeof(uint64_t));
	if (!nested->start || nested->start > UINT64_MAX / 2 || nested->cleared > nested->pushed ||
	    nested->pushed - nested->cleared > bytes)
		return -EBADMSG;
	return 0;
}

static int is_fit(const struct chunked_buffer *into)
{
	if (!into->manager)
		return -ENOTCONN;
	if (into->current || chunk_manager_peek(into->manager))
		return -EBUSY;
	return 0;
}

/* A chunk for the blocks, of which the first has the index `start`. */
static int begin_at(struct chunked_buffer *into, const struct nested *nested)
{
	struct chunk *chunk;
	uint64_t index;
	int err;

	err = chunked_buffer_begin_current(into, nested->size, nested->start);
	if (err)
		return err;
	chunk = into->current;
	memcpy(chunk_reserve_block(chunk, nested->size, &index).bytes, nested->bytes, nested->size);
	chunk->header.block_count = (uint32_t)(nested->pushed - nested->cleared);
	return 0;
}

int chunked_nested_read(const uint8_t *payload, size_t size, struct chunked_buffer *into)
{
	struct nested nested;
	int err = is_fit(into);

	if (!err)
		err = parse(payload, size, &nested);
	if (!err && nested.size)
		err = begin_at(into, &nested);
	if (err || !nested.size)
		return err;
	into->state = (struct chunked_buffer_state){
		.range_start = nested.start,
		.range_end = nested.start + nested.size,
		.pushed = nested.pushed,
		.cleared = nested.cleared,
	};
	chunked_buffer_settle(into);
	return 0;
}
