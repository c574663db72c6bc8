/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - replay addresses|names RECORDS OUTPUT [KALLSYMS]: from a stream of records to a profile, or a raw capture, with nothing of
 * the machine it runs on.
 *
 *   RECORDS: struct gb_record, struct gb_record, ... each as long as its `size` says (geckobpf --dump-records)
 *
 * /proc is not asked, no file is kept open, the facts are made up; times are those of the stream. "names" looks kernel
 * addresses up in KALLSYMS. The paths in the stream must not exist (README.md).
 */
#include "archive/archive.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/entry_cache.h"
#include "buffer/memory_controller.h"
#include "buffer/profile_buffer.h"
#include "capture/records.h"
#include "gecko/output.h"
#include "gecko/profile.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (16 << 20)
#define INTERVAL_NS 10000000 /* 100 Hz, as the stream was recorded */
#define START_REAL_NS 1767225600000000000 /* 2026-01-01 */

struct replay {
	struct processes *processes;
	struct objects *objects;
	struct memory_controller *memory;
	struct entry_cache *cache;
	struct records *records;
	struct symbolizer *symbolizer;
	struct kernel_symbols *kernel;
	uint64_t first_ns, last_ns;
	bool is_raw;
	const char *kallsyms; /* NULL: none */
};

static void close_replay(struct replay *replay)
{
	size_t i;

	kernel_symbols_close(replay->kernel);
	symbolizer_close(replay->symbolizer);
	records_close(replay->records);
	for (i = 0; replay->processes && i < processes_count(replay->processes); i++)
		profile_buffer_close(processes_at(replay->processes, i)->buffer);
	processes_close(replay->processes);
	objects_close(replay->objects);
	memory_controller_close(replay->memory);
	entry_cache_close(replay->cache);
}

static int open_replay(struct replay *replay, bool names, const char *kallsyms)
{
	int err = processes_open(&replay->processes);

	if (!err)
		err = objects_open(&replay->objects, 0);
	if (!err)
		err = memory_controller_open(&replay->memory, &(struct memory_controller_config){
								      .max_bytes = BUFFER_BYTES});
	if (!err)
		err = entry_cache_open(&replay->cache, ENTRY_CACHE_BYTES);
	if (!err)
		err = records_open(&replay->records,
				   &(struct records_config){.processes = replay->processes,
							    .objects = replay->objects,
							    .memory = replay->memory,
							    .cache = replay->cache,
							    .period_ns = INTERVAL_NS,
							    .all = true});
	if (!err && names)
		err = symbolizer_open(&replay->symbolizer, NULL);
	if (!err && names && kallsyms)
		err = kernel_symbols_open(&replay->kernel, kallsyms);
	return err;
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
		if (!replay->first_ns || header.time_ns < replay->first_ns)
			replay->first_ns = header.time_ns;
		if (header.time_ns > replay->last_ns)
			replay->last_ns = header.time_ns;
		stream += header.size;
		left -= header.size;
	}
	return left ? -EBADMSG : 0;
}

static int write_to_output(void *context, const void *bytes, size_t size)
{
	return output_write(context, bytes, size);
}

static int write_raw(const struct profile_input *input, const char *kallsyms, struct output *output)
{
	const struct section_sink sink = {write_to_output, output};
	struct section_writer *writer = NULL;
	int err = section_writer_open(&writer, &sink);

	if (!err)
		err = archive_write(writer, input, kallsyms, NULL);
	section_writer_close(writer);
	return err;
}

static int write_profile(const struct replay *replay, struct output *output)
{
	static const char *const threads[] = {"*", NULL}, *const features[] = {"stackwalk", "cpu",
									       NULL};
	const struct records_counts *counts = records_counts(replay->records);
	const struct profile_fact log[] = {
		{.name = "samples_recorded", .value = counts->samples},
		{.name = "records_bad", .value = counts->bad_records},
		{.name = "live_processes", .value = counts->live_processes},
	};
	const struct profile_facts facts = {
		.product = "golden",
		.version = "0",
		.oscpu = "Linux",
		.physical_cpus = 1,
		.logical_cpus = 2,
		.start_real_ns = START_REAL_NS,
		.start_ns = replay->first_ns,
		.end_ns = replay->last_ns,
		.interval_ns = INTERVAL_NS,
		.buffer_bytes = BUFFER_BYTES,
		.threads = threads,
		.features = features,
		.log = log,
		.log_count = sizeof(log) / sizeof(log[0]),
	};
	const struct profile_input input = {.facts = &facts,
					    .processes = replay->processes,
					    .objects = replay->objects,
					    .symbolizer = replay->symbolizer,
					    .kernel = replay->kernel};
	struct profile_summary summary = {0};
	int err;

	err = replay->is_raw ? write_raw(&input, replay->kallsyms, output)
			     : profile_write(&input, output, &summary);
	if (!err)
		err = output_commit(output);
	profile_summary_clear(&summary);
	return err;
}

static int run(struct replay *replay, const char *stream_path, const char *output_path)
{
	const struct output_options options = {.owner_uid = -1, .owner_gid = -1};
	struct output *output;
	size_t length;
	char *stream;
	int err;

	err = fd_read_file(stream_path, &stream, &length);
	if (err)
		return err;
	err = apply_stream(replay, stream, length);
	free(stream);
	if (!err)
		err = output_open(&output, output_path, &options);
	if (err)
		return err;
	err = write_profile(replay, output);
	output_close(output);
	return err;
}

int main(int argc, char **argv)
{
	struct replay replay = {0};
	int err;

	if (argc < 4 || (strcmp(argv[1], "addresses") && strcmp(argv[1], "names"))) {
		log_error(
			"usage: replay addresses|names RECORDS OUTPUT.json|OUTPUT.gbpf [KALLSYMS]");
		return 2;
	}
	replay.is_raw = !strcmp(output_suffix(argv[3]), ".gbpf");
	replay.kallsyms = argc > 4 ? argv[4] : NULL;
	err = open_replay(&replay, !strcmp(argv[1], "names"), replay.kallsyms);
	if (!err)
		err = run(&replay, argv[2], argv[3]);
	close_replay(&replay);
	if (err)
		log_error("%s: %s", argv[2], strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
