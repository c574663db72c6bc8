/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_codec.h - a compressor that does not compress: all bits are turned, and half of the bytes
 * are said to be needed. After cmocka.h.
 */
#ifndef GECKOBPF_TESTS_FAKE_CODEC_H
#define GECKOBPF_TESTS_FAKE_CODEC_H

#include <errno.h>
#include <stdlib.h>

#include "buffer/chunk.h"
#include "buffer/chunk_store.h"
#include "buffer/chunk_walk.h"

#define FAKE_INTACT 0xc5 /* the first byte */

/* NULL: no memory. */
static inline struct chunk *fake_compress(const struct chunk *done)
{
	uint32_t used = done->header.offset_past_last_block, n;
	struct chunk *twin = chunk_create(used + 1);

	if (!twin)
		return NULL;
	twin->header = done->header;
	twin->header.flags |= CHUNK_COMPRESSED;
	twin->header.stored_bytes = used / 2;
	twin->bytes[0] = FAKE_INTACT;
	for (n = 0; n < used; n++)
		twin->bytes[1 + n] = (uint8_t)~done->bytes[n];
	return twin;
}

static inline int fake_expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	uint32_t n;

	if (compressed->bytes[0] != FAKE_INTACT)
		return -EBADMSG;
	for (n = 0; n < compressed->header.offset_past_last_block; n++)
		out[n] = (uint8_t)~compressed->bytes[1 + n];
	return 0;
}

static const struct chunk_expander fake_expander = {fake_expand, NULL};

#endif
