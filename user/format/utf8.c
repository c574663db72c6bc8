/* SPDX-License-Identifier: BSD-2-Clause */
/* utf8.c - see utf8.h. */
#include "format/utf8.h"

/*
 * How a sequence that starts with `lead` goes on: bytes in all, and the range of its second byte,
 * which is where overlong forms (E0, F0), surrogates (ED) and what is above U+10FFFF (F4) are
 * refused. Returns 0: no sequence starts so.
 */
static size_t sequence_bytes(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t utf8_sequence(const char *text, size_t length, bool *is_whole)
{
	const unsigned char *in = (const unsigned char *)text;
	unsigned char low, high;
	size_t want = sequence_bytes(in[0], &low, &high);
	size_t have = 1;

	while (have < want && have < length && in[have] >= low && in[have] <= high) {
		have++;
		low = 0x80;
		high = 0xbf;
	}
	*is_whole = want && have == want;
	return have;
}
