/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.h - numbers and strings as bytes, and back.
 *
 *   number   ULEB128
 *   string   length + 1, or 0 for "none" | bytes
 *
 * Both ends remember their first error, so that a row of calls needs one check. What is read is not
 * trusted: numbers have a limit, lengths are checked against what is left.
 */
#ifndef GECKOBPF_BASE_PACK_H
#define GECKOBPF_BASE_PACK_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct packer {
	uint8_t *items;
	size_t count, capacity;
	int error; /* 0 or -ENOMEM */
};

void packer_clear(struct packer *packer); /* frees it */
void pack_number(struct packer *packer, uint64_t value);
void pack_bytes(struct packer *packer, const void *bytes, size_t size);
/* `text` may be NULL. */
void pack_string(struct packer *packer, const char *text);

struct unpacker {
	const uint8_t *at, *end;
	int error; /* 0, -EBADMSG, -ENOMEM */
};

/* A number of at most `max`; 0 after an error. */
uint64_t unpack_number(struct unpacker *unpacker, uint64_t max);
/* A copy of the string, the caller's to free; NULL: none, or an error. Ends at the first NUL in it. */
char *unpack_string(struct unpacker *unpacker);
/* As unpack_string(), into `out`, cut if it is too long; "" for none. */
void unpack_text(struct unpacker *unpacker, char *out, size_t out_bytes);
/* `size` bytes in place; NULL after an error. */
const uint8_t *unpack_bytes(struct unpacker *unpacker, size_t size);

#endif
