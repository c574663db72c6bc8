/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compress.c - compress RECORDS: how small the chunks of a recording become, and how fast they do and are
 * back.
 *
 *   RECORDS: struct gb_record, struct gb_record, ... each as long as its `size` says (geckobpf --dump-records)
 *
 * Prints "name number" lines on stderr. The last chunk of a process counts as far as it was filled.
 */
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "capture/records.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (1ULL << 30)
#define REPEATS 11

/* What a stream of records becomes. */
struct replay {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
};

static int open_replay(struct replay *replay)
{
	int err = processes_open(&replay->processes);

	if (!err)
		err = objects_open(&replay->objects, 0);
	if (!err)
		err = profile_memory_open(&replay->memory, &(struct profile_memory_config){
								   .max_bytes = BUFFER_BYTES});
	if (!err)
		err = records_open(&replay->records,
				   &(struct records_config){
					   .processes = replay->processes,
					   .objects = replay->objects,
					   .memory = profile_memory_controller(replay->memory),
					   .cache = profile_memory_cache(replay->memory),
					   .period_ns = NS_PER_MS,
					   .all = true});
	return err;
}

static void close_replay(struct replay *replay)
{
	size_t i;

	records_close(replay->records);
	for (i = 0; replay->processes && i < processes_count(replay->processes); i++)
		profile_buffer_close(processes_at(replay->processes, i)->buffer);
	processes_close(replay->processes);
	objects_close(replay->objects);
	profile_memory_close(replay->memory);
}

/* Records are not aligned in the stream, but in memory they are. */
static int apply_stream(struct replay *replay, const char *stream, size_t left)
{
	struct gb_record header, *record;

	while (left >= sizeof(header)) {
		memcpy(&header, stream, sizeof(header));
		if (header.size < sizeof(header) || header.size > left)
			return -EBADMSG;
		record = malloc(header.size);
		if (!record)
			return -ENOMEM;
		memcpy(record, stream, header.size);
		records_apply(replay->records, record, header.size);
		free(record);
		stream += header.size;
		left -= header.size;
	}
	return left ? -EBADMSG : 0;
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

static void finish_chunks(struct replay *replay)
{
	size_t i;

	for (i = 0; i < processes_count(replay->processes); i++) {
		const struct process *process = processes_at(replay->processes, i);

		if (process->buffer)
			profile_buffer_finish(process->buffer);
	}
}

struct sums {
	uint64_t samples, bytes, stored_bytes, compress_ns, expand_ns;
	uint64_t chunks, kept; /* of these, as they were */
};

/* CPU time: all of this is one thread that never waits, and the machine may have other things to do. */
static uint64_t cpu_now_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

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

static void print(const char *name, double value)
{
	fprintf(stderr, "%s %.3f\n", name, value);
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

static int compress_chunks(struct memory_controller *memory)
{
	uint8_t *out = malloc(CHUNK_MAX_BYTES);
	struct chunk_codec *codec = NULL;
	const struct chunk *chunk;
	struct sums sums = {0};
	int err = out ? chunk_codec_open(&codec, CHUNK_MAX_BYTES, CODEC_WRITE) : -ENOMEM;
	void *token;

	while (!err && (chunk = memory_controller_borrow(memory, &token)) != NULL) {
		err = compress_often(codec, chunk, out, &sums);
		memory_controller_return(memory, token, NULL);
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
	err = open_replay(&replay);
	if (!err)
		err = apply_file(&replay, argv[1]);
	if (!err) {
		finish_chunks(&replay);
		err = compress_chunks(profile_memory_controller(replay.memory));
	}
	close_replay(&replay);
	if (err)
		log_error("%s: %s", argv[1], strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
