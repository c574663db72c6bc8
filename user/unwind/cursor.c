/* SPDX-License-Identifier: BSD-2-Clause */
/* cursor.c - see cursor.h. */
#include "unwind/cursor.h"

static uint64_t sign_extend(uint64_t value, unsigned int bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1);

	return (value ^ sign) - sign;
}

bool cursor_fixed(struct cursor *cursor, unsigned int size, bool is_signed, uint64_t *value)
{
	uint16_t half = 0;
	uint32_t word = 0;
	uint8_t byte = 0;

	switch (size) {
	case 1:
		if (!cursor_u8(cursor, &byte))
			return false;
		*value = is_signed ? sign_extend(byte, 8) : byte;
		return true;
	case 2:
		if (!cursor_u16(cursor, &half))
			return false;
		*value = is_signed ? sign_extend(half, 16) : half;
		return true;
	case 4:
		if (!cursor_u32(cursor, &word))
			return false;
		*value = is_signed ? sign_extend(word, 32) : word;
		return true;
	case 8:
		return cursor_u64(cursor, value);
	}
	return false;
}

/* *bits: how many were read, 64 at most. */
static bool read_leb(struct cursor *cursor, uint64_t *value, unsigned int *bits)
{
	const uint8_t *at = cursor->at;
	unsigned int shift = 0;
	uint64_t result = 0;

	while (at < cursor->end) {
		uint8_t byte = *at++;

		if (shift < 64) {
			result |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
		if (byte & 0x80)
			continue;
		cursor->at = at;
		*value = result;
		*bits = shift;
		return true;
	}
	return false;
}

bool cursor_uleb(struct cursor *cursor, uint64_t *value)
{
	unsigned int bits;

	return read_leb(cursor, value, &bits);
}

bool cursor_sleb(struct cursor *cursor, int64_t *value)
{
	unsigned int bits;
	uint64_t raw;

	if (!read_leb(cursor, &raw, &bits))
		return false;
	*value = (int64_t)(bits < 64 ? sign_extend(raw, bits) : raw);
	return true;
}
