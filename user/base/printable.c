/* SPDX-License-Identifier: BSD-2-Clause */
/* printable.c - see printable.h. */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a sequence that begins so; 0: none does. */
static size_t sequence_bytes(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Of a whole sequence; UINT32_MAX: it is not UTF-8. */
static uint32_t decode(const unsigned char *text, size_t bytes)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t value = bytes == 1 ? text[0] : text[0] & (0x7fU >> bytes);
	size_t i;

	for (i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[bytes] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return UINT32_MAX;
	return value;
}

/* The ends of lines and paragraphs, and what turns the direction of writing around. */
static bool is_format(uint32_t value)
{
	return value == 0x61c || value == 0x200e || value == 0x200f ||
	       (value >= 0x2028 && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

size_t printable_character(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t count = sequence_bytes(*bytes);
	uint32_t value;

	if (!count || count > length)
		return 0;
	value = decode(bytes, count);
	if (value == UINT32_MAX || value < ' ' || (value >= 0x7f && value < 0xa0) ||
	    is_format(value))
		return 0;
	return count;
}

void printable_clean(char *text, size_t length)
{
	size_t at = 0, count;

	while (at < length) {
		count = printable_character(text + at, length - at);
		if (!count) {
			text[at] = '?';
			count = 1;
		}
		at += count;
	}
}
