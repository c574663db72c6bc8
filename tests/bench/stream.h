/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a recorded stream of records goes into profile buffers and comes back: `micro buffer DUMP`.
 */
#ifndef GECKOBPF_TESTS_STREAM_H
#define GECKOBPF_TESTS_STREAM_H

#include "base/fd.h"
#include "buffer/profile_memory.h"
#include "buffer/profile_buffer.h"
#include "capture/records.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define STREAM_ROUNDS 5

/* Where the records go; times and sizes of all rounds. */
struct stream {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
	uint64_t put_ns[STREAM_ROUNDS], read_ns[STREAM_ROUNDS];
	uint64_t samples, entries, record_bytes, entry_bytes;
};

static void close_stream(struct stream *stream)
{
	size_t i;

	records_close(stream->records);
	for (i = 0; stream->processes && i < processes_count(stream->processes); i++)
		profile_buffer_close(processes_at(stream->processes, i)->buffer);
	processes_close(stream->processes);
	objects_close(stream->objects);
	profile_memory_close(stream->memory);
	stream->records = NULL;
	stream->processes = NULL;
	stream->objects = NULL;
	stream->memory = NULL;
}

static int open_stream(struct stream *stream, uint64_t max_bytes)
{
	int err = processes_open(&stream->processes);

	if (!err)
		err = objects_open(&stream->objects, 0);
	if (!err)
		err = profile_memory_open(&stream->memory,
					  &(struct profile_memory_config){.max_bytes = max_bytes});
	if (!err)
		err = records_open(&stream->records,
				   &(struct records_config){
					   .processes = stream->processes,
					   .objects = stream->objects,
					   .memory = profile_memory_controller(stream->memory),
					   .cache = profile_memory_cache(stream->memory),
					   .period_ns = NS_PER_MS,
					   .all = true});
	return err;
}

/* What is left of a stream; records in it are not aligned, but in memory they are. */
struct stream_cursor {
	const char *bytes;
	size_t left;
	_Alignas(struct gb_sample) char record[1 << 20];
};

/*
 * The next sample: samples alone, since they name their threads, and what else there is does not come into the buffer.
 * Its size, 0 at the end, or -EBADMSG.
 */
static int next_sample(struct stream_cursor *cursor)
{
	struct gb_record header;

	while (cursor->left) {
		if (cursor->left < sizeof(header))
			return -EBADMSG;
		memcpy(&header, cursor->bytes, sizeof(header));
		if (header.size < sizeof(header) || header.size > cursor->left ||
		    header.size > sizeof(cursor->record))
			return -EBADMSG;
		memcpy(cursor->record, cursor->bytes, header.size);
		cursor->bytes += header.size;
		cursor->left -= header.size;
		if (header.kind == GB_RECORD_SAMPLE && header.size >= sizeof(struct gb_sample))
			return (int)header.size;
	}
	return 0;
}

static int apply_samples(struct stream *stream, const char *bytes, size_t left)
{
	static struct stream_cursor cursor;
	int size;

	cursor.bytes = bytes;
	cursor.left = left;
	stream->record_bytes = 0;
	while ((size = next_sample(&cursor)) > 0) {
		records_apply(stream->records, cursor.record, (size_t)size);
		stream->record_bytes += (uint64_t)size;
	}
	return size;
}

static int ignore_restart(void *context)
{
	return 0;
}

static int ignore_node(void *context, uint32_t node, uint32_t prefix, uint64_t pc, bool is_kernel)
{
	return 0;
}

static int count_sample(void *context, const struct sample_view *sample)
{
	++*(uint64_t *)context;
	return 0;
}

static uint64_t stored_bytes(const struct stream *stream)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < processes_count(stream->processes); i++) {
		const struct profile_buffer *buffer = processes_at(stream->processes, i)->buffer;
		struct profile_buffer_state state = {0};

		if (buffer)
			state = profile_buffer_get_state(buffer);
		bytes += state.range_end - state.range_start;
	}
	return bytes;
}

static int read_back(struct stream *stream)
{
	static const struct profile_visitor visitor = {ignore_restart, ignore_node, count_sample};
	size_t i;
	int err = 0;

	stream->entries = 0;
	for (i = 0; i < processes_count(stream->processes) && !err; i++) {
		const struct profile_buffer *buffer = processes_at(stream->processes, i)->buffer;

		if (buffer)
			err = profile_buffer_read(buffer, &visitor, &stream->entries);
	}
	return err;
}

/* The second time, memory is there: what is measured is not the kernel making pages. */
static int run_round(struct stream *stream, size_t round, const char *bytes, size_t size)
{
	uint64_t begin_ns;
	int err = open_stream(stream, BUFFER_BYTES), n;

	stream->samples = 0;
	for (n = 0; n < 2 && !err; n++) {
		begin_ns = cpu_now_ns();
		err = apply_samples(stream, bytes, size);
		stream->put_ns[round] = cpu_now_ns() - begin_ns;
		stream->samples = records_counts(stream->records)->samples - stream->samples;
		stream->entry_bytes = n ? stream->entry_bytes : stored_bytes(stream);
	}
	for (n = 0; n < 2 && !err; n++) {
		begin_ns = cpu_now_ns();
		err = read_back(stream);
		stream->read_ns[round] = cpu_now_ns() - begin_ns;
	}
	close_stream(stream);
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
