/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_codec.c - compressed chunks: any bytes come back, and no bytes do harm.
 *
 *   input: what, 1 byte | offset_first_block, 2 bytes | offset_past_last_block, 2 bytes | the rest
 *
 * `what` even: the rest is a chunk's bytes, compressed and expanded again; odd: it is what a
 * compressed chunk stores.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"

#define MAX_BYTES 65535
#define FRONT 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct chunk *make_chunk(const uint8_t *data, size_t size)
{
	struct chunk *chunk = chunk_create((uint32_t)(size - FRONT));

	if (!chunk)
		return NULL;
	chunk->header.state = CHUNK_DONE;
	chunk->header.offset_first_block = data[1] | (uint32_t)data[2] << 8;
	chunk->header.offset_past_last_block = data[3] | (uint32_t)data[4] << 8;
	memcpy(chunk->bytes, data + FRONT, size - FRONT);
	return chunk;
}

/* 0 or the error, with which *out may be written in parts. */
static int expand(struct chunk_codec *codec, const struct chunk *twin, uint8_t **out)
{
	/* Exactly as long as it is, so that a write beyond its end is found. */
	*out = malloc(twin->header.offset_past_last_block + 1);
	return *out ? chunk_expand(codec, twin, *out) : -ENOMEM;
}

static void go_and_return(struct chunk_codec *codec, struct chunk *chunk)
{
	struct chunk_header *header = &chunk->header;
	struct chunk *twin;
	uint8_t *out;
	int err;

	if (header->offset_past_last_block > header->buffer_bytes)
		header->offset_past_last_block = header->buffer_bytes;
	if (header->offset_first_block > header->offset_past_last_block)
		header->offset_first_block = header->offset_past_last_block;
	header->stored_bytes = 2 * MAX_BYTES; /* so that it is always worth it */
	err = chunk_compress(codec, chunk, &twin);
	if (err == -ENOMEM)
		return;
	if (err)
		abort();
	err = expand(codec, twin, &out);
	if (err != -ENOMEM && (err || memcmp(out, chunk->bytes, header->offset_past_last_block)))
		abort();
	free(out);
	chunk_destroy(twin);
}

static void only_return(struct chunk_codec *codec, struct chunk *chunk)
{
	uint8_t *out;
	int err;

	chunk->header.flags = CHUNK_COMPRESSED;
	chunk->header.buffer_bytes = MAX_BYTES;
	err = expand(codec, chunk, &out);
	if (err && err != -EBADMSG && err != -ENOMEM)
		abort();
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct chunk_codec *codec;
	struct chunk *chunk;

	if (size <= FRONT || size > MAX_BYTES)
		return 0;
	if (!codec && chunk_codec_open(&codec, MAX_BYTES, CODEC_WRITE))
		return 0;
	chunk = make_chunk(data, size);
	if (!chunk)
		return 0;
	if (data[0] % 2)
		only_return(codec, chunk);
	else
		go_and_return(codec, chunk);
	chunk_destroy(chunk);
	return 0;
}
