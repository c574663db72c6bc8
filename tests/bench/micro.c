/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * micro.c - parts of geckobpf on their own, one a run, so that each has a heap and a peak of its own.
 *
 *   micro put PATHS COUNT               samples into a profile buffer; PATHS 0: all stacks differ
 *   micro buffer DUMP                   a stream of records (--dump-records) into profile buffers, and back
 *   micro hold same|new MIB DUMP        how many of its samples a limit of MIB holds: hold.h
 *   micro put60 COUNT                   entries of 60 bytes into a chunked buffer, for the time one put takes
 *   micro write LIBRARY COUNT FILE      a recording of COUNT samples becomes a file (or "-"); frames lie in LIBRARY
 *   micro symbols LIBRARY COUNT         its symbols are read, COUNT addresses looked up
 *   micro kallsyms                      the kernel's symbols are read
 *   micro mappings COUNT                an address space of so many; COUNT look-ups, COUNT forks
 *   micro load                          the BPF programs are loaded and attached
 *   micro tables COUNT FILE...          unwind tables of ELF files, each made COUNT times, laid out once in one store
 *
 * Prints "name number" lines on stderr, since stdout may be the profile.
 */
#include "base/clock.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "capture/kernel_side.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "symbol/symbol_files.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"
#include "unwind/table.h"
#include "unwind/table_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "geckobpf_abi.h"
#include "hold.h"
#include "measure.h"
#include "put60.h"
#include "session/stream.h"

#define DEPTH 25
#define FUNCTIONS 16
#define BASE 0x7f0000000000ULL
#define WRITE_PATHS 1000
#define WRITE_THREADS 2
#define MAX_REPEATS 101

static const struct profile_memory_config memory_config = {.max_bytes = BUFFER_BYTES};

static void print_usage(uint64_t begin_ns)
{
	print("cpu_ms", (double)(cpu_now_ns() - begin_ns) / 1e6);
	print("peak_mb", memory_mb("VmHWM"));
}

/* ---- samples ------------------------------------------------------------------ */

/* Code that the made-up stacks lie in. */
struct code {
	uint64_t start, bytes;
};

/* A path in a tree of FUNCTIONS callees a level, with one return address for each; the leaf has 64 places. */
static void make_frames(const struct code *code, uint64_t path, uint64_t random,
			struct frame *frames)
{
	uint64_t chain = 0;
	size_t i;

	for (i = 0; i < DEPTH - 1; i++) {
		chain = mix(chain + mix(path + i) % FUNCTIONS) % 4096;
		frames[i].value = code->start + mix(chain) % code->bytes;
	}
	frames[DEPTH - 1].value = code->start + mix(random % 64) % code->bytes;
}

static int put_samples(struct profile_buffer *buffer, const struct code *code, uint64_t paths,
		       uint64_t count)
{
	struct frame frames[DEPTH] = {0};
	uint64_t i;
	struct sample_entry sample = {
		.weight = 1, .user_end = GB_STACK_COMPLETE, .frames = frames, .frame_count = DEPTH};
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
	struct profile_buffer_config config = {.process_id = 1, .period_ns = 50000};
	struct profile_buffer *buffer = NULL;
	struct profile_buffer_state state;
	struct frame frames[DEPTH] = {0};
	uint64_t begin, made, i;
	int err;

	err = profile_memory_open(&config.memory, &memory_config);
	if (!err)
		err = profile_buffer_open(&buffer, &config);
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
	profile_memory_close(config.memory);
	return err;
}

/* ---- a recording becomes a file ------------------------------------------------- */

struct toy {
	struct profile_memory *memory;
	struct processes *processes;
	struct objects *objects;
	struct process *process;
};

/* Where the code of `path` is in the file; it is mapped at BASE, from its first byte. */
static int find_code(const char *path, struct code *code)
{
	const struct elf_section *text;
	struct elf_file *file;
	int fd = elf_open_path(NULL, path), err = fd < 0 ? fd : elf_file_adopt_fd(&file, fd);

	if (err)
		return err;
	text = elf_file_named(file, ".text");
	if (text)
		*code = (struct code){BASE + text->offset, text->size};
	elf_file_close(file);
	return text ? 0 : -ENOEXEC;
}

static int add_threads(struct toy *recording)
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

static int add_library(struct toy *recording, const char *path, const struct code *code)
{
	const struct object_sighting sighting = {.pid = 1, .device = 1, .inode = 1, .path = path};
	struct mapping mapping = {.start = BASE, .end = code->start + code->bytes};
	int err = objects_get(recording->objects, &sighting, &mapping.object);

	return err ? err : address_space_add(&recording->process->space, &mapping);
}

static void close_recording(struct toy *recording)
{
	if (recording->process)
		profile_buffer_close(recording->process->buffer);
	processes_close(recording->processes);
	objects_close(recording->objects);
	profile_memory_close(recording->memory);
}

static int open_recorded_buffer(struct toy *recording)
{
	const struct profile_buffer_config config = {
		.memory = recording->memory, .process_id = 1000, .period_ns = 50000};

	return profile_buffer_open(&recording->process->buffer, &config);
}

static int open_recording(struct toy *recording, const char *library, uint64_t count)
{
	struct code code;
	int err = find_code(library, &code);

	if (!err)
		err = profile_memory_open(&recording->memory, &memory_config);
	if (!err)
		err = processes_open(&recording->processes);
	if (!err)
		err = objects_open(&recording->objects, 16);
	if (!err)
		err = add_threads(recording);
	if (!err)
		err = add_library(recording, library, &code);
	if (!err)
		err = open_recorded_buffer(recording);
	if (!err)
		err = put_samples(recording->process->buffer, &code, WRITE_PATHS, count);
	return err;
}

static int write_recording(const struct toy *recording, struct named_files *named_files,
			   const char *path)
{
	static const char *const none[] = {NULL};
	const struct recording_facts facts = {
		.start_ns = NS_PER_SEC,
		.end_ns = NS_PER_SEC * 60,
		.interval_ns = 25000,
		.logical_cpus = 2,
		.physical_cpus = 2,
		.threads = none,
		.features = none,
	};
	const struct profile_input input = {
		.recording.facts = &facts,
		.recording.processes = recording->processes,
		.recording.objects = recording->objects,
		.named_files = named_files,
	};
	struct profile_summary summary = {0};
	struct output *output;
	int err = output_open(&output, path, NULL);

	if (err)
		return err;
	err = format_write(NULL, &input, output, &summary);
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
	struct toy recording = {0};
	struct named_files *named_files = NULL;
	uint64_t begin_ns;
	int err = open_recording(&recording, library, count);

	begin_ns = cpu_now_ns();
	if (!err)
		err = named_files_open(&named_files, NULL);
	if (!err)
		err = write_recording(&recording, named_files, path);
	print_usage(begin_ns);
	named_files_close(named_files);
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
	struct symbol_files *symbol_files = NULL;
	struct symbol_file *file;
	struct code code;
	uint64_t begin_ns = cpu_now_ns();
	int err = find_code(library, &code);

	if (!err)
		err = symbol_files_open(&symbol_files, NULL);
	if (!err)
		err = symbol_files_add(symbol_files, &source, &file);
	if (!err)
		err = look_up(file, &code, count);
	print_usage(begin_ns);
	symbol_files_close(symbol_files);
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

/* ---- mappings ------------------------------------------------------------------------- */

/* `count` mappings in no order; each is looked up, and each of as many forks maps one more. */
static int time_mappings(struct address_space *space, uint64_t count)
{
	struct object object = {.kind = OBJECT_FILE};
	struct mapping mapping = {.object = &object};
	uint64_t begin_ns = cpu_now_ns(), found = 0, i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		mapping.start = mix(i) >> 20 << 13;
		mapping.end = mapping.start + 4096;
		mapping.from_ns = i + 1;
		err = address_space_add(space, &mapping);
	}
	print("add_ns", (double)(cpu_now_ns() - begin_ns) / (double)count);
	begin_ns = cpu_now_ns();
	for (i = 0; i < count; i++)
		found += address_space_find(space, mix(i) >> 20 << 13, count) != NULL;
	print("find_ns", (double)(cpu_now_ns() - begin_ns) / (double)count);
	begin_ns = cpu_now_ns();
	for (i = 0; i < count && !err; i++) {
		struct address_space child = {0};

		mapping.start = (mix(i) >> 20 << 13) + 4096;
		mapping.end = mapping.start + 4096;
		err = address_space_inherit(&child, space, mapping.from_ns);
		err = err ? err : address_space_add(&child, &mapping);
		address_space_clear(&child);
	}
	print("fork_ns", (double)(cpu_now_ns() - begin_ns) / (double)count);
	return err || found != count ? -EIO : 0;
}

static int run_mappings(uint64_t count)
{
	struct address_space space = {0};
	int err = time_mappings(&space, count);

	address_space_clear(&space);
	return err;
}

/* ---- the kernel's side --------------------------------------------------------------- */

static int run_load(void)
{
	static const char *const programs[] = {"on_timer", NULL};
	const struct kernel_side_config config = {.kernel_stacks = true,
						  .period_ns = 1000000,
						  .rate_hz = 1000,
						  .cpu_count = 2,
						  .programs = programs};
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

/* ---- unwind tables ------------------------------------------------------------------- */

/* What would be maps shared with the kernel. */
struct table_memory {
	struct unwind_memory memory;
	struct gb_chunk *pools[GB_MAX_POOLS];
};

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	struct table_memory *tables = context;

	if (index >= GB_MAX_POOLS)
		return -ENOSPC;
	tables->pools[index] = calloc(GB_POOL_CHUNKS, sizeof(struct gb_chunk));
	if (!tables->pools[index])
		return -ENOMEM;
	*chunks = tables->pools[index];
	return 0;
}

static int open_table_memory(struct table_memory *tables)
{
	tables->memory.pages = calloc(GB_MAX_PAGES, sizeof(*tables->memory.pages));
	tables->memory.rules = calloc(GB_MAX_RULES, sizeof(*tables->memory.rules));
	tables->memory.add_pool = add_pool;
	tables->memory.context = tables;
	tables->memory.max_pools = GB_MAX_POOLS;
	return tables->memory.pages && tables->memory.rules ? 0 : -ENOMEM;
}

static void close_table_memory(struct table_memory *tables)
{
	size_t i;

	for (i = 0; i < GB_MAX_POOLS; i++)
		free(tables->pools[i]);
	free(tables->memory.pages);
	free(tables->memory.rules);
}

static int ascending(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* The median time; the last table is the caller's to close. */
static int compile_often(const struct unwind_source *source, size_t count,
			 struct unwind_table **table, uint64_t *median_ns)
{
	uint64_t took_ns[MAX_REPEATS], begin_ns;
	size_t i;
	int err;

	*table = NULL;
	for (i = 0; i < count; i++) {
		unwind_table_close(*table);
		*table = NULL;
		begin_ns = cpu_now_ns();
		err = unwind_table_compile(table, source);
		took_ns[i] = cpu_now_ns() - begin_ns;
		if (err)
			return err;
	}
	qsort(took_ns, count, sizeof(took_ns[0]), ascending);
	*median_ns = took_ns[count / 2];
	return 0;
}

struct table_sums {
	uint64_t compile_ns, file_bytes;
};

static int add_table(struct table_store *store, const char *path, size_t count,
		     struct table_sums *sums)
{
	struct unwind_source source = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct unwind_table *table = NULL;
	struct stored_table *stored; /* the store's, until it is closed */
	uint64_t median_ns;
	int err;

	if (source.fd < 0)
		return -errno;
	err = compile_often(&source, count, &table, &median_ns);
	if (!err)
		err = table_store_add(store, table, clock_now_ns(), &stored);
	if (!err) {
		sums->compile_ns += median_ns;
		sums->file_bytes += (uint64_t)lseek(source.fd, 0, SEEK_END);
	}
	unwind_table_close(table);
	close(source.fd);
	return err;
}

static void print_tables(const struct table_sums *sums, const struct table_store_stats *stats)
{
	const uint64_t bytes = stats->chunks * sizeof(struct gb_chunk) +
			       stats->pages * sizeof(struct gb_page) +
			       stats->rules * sizeof(struct gb_unwind_rule);

	print("compile_ms", (double)sums->compile_ns / 1e6);
	print("file_mb", (double)sums->file_bytes / 1e6);
	print("table_mb", (double)bytes / 1e6);
	print("row_mb", (double)stats->rows * sizeof(uint32_t) / 1e6);
}

static int run_tables(size_t count, char **paths)
{
	struct table_memory tables = {0};
	struct table_store *store = NULL;
	struct table_sums sums = {0};
	struct table_store_stats stats;
	int err = count && count <= MAX_REPEATS ? open_table_memory(&tables) : -EINVAL;

	if (!err)
		err = table_store_open(&store, &tables.memory);
	for (; *paths && !err; paths++)
		err = add_table(store, *paths, count, &sums);
	if (!err) {
		stats = table_store_get_stats(store);
		print_tables(&sums, &stats);
	}
	table_store_close(store);
	close_table_memory(&tables);
	return err;
}

static int run(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "put") && argc == 4)
		return run_put(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "buffer") && argc == 3)
		return run_buffer(argv[2]);
	if (!strcmp(what, "hold") && argc == 5)
		return run_hold(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
	if (!strcmp(what, "put60") && argc == 3)
		return run_put60(strtoul(argv[2], NULL, 10));
	if (!strcmp(what, "write") && argc == 5)
		return run_write(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
	if (!strcmp(what, "symbols") && argc == 4)
		return run_symbols(argv[2], strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "mappings") && argc == 3)
		return run_mappings(strtoul(argv[2], NULL, 10));
	if (!strcmp(what, "kallsyms"))
		return run_kallsyms();
	if (!strcmp(what, "load"))
		return run_load();
	if (!strcmp(what, "tables") && argc >= 4)
		return run_tables(strtoul(argv[2], NULL, 10), argv + 3);
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
