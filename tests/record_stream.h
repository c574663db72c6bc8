/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_stream.h - a stream of records, and the replay of it, with nothing of the machine it runs on.
 *
 *   stream: struct gb_record, struct gb_record, ... each as long as its `size` says (geckobpf --dump-records)
 *
 * /proc is not asked, and no file is kept open. Some of the functions are enough for some programs, so all are inline.
 */
#ifndef GECKOBPF_TESTS_RECORD_STREAM_H
#define GECKOBPF_TESTS_RECORD_STREAM_H

#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "recording/records.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <string.h>

/* ---- what comes of it --------------------------------------------------------------- */

struct replay {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
};

static inline void replay_close(struct replay *replay)
{
	size_t i;

	records_close(replay->records);
	for (i = 0; replay->processes && i < processes_count(replay->processes); i++)
		profile_buffer_close(processes_at(replay->processes, i)->buffer);
	processes_close(replay->processes);
	objects_close(replay->objects);
	profile_memory_close(replay->memory);
	memset(replay, 0, sizeof(*replay));
}

/* To be closed whatever comes of it. 0 or -ENOMEM. */
static inline int replay_open(struct replay *replay, uint64_t max_bytes, uint64_t period_ns)
{
	struct records_config config = {.period_ns = period_ns, .all = true};
	int err;

	memset(replay, 0, sizeof(*replay));
	err = processes_open(&replay->processes);
	if (!err)
		err = objects_open(&replay->objects, 0);
	if (!err)
		err = profile_memory_open(&replay->memory,
					  &(struct profile_memory_config){.max_bytes = max_bytes});
	if (err)
		return err;
	config.processes = replay->processes;
	config.objects = replay->objects;
	config.memory = replay->memory;
	return records_open(&replay->records, &config);
}

/* No more samples of the processes from number `from` on. */
static inline void replay_finish(const struct replay *replay, size_t from)
{
	size_t i;

	for (i = from; i < processes_count(replay->processes); i++) {
		struct process *process = processes_at(replay->processes, i);

		if (process->buffer)
			profile_buffer_finish(process->buffer);
	}
}

/* ---- the stream -------------------------------------------------------------------- */

/* What is left of a stream; records in it are not aligned, but in memory they are. */
struct record_stream {
	const char *bytes;
	size_t left;
	_Alignas(struct gb_sample) char record[1 << 20];
};

static inline void record_stream_begin(struct record_stream *stream, const char *bytes, size_t size)
{
	stream->bytes = bytes;
	stream->left = size;
}

/* The next record is in stream->record. Its size, 0 at the end, or -EBADMSG. */
static inline int record_stream_next(struct record_stream *stream)
{
	struct gb_record header;

	if (!stream->left)
		return 0;
	if (stream->left < sizeof(header))
		return -EBADMSG;
	memcpy(&header, stream->bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > stream->left ||
	    header.size > sizeof(stream->record))
		return -EBADMSG;
	memcpy(stream->record, stream->bytes, header.size);
	stream->bytes += header.size;
	stream->left -= header.size;
	return (int)header.size;
}

/* The same with samples alone: they name their threads, and what else there is does not come into the buffer. */
static inline int record_stream_next_sample(struct record_stream *stream)
{
	const struct gb_record *header = (const void *)stream->record;
	int size;

	do
		size = record_stream_next(stream);
	while (size > 0 &&
	       (header->kind != GB_RECORD_SAMPLE || (size_t)size < sizeof(struct gb_sample)));
	return size;
}

#endif
