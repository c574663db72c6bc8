/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leb128.h - ULEB128: 7 bits a byte, low bits first, the top bit set on all bytes but the last.
 *
 *   300 = 0b10_0101100  ->  1_0101100 0_0000010  ->  AC 02
 *
 * Signed numbers are zigzag-coded first (0, -1, 1, -2 -> 0, 1, 2, 3) so that small ones stay short.
 */
#ifndef GECKOBPF_BASE_LEB128_H
#define GECKOBPF_BASE_LEB128_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEB128_MAX_BYTES_U32 5
#define LEB128_MAX_BYTES_U64 10

/* Bytes that `value` takes: 1 to 10. */
static inline size_t leb128_size(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* Writes `value` at `out` (room for leb128_size(value) bytes) and returns the first byte after it. */
static inline uint8_t *leb128_put(uint8_t *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	return out;
}

/*
 * Reads a number from [in, end) into *value and returns the first byte after it. NULL when the bytes end early or
 * the number does not fit 64 bits; *value is then unchanged. Most numbers are of one byte.
 */
static inline const uint8_t *leb128_get(const uint8_t *in, const uint8_t *end, uint64_t *value)
{
	uint64_t result;
	unsigned int shift;

	if (in >= end)
		return NULL;
	result = *in++;
	if (result < 0x80) {
		*value = result;
		return in;
	}
	result &= 0x7f;
	for (shift = 7; shift < 64 && in < end; shift += 7) {
		uint8_t byte = *in++;

		if (shift == 63 && byte > 1)
			return NULL;
		result |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = result;
			return in;
		}
	}
	return NULL;
}

/* Reads a number of which one byte comes at a time; zero-initialised, and for each number anew. */
struct leb128_reader {
	uint64_t value; /* once it is complete */
	unsigned int shift;
	bool is_complete;
};

/* False: there was no byte missing, or the number does not fit 64 bits; nothing is changed. */
static inline bool leb128_feed(struct leb128_reader *reader, uint8_t byte)
{
	if (reader->is_complete || (reader->shift == 63 && byte > 1))
		return false;
	reader->value |= (uint64_t)(byte & 0x7f) << reader->shift;
	reader->shift += 7;
	reader->is_complete = !(byte & 0x80);
	return true;
}

static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
