/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * micro.c - parts of geckobpf on their own, one a run, so that each has a heap and a peak of its own.
 *
 *   micro put PATHS COUNT               samples into a profile buffer; PATHS 0: all stacks differ
 *   micro write LIBRARY COUNT FILE      a recording of COUNT samples becomes a file (or "-"); frames lie in LIBRARY
 *   micro symbols LIBRARY COUNT         its symbols are read, COUNT addresses looked up
 *   micro kallsyms                      the kernel's symbols are read
 *   micro load                          the BPF programs are loaded and attached
 *
 * Prints "name number" lines on stderr, since stdout may be the profile.
 */
#include "base/clock.h"
#include "buffer/chunk_manager.h"
#include "buffer/profile_buffer.h"
#include "capture/kernel_side.h"
#include "gecko/output.h"
#include "gecko/profile.h"
#include "symbol/elf_file.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geckobpf_abi.h"

#define DEPTH 25
#define FUNCTIONS 16
#define CHUNK_BYTES (64 * 1024)
#define BUFFER_BYTES (1ULL << 30)
#define BASE 0x7f0000000000ULL
#define WRITE_PATHS 1000
#define WRITE_THREADS 2

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}

static void print(const char *name, double value)
{
	fprintf(stderr, "%s %.3f\n", name, value);
}

/* CPU time: all of this is one thread that never waits, and the machine may have other things to do. */
static uint64_t cpu_now_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Not getrusage(), whose peak is that of the process that started us, if it was larger. */
static double peak_mb(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long peak_kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %lu kB", &peak_kb) == 1)
			break;
	if (file)
		fclose(file);
	return (double)peak_kb / 1024;
}

static void print_usage(uint64_t begin_ns)
{
	print("cpu_ms", (double)(cpu_now_ns() - begin_ns) / 1e6);
	print("peak_mb", peak_mb());
}

/* ---- samples ------------------------------------------------------------------ */

/* Code that the made-up stacks lie in. */
struct code {
	uint64_t start, bytes;
};

/* A path in a tree of FUNCTIONS callees a level, with one return address for each; the leaf has 64 places. */
static void make_frames(const struct code *code, uint64_t path, uint64_t random, uint64_t *frames)
{
	uint64_t chain = 0;
	size_t i;

	for (i = 0; i < DEPTH - 1; i++) {
		chain = mix(chain + mix(path + i) % FUNCTIONS) % 4096;
		frames[i] = code->start + mix(chain) % code->bytes;
	}
	frames[DEPTH - 1] = code->start + mix(random % 64) % code->bytes;
}

static int put_samples(struct profile_buffer *buffer, const struct code *code, uint64_t paths,
		       uint64_t count)
{
	uint64_t frames[DEPTH], i;
	struct sample_entry sample = {
		.user_end = GB_STACK_WALKED, .frames = frames, .user_count = DEPTH};
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		uint64_t random = mix(i + 1);

		make_frames(code, paths ? random % paths : random, random, frames);
		sample.thread = (uint32_t)(i % WRITE_THREADS);
		sample.time_ns = NS_PER_SEC + i * 25000;
		sample.cpu_ns = i * 25000;
		sample.run_ns = i * 25000;
		err = profile_buffer_put_sample(buffer, &sample);
	}
	return err;
}

static int run_put(uint64_t paths, uint64_t count)
{
	const struct code code = {BASE, 1 << 20};
	struct chunk_manager *chunks = NULL;
	struct profile_buffer *buffer = NULL;
	struct profile_buffer_state state;
	uint64_t frames[DEPTH], begin, made, i;
	int err;

	err = chunk_manager_open(&chunks, BUFFER_BYTES, CHUNK_BYTES);
	if (!err)
		err = profile_buffer_open(&buffer, chunks, 1);
	begin = cpu_now_ns();
	for (i = 0; i < count; i++)
		make_frames(&code, mix(i + 1), mix(i + 1), frames);
	made = cpu_now_ns() - begin; /* what making the stacks costs is not the buffer's */
	begin = cpu_now_ns();
	if (!err)
		err = put_samples(buffer, &code, paths, count);
	if (!err) {
		state = profile_buffer_get_state(buffer);
		print("put_ns", (double)(cpu_now_ns() - begin - made) / (double)count);
		print("sample_bytes",
		      (double)(state.range_end - state.range_start) / (double)count);
	}
	profile_buffer_close(buffer);
	chunk_manager_close(chunks);
	return err;
}

/* ---- a recording becomes a file ------------------------------------------------- */

struct recording {
	struct chunk_manager *chunks;
	struct processes *processes;
	struct objects *objects;
	struct process *process;
};

/* Where the code of `path` is in the file; it is mapped at BASE, from its first byte. */
static int find_code(const char *path, struct code *code)
{
	const struct elf_section *text;
	struct elf_file *file;
	int err = elf_file_open(&file, path);

	if (err)
		return err;
	text = elf_file_named(file, ".text");
	if (text)
		*code = (struct code){BASE + text->offset, text->size};
	elf_file_close(file);
	return text ? 0 : -ENOEXEC;
}

static int add_threads(struct recording *recording)
{
	struct gb_task task = {.tgid = 1000, .start_ns = 1, .group_start_ns = 1};
	struct thread *thread;
	int err = 0;
	uint32_t i;

	for (i = 0; i < WRITE_THREADS && !err; i++) {
		task.tid = task.tgid + i;
		task.start_ns = 1 + i;
		err = processes_thread(recording->processes, &task, &thread);
		if (!err)
			recording->process = thread->process;
	}
	return err;
}

static int add_library(struct recording *recording, const char *path, const struct code *code)
{
	const struct object_sighting sighting = {.pid = 1, .device = 1, .inode = 1, .path = path};
	struct mapping mapping = {.start = BASE, .end = code->start + code->bytes};
	int err = objects_get(recording->objects, &sighting, &mapping.object);

	return err ? err : address_space_add(&recording->process->space, &mapping);
}

static void close_recording(struct recording *recording)
{
	if (recording->process)
		profile_buffer_close(recording->process->buffer);
	processes_close(recording->processes);
	objects_close(recording->objects);
	chunk_manager_close(recording->chunks);
}

static int open_recording(struct recording *recording, const char *library, uint64_t count)
{
	struct code code;
	int err = find_code(library, &code);

	if (!err)
		err = chunk_manager_open(&recording->chunks, BUFFER_BYTES, CHUNK_BYTES);
	if (!err)
		err = processes_open(&recording->processes);
	if (!err)
		err = objects_open(&recording->objects, 16);
	if (!err)
		err = add_threads(recording);
	if (!err)
		err = add_library(recording, library, &code);
	if (!err)
		err = profile_buffer_open(&recording->process->buffer, recording->chunks, 1000);
	if (!err)
		err = put_samples(recording->process->buffer, &code, WRITE_PATHS, count);
	return err;
}

static int write_recording(const struct recording *recording, struct symbolizer *symbolizer,
			   const char *path)
{
	static const char *const none[] = {NULL};
	const struct profile_facts facts = {
		.start_ns = NS_PER_SEC,
		.end_ns = NS_PER_SEC * 60,
		.interval_ns = 25000,
		.logical_cpus = 2,
		.physical_cpus = 2,
		.threads = none,
		.features = none,
	};
	const struct profile_input input = {
		.facts = &facts,
		.processes = recording->processes,
		.objects = recording->objects,
		.symbolizer = symbolizer,
	};
	struct profile_summary summary = {0};
	struct output *output;
	int err = output_open(&output, path, NULL);

	if (err)
		return err;
	err = profile_write(&input, output, &summary);
	if (!err)
		err = output_commit(output);
	print("rows", (double)summary.samples);
	print("unnamed", (double)summary.unsymbolized);
	print("in_bytes", (double)output_bytes_in(output));
	print("out_bytes", (double)output_bytes_out(output));
	output_close(output);
	profile_summary_clear(&summary);
	return err;
}

static int run_write(const char *library, uint64_t count, const char *path)
{
	struct recording recording = {0};
	struct symbolizer *symbolizer = NULL;
	uint64_t begin_ns;
	int err = open_recording(&recording, library, count);

	begin_ns = cpu_now_ns();
	if (!err)
		err = symbolizer_open(&symbolizer, NULL);
	if (!err)
		err = write_recording(&recording, symbolizer, path);
	print_usage(begin_ns);
	symbolizer_close(symbolizer);
	close_recording(&recording);
	return err;
}

/* ---- names ------------------------------------------------------------------------ */

static int look_up(struct symbol_file *file, const struct code *code, uint64_t count)
{
	uint64_t begin_ns = cpu_now_ns(), named = 0, i;
	struct symbol symbol;
	int err = symbol_file_lookup(file, code->start - BASE, &symbol);

	if (err && err != -ENOENT)
		return err;
	print("load_ms", (double)(cpu_now_ns() - begin_ns) / 1e6);
	begin_ns = cpu_now_ns();
	for (i = 0; i < count; i++)
		named += !symbol_file_lookup(file, code->start - BASE + mix(i) % code->bytes,
					     &symbol);
	print("lookup_ns", (double)(cpu_now_ns() - begin_ns) / (double)count);
	print("named_percent", (double)named * 100 / (double)count);
	return 0;
}

static int run_symbols(const char *library, uint64_t count)
{
	const struct symbol_source source = {.path = library, .fd = -1};
	struct symbolizer *symbolizer = NULL;
	struct symbol_file *file;
	struct code code;
	uint64_t begin_ns = cpu_now_ns();
	int err = find_code(library, &code);

	if (!err)
		err = symbolizer_open(&symbolizer, NULL);
	if (!err)
		err = symbolizer_add_file(symbolizer, &source, &file);
	if (!err)
		err = look_up(file, &code, count);
	print_usage(begin_ns);
	symbolizer_close(symbolizer);
	return err;
}

static int run_kallsyms(void)
{
	uint64_t begin_ns = cpu_now_ns();
	struct kernel_symbols *symbols;
	int err = kernel_symbols_open(&symbols, NULL);

	if (err)
		return err;
	print_usage(begin_ns);
	kernel_symbols_close(symbols);
	return 0;
}

/* ---- the kernel's side --------------------------------------------------------------- */

static int run_load(void)
{
	const struct kernel_side_config config = {
		.kernel_stacks = true, .rate_hz = 1000, .cpu_count = 2};
	uint64_t begin_ns = clock_now_ns(), loaded_ns;
	struct kernel_side *kernel;
	int err = kernel_side_open(&kernel, &config);

	if (err)
		return err;
	loaded_ns = clock_now_ns();
	err = kernel_side_attach(kernel);
	print("load_ms", (double)(loaded_ns - begin_ns) / 1e6);
	print("attach_ms", (double)(clock_now_ns() - loaded_ns) / 1e6);
	begin_ns = clock_now_ns();
	kernel_side_close(kernel);
	print("close_ms", (double)(clock_now_ns() - begin_ns) / 1e6);
	return err;
}

static int run(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "put") && argc == 4)
		return run_put(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "write") && argc == 5)
		return run_write(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
	if (!strcmp(what, "symbols") && argc == 4)
		return run_symbols(argv[2], strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "kallsyms"))
		return run_kallsyms();
	if (!strcmp(what, "load"))
		return run_load();
	return -EINVAL;
}

int main(int argc, char **argv)
{
	int err = run(argc, argv);

	if (!err)
		return 0;
	fprintf(stderr, "micro: %s\n", strerror(-err));
	return 1;
}
