/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.h - reads little-endian numbers from bytes that may end at any moment.
 *
 * Every reader returns whether all its bytes were there; when not, neither the cursor nor *value has changed.
 */
#ifndef GECKOBPF_UNWIND_CURSOR_H
#define GECKOBPF_UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static inline struct cursor cursor_over(const uint8_t *bytes, size_t size)
{
	return (struct cursor){bytes, bytes + size};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline bool cursor_skip(struct cursor *cursor, uint64_t bytes)
{
	if (bytes > cursor_left(cursor))
		return false;
	cursor->at += bytes;
	return true;
}

/* The next `bytes` become a cursor of their own. */
static inline bool cursor_split(struct cursor *cursor, uint64_t bytes, struct cursor *part)
{
	if (bytes > cursor_left(cursor))
		return false;
	*part = cursor_over(cursor->at, (size_t)bytes);
	cursor->at += bytes;
	return true;
}

static inline bool cursor_raw(struct cursor *cursor, void *value, size_t size)
{
	if (size > cursor_left(cursor))
		return false;
	memcpy(value, cursor->at, size);
	cursor->at += size;
	return true;
}

static inline bool cursor_u8(struct cursor *cursor, uint8_t *value)
{
	return cursor_raw(cursor, value, sizeof(*value));
}

static inline bool cursor_u16(struct cursor *cursor, uint16_t *value)
{
	return cursor_raw(cursor, value, sizeof(*value));
}

static inline bool cursor_u32(struct cursor *cursor, uint32_t *value)
{
	return cursor_raw(cursor, value, sizeof(*value));
}

static inline bool cursor_u64(struct cursor *cursor, uint64_t *value)
{
	return cursor_raw(cursor, value, sizeof(*value));
}

/* `size` is 1, 2, 4 or 8 bytes; smaller ones are widened, with their sign if is_signed. */
bool cursor_fixed(struct cursor *cursor, unsigned int size, bool is_signed, uint64_t *value);

/* LEB128. Bits beyond the 64th are dropped. */
bool cursor_uleb(struct cursor *cursor, uint64_t *value);
bool cursor_sleb(struct cursor *cursor, int64_t *value);

#endif
