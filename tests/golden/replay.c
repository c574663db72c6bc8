/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - replay addresses|names FORMAT RECORDS OUTPUT [KALLSYMS]: from a stream of records to a profile, or a raw capture, with
 * nothing of the machine it runs on.
 *
 * The facts are made up; times are those of the stream (record_stream.h). "names" looks kernel
 * addresses up in KALLSYMS. The paths in the stream must not exist (README.md).
 */
#include "../record_stream.h"
#include "archive/archive.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "recording/losses.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (16 << 20)
#define INTERVAL_NS 10000000 /* 100 Hz, as the stream was recorded */
#define START_REAL_NS 1767225600000000000 /* 2026-01-01 */

/* What is made of the stream. */
struct golden {
	struct replay replay;
	struct named_files *named_files;
	struct kernel_symbols *kernel;
	uint64_t first_ns, last_ns;
	const struct format *format;
	bool is_raw;
	const char *kallsyms; /* NULL: none */
};

static void close_golden(struct golden *golden)
{
	kernel_symbols_close(golden->kernel);
	named_files_close(golden->named_files);
	replay_close(&golden->replay);
}

static int open_golden(struct golden *golden, bool names, const char *kallsyms)
{
	int err = replay_open(&golden->replay, BUFFER_BYTES, INTERVAL_NS);

	if (!err && names)
		err = named_files_open(&golden->named_files, NULL);
	if (!err && names && kallsyms)
		err = kernel_symbols_open(&golden->kernel, kallsyms);
	return err;
}

static int apply_stream(struct golden *golden, const char *bytes, size_t left)
{
	static struct record_stream stream;
	const struct gb_record *header = (const void *)stream.record;
	int size;

	record_stream_begin(&stream, bytes, left);
	while ((size = record_stream_next(&stream)) > 0) {
		records_apply(golden->replay.records, header, (size_t)size);
		if (!golden->first_ns || header->time_ns < golden->first_ns)
			golden->first_ns = header->time_ns;
		if (header->time_ns > golden->last_ns)
			golden->last_ns = header->time_ns;
	}
	return size;
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
		err = archive_write(writer, &input->recording, kallsyms, NULL);
	section_writer_close(writer);
	return err;
}

static int write_profile(const struct golden *golden, struct output *output)
{
	static const char *const threads[] = {"*", NULL}, *const features[] = {"stackwalk", "cpu",
									       NULL};
	const struct records_counts *counts = records_counts(golden->replay.records);
	const struct recording_fact log[] = {
		{.name = "samples_recorded", .value = counts->samples},
		{.name = "records_bad", .value = counts->bad_records},
		{.name = "live_processes", .value = counts->live_processes},
	};
	const struct loss losses[] = {
		{golden->first_ns, golden->first_ns + 100000000, 3, LOSS_TICKS},
		{golden->first_ns + 400000000, golden->first_ns + 500000000, 7, LOSS_RING},
	};
	const struct recording_facts facts = {
		.product = "golden",
		.version = "0",
		.oscpu = "Linux",
		.physical_cpus = 1,
		.logical_cpus = 2,
		.start_real_ns = START_REAL_NS,
		.start_ns = golden->first_ns,
		.end_ns = golden->last_ns,
		.interval_ns = INTERVAL_NS,
		.buffer_bytes = BUFFER_BYTES,
		.threads = threads,
		.features = features,
		.losses = losses,
		.loss_count = sizeof(losses) / sizeof(losses[0]),
		.log = log,
		.log_count = sizeof(log) / sizeof(log[0]),
	};
	const struct profile_input input = {.recording.facts = &facts,
					    .recording.processes = golden->replay.processes,
					    .recording.objects = golden->replay.objects,
					    .named_files = golden->named_files,
					    .kernel = golden->kernel};
	struct profile_summary summary = {0};
	int err;

	err = golden->is_raw ? write_raw(&input, golden->kallsyms, output)
			     : format_write(golden->format, &input, output, &summary);
	if (!err)
		err = output_commit(output);
	profile_summary_clear(&summary);
	return err;
}

static int run(struct golden *golden, const char *stream_path, const char *output_path)
{
	const struct output_options options = {.replaces = false};
	struct output *output;
	size_t length;
	char *stream;
	int err;

	err = fd_read_file(stream_path, &stream, &length);
	if (err)
		return err;
	err = apply_stream(golden, stream, length);
	free(stream);
	if (!err)
		err = output_open(&output, output_path, &options);
	if (err)
		return err;
	err = write_profile(golden, output);
	output_close(output);
	return err;
}

int main(int argc, char **argv)
{
	struct golden golden = {0};
	int err;

	golden.format = argc < 5 ? NULL : format_named(argv[2]);
	if (!golden.format || (strcmp(argv[1], "addresses") && strcmp(argv[1], "names"))) {
		log_error("usage: replay addresses|names FORMAT RECORDS OUTPUT.json|OUTPUT.gbpf "
			  "[KALLSYMS]");
		return 2;
	}
	golden.is_raw = !strcmp(output_suffix(argv[4]), ".gbpf");
	golden.kallsyms = argc > 5 ? argv[5] : NULL;
	err = open_golden(&golden, !strcmp(argv[1], "names"), golden.kallsyms);
	if (!err)
		err = run(&golden, argv[3], argv[4]);
	close_golden(&golden);
	if (err)
		log_error("%s: %s", argv[3], strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
