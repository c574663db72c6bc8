/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a recorded stream of records goes into profile buffers and comes back: `micro buffer DUMP`.
 */
#ifndef GECKOBPF_TESTS_STREAM_H
#define GECKOBPF_TESTS_STREAM_H

#include "../record_stream.h"
#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>

#include "measure.h"

#define STREAM_ROUNDS 5

/* Times and sizes of all rounds. */
struct stream {
	struct replay replay;
	uint64_t put_ns[STREAM_ROUNDS], read_ns[STREAM_ROUNDS];
	uint64_t samples, entries, record_bytes, entry_bytes;
};

static int apply_samples(struct stream *stream, const char *bytes, size_t left)
{
	static struct record_stream records;
	int size;

	record_stream_begin(&records, bytes, left);
	stream->record_bytes = 0;
	while ((size = record_stream_next_sample(&records)) > 0) {
		records_apply(stream->replay.records, records.record, (size_t)size);
		stream->record_bytes += (uint64_t)size;
	}
	return size;
}

static int ignore_restart(void *context)
{
	return 0;
}

static int ignore_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static int count_sample(void *context, const struct sample_view *sample)
{
	++*(uint64_t *)context;
	return 0;
}

static uint64_t stored_bytes(const struct replay *replay)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < processes_count(replay->processes); i++) {
		const struct profile_buffer *buffer = processes_at(replay->processes, i)->buffer;
		struct profile_buffer_state state = {0};

		if (buffer)
			state = profile_buffer_get_state(buffer);
		bytes += state.range_end - state.range_start;
	}
	return bytes;
}

/* How many samples there are. */
static int read_back(const struct replay *replay, uint64_t *entries)
{
	static const struct profile_visitor visitor = {ignore_restart, ignore_node, count_sample,
						       NULL};
	size_t i;
	int err = 0;

	*entries = 0;
	for (i = 0; i < processes_count(replay->processes) && !err; i++) {
		struct profile_buffer *buffer = processes_at(replay->processes, i)->buffer;

		if (buffer)
			err = profile_buffer_read(buffer, &visitor, entries);
	}
	return err;
}

/* The second time, memory is there: what is measured is not the kernel making pages. */
static int run_round(struct stream *stream, size_t round, const char *bytes, size_t size)
{
	uint64_t begin_ns;
	int err = replay_open(&stream->replay, BUFFER_BYTES, NS_PER_MS), n;

	stream->samples = 0;
	for (n = 0; n < 2 && !err; n++) {
		begin_ns = cpu_now_ns();
		err = apply_samples(stream, bytes, size);
		stream->put_ns[round] = cpu_now_ns() - begin_ns;
		stream->samples = records_counts(stream->replay.records)->samples - stream->samples;
		stream->entry_bytes = n ? stream->entry_bytes : stored_bytes(&stream->replay);
	}
	for (n = 0; n < 2 && !err; n++) {
		begin_ns = cpu_now_ns();
		err = read_back(&stream->replay, &stream->entries);
		stream->read_ns[round] = cpu_now_ns() - begin_ns;
	}
	replay_close(&stream->replay);
	return err;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(uint64_t *values)
{
	qsort(values, STREAM_ROUNDS, sizeof(*values), compare_u64);
	return (double)values[STREAM_ROUNDS / 2];
}

static inline int run_buffer(const char *path)
{
	struct stream stream = {0};
	size_t size, round;
	char *bytes;
	int err = fd_read_file(path, &bytes, &size);

	if (err)
		return err;
	for (round = 0; round < STREAM_ROUNDS && !err; round++)
		err = run_round(&stream, round, bytes, size);
	free(bytes);
	if (err || !stream.samples)
		return err ? err : -ENODATA;
	print("put_ns", median(stream.put_ns) / (double)stream.samples);
	print("sample_bytes", (double)stream.entry_bytes / (double)stream.samples);
	print("record_bytes", (double)stream.record_bytes / (double)stream.samples);
	print("read_million_per_s", (double)stream.entries * 1e3 / median(stream.read_ns));
	return 0;
}

#endif
