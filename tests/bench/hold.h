/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold.h - how many samples a limit holds: `micro hold same|new MIB DUMP`.
 *
 * A stream of records is put again and again, each time later, until the limit has been reached, and then as many samples
 * once more, so that nothing is left of how it began. What is finished is compressed at once, which the recorder's idle
 * thread achieves at usual rates. "same": processes that go on, as a server does; "new": each time others, which end, as
 * compilers do.
 */
#ifndef GECKOBPF_BENCH_HOLD_H
#define GECKOBPF_BENCH_HOLD_H

#include "buffer/chunk_codec.h"
#include "stream.h"

#define HOLD_CHUNK_BYTES (256 * 1024)
#define HOLD_ROUND_SAMPLES 100 /* what the recorder finds in the ring when it looks */
#define HOLD_MAX_SAMPLES 100000000

struct hold {
	struct replay replay;
	struct chunk_codec *codec;
	const char *bytes;
	size_t size;
	uint64_t span_ns, shift_ns;
	uint64_t put, put_until_full; /* samples; 0: it is not full yet */
	bool anew;
};

/* How long the stream is, from its first sample to its last, and one period. */
static int measure_span(struct hold *hold)
{
	static struct record_stream records;
	const struct gb_sample *sample = (const void *)records.record;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	int size;

	record_stream_begin(&records, hold->bytes, hold->size);
	while ((size = record_stream_next_sample(&records)) > 0) {
		uint64_t time_ns = sample->hdr.time_ns;

		first_ns = time_ns < first_ns ? time_ns : first_ns;
		last_ns = time_ns > last_ns ? time_ns : last_ns;
	}
	if (!size && !last_ns)
		return -ENODATA;
	hold->span_ns = last_ns - first_ns + NS_PER_MS;
	return size;
}

static int compress_finished(struct hold *hold)
{
	struct chunk_store *store = profile_memory_store(hold->replay.memory);
	struct chunk *chunk, *twin;
	int err;

	while ((chunk = chunk_store_borrow(store, false)) != NULL) {
		err = chunk_compress(hold->codec, chunk, &twin);
		chunk_store_return(store, chunk, err ? NULL : twin);
		if (err && err != -ENOSPC)
			return err;
	}
	return 0;
}

/* As between two looks at the ring. */
static int end_round(struct hold *hold)
{
	struct profile_memory *memory = hold->replay.memory;

	profile_memory_fulfil(memory);
	if (!hold->put_until_full && profile_memory_complete_since_ns(memory))
		hold->put_until_full = hold->put;
	return compress_finished(hold);
}

static bool is_done(const struct hold *hold)
{
	return hold->put > HOLD_MAX_SAMPLES ||
	       (hold->put_until_full && hold->put >= 2 * hold->put_until_full);
}

/* The same again, but later. CPU time goes on as well, as if the threads had run meanwhile. */
static void shift_sample(const struct hold *hold, struct gb_sample *sample)
{
	sample->hdr.time_ns += hold->shift_ns;
	if (hold->anew) {
		sample->task.start_ns += hold->shift_ns;
		sample->task.group_start_ns += hold->shift_ns;
	} else {
		sample->cpu_ns += hold->shift_ns;
	}
}

static int put_stream(struct hold *hold)
{
	static struct record_stream records;
	const size_t known = processes_count(hold->replay.processes);
	int size, err = 0;

	record_stream_begin(&records, hold->bytes, hold->size);
	while (!err && !is_done(hold) && (size = record_stream_next_sample(&records)) > 0) {
		shift_sample(hold, (void *)records.record);
		records_apply(hold->replay.records, records.record, (size_t)size);
		if (++hold->put % HOLD_ROUND_SAMPLES == 0)
			err = end_round(hold);
	}
	/* No chunk has the same samples twice, or zstd would see that. */
	replay_finish(&hold->replay, hold->anew ? known : 0);
	hold->shift_ns += hold->span_ns;
	return err ? err : end_round(hold);
}

static int print_hold(struct hold *hold, uint64_t max_bytes)
{
	const struct chunk_store_stats stats = profile_memory_get_stats(hold->replay.memory).chunks;
	uint64_t entries;
	int err = read_back(&hold->replay, &entries);

	if (err)
		return err;
	if (!hold->put_until_full || stats.unreleased_bytes + stats.released_bytes > max_bytes)
		return -EOVERFLOW;
	print("held_samples", (double)entries);
	print("held_sample_bytes", (double)max_bytes / (double)entries);
	print("chunks", (double)(stats.made + stats.recycled - stats.destroyed));
	return 0;
}

static inline int run_hold(const char *kind, uint64_t mib, const char *path)
{
	struct hold hold = {.anew = !strcmp(kind, "new")};
	char *bytes;
	int err = fd_read_file(path, &bytes, &hold.size);

	if (err)
		return err;
	hold.bytes = bytes;
	err = measure_span(&hold);
	if (!err)
		err = replay_open(&hold.replay, mib << 20, NS_PER_MS);
	if (!err)
		err = chunk_codec_open(&hold.codec, HOLD_CHUNK_BYTES, CODEC_WRITE);
	while (!err && !is_done(&hold))
		err = put_stream(&hold);
	if (!err)
		err = print_hold(&hold, mib << 20);
	chunk_codec_close(hold.codec);
	replay_close(&hold.replay);
	free(bytes);
	return err;
}

#endif
