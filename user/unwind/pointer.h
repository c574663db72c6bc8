/* SPDX-License-Identifier: BSD-2-Clause */
/* pointer.h - pointers as .eh_frame and .eh_frame_hdr encode them (DW_EH_PE_*). */
#ifndef GECKOBPF_UNWIND_POINTER_H
#define GECKOBPF_UNWIND_POINTER_H

#include "unwind/cursor.h"

/* Where bytes that hold pointers are loaded: what a pointer relative to itself is relative to. */
struct pointer_base {
	const uint8_t *bytes;
	uint64_t address; /* of bytes[0] */
};

/*
 * An encoded pointer. False, with nothing read: it ends early, or the encoding is none that leads to code without
 * looking into memory (indirect, relative to a GOT).
 */
bool pointer_read(struct cursor *cursor, uint8_t encoding, const struct pointer_base *base,
		  uint64_t *value);

/* A number in the format of an encoding, relative to nothing: the length of a range. */
bool pointer_read_length(struct cursor *cursor, uint8_t encoding, uint64_t *value);

/* Past a pointer whose value does not matter, whatever it is relative to. */
bool pointer_skip(struct cursor *cursor, uint8_t encoding, const struct pointer_base *base);

#endif
