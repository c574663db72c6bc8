/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_fixture.h - a small recording and the profile of it, for the tests of user/profile and user/format; included
 * after cmocka.h and its like.
 */
#ifndef GECKOBPF_TESTS_PROFILE_FIXTURE_H
#define GECKOBPF_TESTS_PROFILE_FIXTURE_H

#include "base/shared_text.h"

#define MS 1000000ULL
#define START (1000 * MS)
#define LIB 0x7f0000000000ULL
#define KERNEL 0xffffffff81000000ULL
#define NO_CPU UINT64_MAX
#define APP_CMDLINE "/usr/bin/app --one 2 --three"
#define UNREADABLE GB_STACK_READ_FAILED

/* ---- the recording ------------------------------------------------------------------------- */

static struct object self = {.number = 0, .path = (char *)"/proc/self/exe", .fd = -1};
static struct object lib = {
	.number = 1,
	.path = (char *)"/nonexistent/libx.so",
	.fd = -1,
	.build_id = {20, {0xf2, 0x3a, 0x4d, 0xe5, 0x38, 0x74, 0x56, 0x32, 0xb9, 0xf6,
			  0x14, 0x4f, 0x83, 0xf3, 0xf7, 0x51, 0xde, 0xad, 0xbe, 0xef}},
};
static struct mapping self_mapping = {.object = &self};
static char kallsyms_path[] = "/tmp/test_profile.XXXXXX";

static const char *const asked_threads[] = {"pid:42", NULL};
static const char *const features[] = {"cpu", "stackwalk", NULL};
static const struct recording_fact facts_log[] = {
	{.name = "lost"},
	{.name = "samples", .value = UINT64_MAX},
	{.name = "event", .value = 1, .text = "cpu-\"clock\""},
	{.name = RECORDING_MAIN_MEMORY, .value = 16ULL << 30},
	{.name = RECORDING_DEVICE, .text = "Maker X1"},
	{.name = "samples_lost_ring_full", .value = 3},
	{.name = "samples_lost_buffer"},
};
static const struct recording_facts facts = {
	.product = "my\"app",
	.version = "0.1.0",
	.oscpu = "Linux 6.1 " ARCH,
	.cpu_name = "Example CPU",
	.physical_cpus = 4,
	.logical_cpus = 8,
	.start_real_ns = 1767225600123456789,
	.start_ns = START,
	.end_ns = 2000 * MS,
	.interval_ns = MS,
	.buffer_bytes = 1 << 20,
	.duration_s = 2.5,
	.threads = asked_threads,
	.features = features,
	.log = facts_log,
	.log_count = sizeof(facts_log) / sizeof(facts_log[0]),
	.include_args = 2,
};

static struct processes *processes;
static struct profile_memory *memory;
static struct kernel_symbols *kernel;
static struct profile_buffer *buffers[8];
static size_t buffer_count;

static int find_self(struct dl_phdr_info *info, size_t size, void *context)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		self_mapping.start = (info->dlpi_addr + segment->p_vaddr) & ~0xfffULL;
		self_mapping.end =
			(info->dlpi_addr + segment->p_vaddr + segment->p_memsz + 0xfff) & ~0xfffULL;
		self_mapping.offset = segment->p_offset & ~0xfffULL;
	}
	return 1;
}

static struct thread *add_thread(uint32_t tgid, uint32_t tid, uint32_t exec_id, const char *name)
{
	const struct gb_task task = {.tgid = tgid,
				     .tid = tid,
				     .start_ns = tid,
				     .group_start_ns = tgid,
				     .exec_id = exec_id};
	struct thread *thread;

	assert_int_equal(processes_thread(processes, &task, &thread), 0);
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->cpu_first_ns = NO_CPU;
	if (tid == tgid)
		memcpy(thread->process->name, thread->name, sizeof(thread->name));
	return thread;
}

static int open_buffer(struct process *process)
{
	const struct profile_buffer_config config = {.memory = memory,
						     .process_id = process->number};

	return profile_buffer_open(&process->buffer, &config);
}

static void add_buffer(struct process *process)
{
	assert_int_equal(open_buffer(process), 0);
	buffers[buffer_count++] = process->buffer;
}

/*
 * One sample; user frames, then kernel frames, roots first, 0 after the last. A first user frame that is an enum
 * gb_stack_end is why the stack ended early.
 */
struct shot {
	uint64_t time_ns, cpu_ns, run_ns;
	uint64_t user[3], kernel[3];
};

static uint8_t end_of(const struct shot *shot)
{
	if (!shot->user[0])
		return GB_STACK_NONE;
	return shot->user[0] < GB_STACK_END_COUNT ? (uint8_t)shot->user[0] : GB_STACK_COMPLETE;
}

static void put(const struct thread *thread, const struct shot *shot)
{
	struct frame frames[6];
	struct sample_entry entry = {.weight = 1,
				     .thread = thread->number,
				     .time_ns = shot->time_ns,
				     .cpu_ns = shot->cpu_ns,
				     .run_ns = shot->run_ns,
				     .frames = frames};
	size_t i;

	for (i = 0; i < 3 && shot->user[i]; i++)
		frames[entry.frame_count++] =
			(struct frame){.value = shot->user[i], .kind = GB_FRAME_USER};
	if (entry.frame_count && shot->user[0] < GB_STACK_END_COUNT)
		frames[0].kind = GB_FRAME_TRUNCATED;
	for (i = 0; i < 3 && shot->kernel[i]; i++)
		frames[entry.frame_count++] =
			(struct frame){.value = shot->kernel[i], .kind = GB_FRAME_KERNEL};
	entry.user_end = end_of(shot);
	assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &entry), 0);
}

static void add_root(void)
{
	const struct mapping mapping = {LIB, LIB + 0x10000, 0, 0, &lib};
	struct thread *first = add_thread(4242, 4242, 0, "app");
	struct thread *worker = add_thread(4242, 4243, 0, "w\"k\xff");
	struct process *process = first->process;
	uint64_t entry = (uint64_t)(uintptr_t)main;

	process->is_root = true;
	process->cmdline = shared_text_new(APP_CMDLINE, strlen(APP_CMDLINE));
	assert_int_equal(address_space_add(&process->space, &self_mapping), 0);
	assert_int_equal(address_space_add(&process->space, &mapping), 0);
	add_buffer(process);
	first->cpu_first_ns = 1 * MS;
	first->cpu_last_ns = 8 * MS;
	first->died_ns = 1900 * MS;
	worker->born_ns = 1020 * MS + 1;
	put(first,
	    &(struct shot){1010 * MS, 5 * MS, 0, {UNREADABLE, LIB + 0x100, LIB + 0x201}, {0}});
	put(worker, &(struct shot){900 * MS, 100000, 0, {entry + 1, LIB + 0x100}, {0}});
	put(first,
	    &(struct shot){1050 * MS, 6 * MS, MS / 2, {UNREADABLE, LIB + 0x100, LIB + 0x201}, {0}});
	put(first, &(struct shot){1051 * MS,
				  7 * MS,
				  MS + MS / 2,
				  {UNREADABLE, LIB + 0x100, LIB + 0x201},
				  {KERNEL + 0x1000, KERNEL + 0x10}});
	put(first, &(struct shot){1050 * MS + MS / 2, 7 * MS - 1, 0, {0}, {0}});
	put(worker, &(struct shot){1060 * MS + 1, 50001, 0, {entry + 1, LIB + 0x100}, {0}});
}

/* What the root became by exec; its main thread was not met. */
static void add_image(void)
{
	struct thread *thread = add_thread(4242, 4250, 1, "");

	thread->process->is_root = true;
	thread->process->born_ns = 1900 * MS;
	thread->process->died_ns = 1950 * MS;
	memcpy(thread->process->name, "next", 5);
	add_buffer(thread->process);
	put(thread, &(struct shot){1910 * MS, 10, 0, {GB_STACK_NO_MAPPING, 0x1000}, {0}});
}

static void add_others(void)
{
	struct thread *thread = add_thread(77, 77, 0, "kworker/0:1");

	thread->process->is_kernel = true;
	add_buffer(thread->process);
	put(thread, &(struct shot){1500 * MS, 10, 0, {0}, {KERNEL + 0x10}});
	add_thread(99, 99, 0, "silent");
}

static int setup(void **state)
{
	static const char kallsyms[] = "ffffffff81000000 T startup_64\nffffffff82000000 T _etext\n";
	int fd = mkstemp(kallsyms_path);

	if (fd < 0 || write(fd, kallsyms, sizeof(kallsyms) - 1) < 0)
		return -1;
	close(fd);
	dl_iterate_phdr(find_self, NULL);
	if (kernel_symbols_open(&kernel, kallsyms_path) || processes_open(&processes) ||
	    profile_memory_open(&memory, &(struct profile_memory_config){.max_bytes = 64 << 20,
									 .cache_bytes = 1 << 16}))
		return -1;
	add_root();
	add_image();
	add_others();
	return 0;
}

static int teardown(void **state)
{
	while (buffer_count)
		profile_buffer_close(buffers[--buffer_count]);
	profile_memory_close(memory);
	processes_close(processes);
	kernel_symbols_close(kernel);
	return unlink(kallsyms_path);
}

/*
 * ---- writing
 * -----------------------------------------------------------------------------------
 */

/* NULL: Gecko. */
static const struct format *written_format;

static int write_profile(const struct profile_input *input, struct profile_summary *summary)
{
	struct output *output;
	int err = output_open(&output, PATH, NULL);

	if (err)
		return err;
	err = format_write(written_format, input, output, summary);
	if (!err)
		err = output_commit(output);
	output_close(output);
	return err;
}

/* The whole document, the caller's to free. `is_named`: with symbols. */
static __attribute__((unused)) char *document(bool is_named, struct profile_summary *summary)
{
	struct profile_input input = {
		.recording.facts = &facts, .recording.processes = processes, .kernel = kernel};
	char *text;

	if (is_named)
		assert_int_equal(named_files_open(&input.named_files, NULL), 0);
	assert_int_equal(write_profile(&input, summary), 0);
	if (is_named)
		named_files_close(input.named_files);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	unlink(PATH);
	return text;
}

/* document() in the format of that name, in which `said` is found. */
static __attribute__((unused)) char *document_in(const char *format, const char *said)
{
	struct profile_summary summary = {0};
	char *text;

	written_format = format_named(format);
	assert_non_null(written_format);
	text = document(false, &summary);
	if (!strstr(text, said))
		fail_msg("not there: %s\nin: %s", said, text);
	profile_summary_clear(&summary);
	written_format = NULL;
	return text;
}

/* Writes it without names; for alloc_fail_each(). */
static __attribute__((unused)) int attempt_to_write(void *context)
{
	struct profile_summary summary = {0};
	struct profile_input input = {.recording.facts = &facts, .recording.processes = processes};
	int err = write_profile(&input, &summary);

	(void)context;
	profile_summary_clear(&summary);
	unlink(PATH);
	return err;
}

/* In each of both formats every allocation fails once. */
static __attribute__((unused)) void expect_no_memory_is_told(void)
{
	written_format = format_named("processed");
	assert_true(alloc_fail_each(attempt_to_write, NULL) > 0);
	written_format = NULL;
	assert_true(alloc_fail_each(attempt_to_write, NULL) > 0);
}

#endif
