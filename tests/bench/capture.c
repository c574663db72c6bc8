/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.c - capture WHAT PROCESSES THREADS STACKS SAMPLES [FILE]: what it takes to write a profile of a large recording, which made.h
 * makes; STACKS 0: every sample has a new stack.
 *
 *   capture json ...           the profile, which goes nowhere: no compression, no file
 *   capture processed ...      the same in the front-end's own format; with a FILE, that is written
 *   capture file ... FILE      the profile as a file, by its suffix
 *   capture raw ... FILE       a raw capture (.gbpf); says some of its samples: "spot TID ROW TIME_NS"
 *   capture dom ...            the same document made once more with jansson, value by value, and dumped to nowhere
 *
 * Prints "name number" lines on stderr. Memory is the peak above what there was before: without the recording itself.
 */
#include "archive/archive.h"
#include "base/output.h"
#include "format/format.h"
#include "symbol/named_files.h"

#include <inttypes.h>
#include <jansson.h>

#include "made.h"

#define SPOTS 640

/* ---- where the profile goes -------------------------------------------------------------- */

/* What is written without an output is counted, and kept if there is room for it. */
static struct {
	uint64_t bytes;
	char *items;
	size_t capacity;
} kept;

int __real_output_write(struct output *output, const void *data, size_t size);
int __wrap_output_write(struct output *output, const void *data, size_t size);
bool __real_output_splices(const struct output *output);
bool __wrap_output_splices(const struct output *output);

bool __wrap_output_splices(const struct output *output)
{
	return output && __real_output_splices(output);
}

int __wrap_output_write(struct output *output, const void *data, size_t size)
{
	if (output)
		return __real_output_write(output, data, size);
	if (kept.capacity - kept.bytes >= size && kept.items)
		memcpy(kept.items + kept.bytes, data, size);
	kept.bytes += size;
	return 0;
}

/* ---- the profile --------------------------------------------------------------------------- */

/* `output` NULL: see above. */
static int write_profile(const struct made *made, const struct format *format,
			 struct output *output)
{
	const struct recording_facts facts = made_facts(&made->config);
	struct profile_input input = {.recording.facts = &facts,
				      .recording.processes = made->processes,
				      .recording.objects = made->objects};
	struct profile_summary summary = {0};
	int err = named_files_open(&input.named_files, NULL);

	if (!err)
		err = format_write(format, &input, output, &summary);
	if (!err && summary.samples != made->config.samples)
		err = -EBADMSG;
	profile_summary_clear(&summary);
	named_files_close(input.named_files);
	return err;
}

static int write_file(const struct made *made, const struct format *format, const char *path)
{
	struct output *output;
	int err = output_open(&output, path, NULL);

	if (err)
		return err;
	err = write_profile(made, format, output);
	if (!err)
		err = output_commit(output);
	print("in_bytes", (double)output_bytes_in(output));
	print("out_bytes", (double)output_bytes_out(output));
	output_close(output);
	return err;
}

static int run_profile(const struct made *made, const struct format *format, const char *path)
{
	uint64_t wall_ns, cpu_ns;
	double before_mb;
	int err;

	reset_peak();
	before_mb = memory_mb("VmRSS");
	wall_ns = clock_now_ns();
	cpu_ns = cpu_now_ns();
	err = path ? write_file(made, format, path) : write_profile(made, format, NULL);
	if (err)
		return err;
	wall_ns = clock_now_ns() - wall_ns;
	cpu_ns = cpu_now_ns() - cpu_ns;
	print("wall_s", (double)wall_ns / 1e9);
	print("cpu_s", (double)cpu_ns / 1e9);
	print("million_per_s", (double)made->config.samples * 1e3 / (double)cpu_ns);
	print("recording_mb", before_mb);
	print("extra_mb", memory_mb("VmHWM") - before_mb);
	if (!path)
		print("sample_bytes", (double)kept.bytes / (double)made->config.samples);
	return 0;
}

/* ---- a raw capture -------------------------------------------------------------------------- */

static int write_to_output(void *context, const void *bytes, size_t size)
{
	return output_write(context, bytes, size);
}

static int write_sections(const struct made *made, struct output *output)
{
	const struct section_sink sink = {write_to_output, output};
	const struct recording_facts facts = made_facts(&made->config);
	const struct profile_input input = {.recording.facts = &facts,
					    .recording.processes = made->processes,
					    .recording.objects = made->objects};
	struct section_writer *writer;
	int err = section_writer_open(&writer, &sink);

	if (err)
		return err;
	err = archive_write(writer, &input.recording, NULL, NULL);
	section_writer_close(writer);
	return err ? err : output_commit(output);
}

/* Samples all over the recording: the thread, which of its samples it is, when it was. */
static void print_spots(const struct made_config *config)
{
	uint64_t spot;

	for (spot = 0; spot <= SPOTS; spot++) {
		uint64_t sample = (config->samples - 1) * spot / SPOTS;

		fprintf(stderr, "spot %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			MADE_TID + sample % config->threads, sample / config->threads,
			(uint64_t)(made_time_ns(config, sample) - MADE_START_NS));
	}
}

/* Of entries, before compression. */
static uint64_t buffer_bytes(const struct made *made)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < processes_count(made->processes); i++) {
		const struct profile_buffer_state state =
			profile_buffer_get_state(processes_at(made->processes, i)->buffer);

		bytes += state.range_end - state.range_start;
	}
	return bytes;
}

static int run_raw(const struct made *made, const char *path)
{
	struct output *output;
	int err = output_open(&output, path, NULL);

	if (err)
		return err;
	err = write_sections(made, output);
	if (!err) {
		print("raw_bytes", (double)output_bytes_out(output));
		print("buffer_bytes", (double)buffer_bytes(made));
	}
	output_close(output);
	if (!err)
		print_spots(&made->config);
	return err;
}

/* ---- a tree of values -------------------------------------------------------------------------- */

static int count_bytes(const char *text, size_t size, void *context)
{
	*(uint64_t *)context += size;
	return 0;
}

/* What making and dumping the tree takes; what fills it (unique frames and stacks) does not count, which flatters it. */
static int copy_tree(const json_t *document, uint64_t samples)
{
	uint64_t begin_ns, bytes = 0;
	double before_mb;
	json_t *copy;
	int err;

	reset_peak();
	before_mb = memory_mb("VmRSS");
	begin_ns = cpu_now_ns();
	copy = json_deep_copy(document);
	err = copy ? json_dump_callback(copy, count_bytes, &bytes, JSON_COMPACT) : -1;
	begin_ns = cpu_now_ns() - begin_ns;
	print("cpu_s", (double)begin_ns / 1e9);
	print("million_per_s", (double)samples * 1e3 / (double)begin_ns);
	print("extra_mb", memory_mb("VmHWM") - before_mb);
	json_decref(copy);
	return err ? -ENOMEM : 0;
}

static int run_dom(const struct made *made)
{
	json_t *document;
	int err = write_profile(made, NULL, NULL);

	if (err)
		return err;
	kept.capacity = kept.bytes;
	kept.bytes = 0;
	kept.items = malloc(kept.capacity);
	if (!kept.items)
		return -ENOMEM;
	err = write_profile(made, NULL, NULL);
	document = err ? NULL : json_loadb(kept.items, kept.bytes, 0, NULL);
	free(kept.items);
	if (document)
		err = copy_tree(document, made->config.samples);
	else if (!err)
		err = -EBADMSG;
	json_decref(document);
	return err;
}

static int run(const char *what, const struct made *made, const char *path)
{
	if (!strcmp(what, "json") && !path)
		return run_profile(made, NULL, NULL);
	if (!strcmp(what, "file") && path)
		return run_profile(made, NULL, path);
	if (!strcmp(what, "processed"))
		return run_profile(made, format_named(what), path);
	if (!strcmp(what, "raw") && path)
		return run_raw(made, path);
	if (!strcmp(what, "dom") && !path)
		return run_dom(made);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct made_config config = {0};
	struct made made = {0};
	int err = -EINVAL;

	if (argc == 6 || argc == 7) {
		config.processes = (uint32_t)strtoul(argv[2], NULL, 10);
		config.threads = (uint32_t)strtoul(argv[3], NULL, 10);
		config.stacks = (uint32_t)strtoul(argv[4], NULL, 10);
		config.samples = strtoull(argv[5], NULL, 10);
		err = made_open(&made, &config);
	}
	if (!err)
		err = run(argv[1], &made, argc == 7 ? argv[6] : NULL);
	made_close(&made);
	if (err)
		fprintf(stderr, "capture: %s\n", strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
