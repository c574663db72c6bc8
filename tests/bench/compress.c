/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compress.c - compress RECORDS: how small the chunks of a recording become, and how fast they do and are
 * back.
 *
 * RECORDS is a stream of records (record_stream.h). Prints "name number" lines on stderr. The last chunk of a process
 * counts as far as it was filled.
 */
#include "../record_stream.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define REPEATS 11

static int apply_stream(struct replay *replay, const char *bytes, size_t left)
{
	static struct record_stream stream;
	int size;

	record_stream_begin(&stream, bytes, left);
	while ((size = record_stream_next(&stream)) > 0)
		records_apply(replay->records, stream.record, (size_t)size);
	return size;
}

static int apply_file(struct replay *replay, const char *path)
{
	char *stream;
	size_t length;
	int err = fd_read_file(path, &stream, &length);

	if (err)
		return err;
	err = apply_stream(replay, stream, length);
	free(stream);
	return err;
}

struct sums {
	uint64_t samples, bytes, stored_bytes, compress_ns, expand_ns;
	uint64_t chunks, kept; /* of these, as they were */
};

static int ascending(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* There and back. */
static int compress_once(struct chunk_codec *codec, const struct chunk *chunk, uint8_t *out,
			 uint64_t *compress_ns, uint64_t *expand_ns, uint32_t *stored_bytes)
{
	uint64_t begin_ns = cpu_now_ns();
	struct chunk *twin;
	int err = chunk_compress(codec, chunk, &twin);

	*compress_ns = cpu_now_ns() - begin_ns;
	if (err)
		return err;
	begin_ns = cpu_now_ns();
	err = chunk_expand(codec, twin, out);
	*expand_ns = cpu_now_ns() - begin_ns;
	if (!err && memcmp(out, chunk->bytes, chunk->header.offset_past_last_block))
		err = -EBADMSG;
	*stored_bytes = twin->header.stored_bytes;
	chunk_destroy(twin);
	return err;
}

/* Median times; a chunk that is kept as it is takes no time to expand. */
static int compress_often(struct chunk_codec *codec, const struct chunk *chunk, uint8_t *out,
			  struct sums *sums)
{
	uint64_t compress_ns[REPEATS], expand_ns[REPEATS] = {0};
	uint32_t stored_bytes = chunk->header.stored_bytes;
	size_t i;
	int err;

	for (i = 0; i < REPEATS; i++) {
		err = compress_once(codec, chunk, out, &compress_ns[i], &expand_ns[i],
				    &stored_bytes);
		if (err && err != -ENOSPC)
			return err;
	}
	qsort(compress_ns, REPEATS, sizeof(compress_ns[0]), ascending);
	qsort(expand_ns, REPEATS, sizeof(expand_ns[0]), ascending);
	sums->chunks++;
	sums->kept += err == -ENOSPC;
	sums->samples += chunk->header.block_count;
	sums->bytes += chunk->header.offset_past_last_block;
	sums->stored_bytes += stored_bytes;
	sums->compress_ns += compress_ns[REPEATS / 2];
	sums->expand_ns += expand_ns[REPEATS / 2];
	return 0;
}

static void print_sums(const struct sums *sums)
{
	print("chunks", (double)sums->chunks);
	print("chunks_kept", (double)sums->kept);
	print("sample_bytes", (double)sums->bytes / (double)sums->samples);
	print("compressed_sample_bytes", (double)sums->stored_bytes / (double)sums->samples);
	print("compress_mb_s", (double)sums->bytes * 1e3 / (double)sums->compress_ns);
	if (sums->expand_ns)
		print("expand_mb_s", (double)sums->bytes * 1e3 / (double)sums->expand_ns);
}

static int compress_chunks(struct chunk_store *store)
{
	uint8_t *out = malloc(CHUNK_MAX_BYTES);
	struct chunk_codec *codec = NULL;
	struct chunk *chunk;
	struct sums sums = {0};
	int err = out ? chunk_codec_open(&codec, CHUNK_MAX_BYTES, CODEC_WRITE) : -ENOMEM;

	while (!err && (chunk = chunk_store_borrow(store, false)) != NULL) {
		err = compress_often(codec, chunk, out, &sums);
		chunk_store_return(store, chunk, NULL);
	}
	if (!err && sums.samples)
		print_sums(&sums);
	else if (!err)
		err = -ENODATA;
	chunk_codec_close(codec);
	free(out);
	return err;
}

int main(int argc, char **argv)
{
	struct replay replay = {0};
	int err;

	if (argc < 2) {
		log_error("usage: compress RECORDS");
		return 2;
	}
	err = replay_open(&replay, BUFFER_BYTES, NS_PER_MS);
	if (!err)
		err = apply_file(&replay, argv[1]);
	if (!err) {
		replay_finish(&replay, 0);
		err = compress_chunks(profile_memory_store(replay.memory));
	}
	replay_close(&replay);
	if (err)
		log_error("%s: %s", argv[1], strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
