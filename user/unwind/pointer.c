/* SPDX-License-Identifier: BSD-2-Clause */
/* pointer.c - see pointer.h. */
#include "unwind/pointer.h"
#include "unwind/dwarf_cfi.h"
#include "unwind/arch.h"

static bool read_format(struct cursor *cursor, uint8_t encoding, uint64_t *value)
{
	int64_t number;

	switch (encoding & PTR_FORMAT_MASK) {
	case PTR_ABSPTR:
	case PTR_SIGNED:
		return cursor_fixed(cursor, MACHINE_ADDRESS_BYTES, false, value);
	case PTR_UDATA2:
	case PTR_SDATA2:
		return cursor_fixed(cursor, 2, encoding & PTR_SIGNED, value);
	case PTR_UDATA4:
	case PTR_SDATA4:
		return cursor_fixed(cursor, 4, encoding & PTR_SIGNED, value);
	case PTR_UDATA8:
	case PTR_SDATA8:
		return cursor_fixed(cursor, 8, false, value);
	case PTR_ULEB128:
		return cursor_uleb(cursor, value);
	case PTR_SLEB128:
		if (!cursor_sleb(cursor, &number))
			return false;
		*value = (uint64_t)number;
		return true;
	}
	return false;
}

static uint64_t address_of(const struct cursor *cursor, const struct pointer_base *base)
{
	return base->address + (uint64_t)(cursor->at - base->bytes);
}

static bool align(struct cursor *cursor, const struct pointer_base *base)
{
	return cursor_skip(cursor, -address_of(cursor, base) % MACHINE_ADDRESS_BYTES);
}

bool pointer_read(struct cursor *cursor, uint8_t encoding, const struct pointer_base *base,
		  uint64_t *value)
{
	struct cursor ahead = *cursor;
	uint64_t here = 0;

	if (encoding & PTR_INDIRECT)
		return false;
	switch (encoding & PTR_BASE_MASK) {
	case 0:
		break;
	case PTR_PCREL:
		here = address_of(&ahead, base);
		break;
	case PTR_ALIGNED:
		if (!align(&ahead, base))
			return false;
		break;
	default:
		return false;
	}
	if (!read_format(&ahead, encoding, value))
		return false;
	*value += here;
	*cursor = ahead;
	return true;
}

bool pointer_read_length(struct cursor *cursor, uint8_t encoding, uint64_t *value)
{
	/* A length is never negative: the format's sign is that of the start. */
	return read_format(cursor, encoding & ~PTR_SIGNED & PTR_FORMAT_MASK, value);
}

bool pointer_skip(struct cursor *cursor, uint8_t encoding, const struct pointer_base *base)
{
	struct cursor ahead = *cursor;
	uint64_t ignored;

	if (encoding == PTR_OMIT)
		return true;
	if ((encoding & PTR_BASE_MASK) == PTR_ALIGNED && !align(&ahead, base))
		return false;
	if (!read_format(&ahead, encoding, &ignored))
		return false;
	*cursor = ahead;
	return true;
}
