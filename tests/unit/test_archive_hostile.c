/* SPDX-License-Identifier: BSD-2-Clause */
/* test_archive_hostile.c - raw captures that lack a part that others refer to, or that say more than their reader has room for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pack.h"
#include "buffer/profile_buffer.h"
#include "target/address_space.h"
#include "target/process.h"

#define START_NS (100 * NS_PER_SEC)
#define MANY 20000 /* images of a process id */
#define MANY_MORE 200000
#define MAX_MAPPINGS 65537 /* of one image */
#define MAX_NUMBERS (1U << 22)
#define MAX_FACTS 4096

/* ---- a file, written by hand --------------------------------------------------------------------- */

static struct {
	int fd;
	struct section_writer *sections;
	struct packer records; /* of the next section */
} file;

static int write_fd(void *context, const void *bytes, size_t size)
{
	return fd_write_all(file.fd, bytes, size);
}

static void say(uint64_t value)
{
	pack_number(&file.records, value);
}

static void end_section(enum archive_kind kind)
{
	assert_int_equal(file.records.error, 0);
	assert_int_equal(section_write(file.sections, (uint16_t)kind, file.records.items,
				       file.records.count),
			 0);
	file.records.count = 0;
}

static int setup(void **state)
{
	const struct section_sink sink = {write_fd, NULL};
	const struct recording_facts facts = {.product = "demo",
					      .start_ns = START_NS,
					      .end_ns = START_NS,
					      .interval_ns = NS_PER_MS};
	struct archive_writer writer = {0};

	memset(&file, 0, sizeof(file));
	file.fd = memfd_create("hostile", MFD_CLOEXEC);
	if (section_writer_open(&file.sections, &sink))
		return -1;
	writer.sections = file.sections;
	if (archive_write_head(&writer, &facts))
		return -1;
	archive_writer_clear(&writer);
	return 0;
}

static int teardown(void **state)
{
	section_writer_close(file.sections);
	packer_clear(&file.records);
	return close(file.fd);
}

static void say_key(uint32_t tgid, uint32_t exec_id)
{
	say(tgid);
	say(1);
	say(exec_id);
}

static void begin_image(uint32_t tgid, uint32_t exec_id, size_t threads)
{
	int i;

	say_key(tgid, exec_id);
	for (i = 0; i < 5; i++) /* life, times, what it is */
		say(0);
	pack_string(&file.records, "image");
	pack_string(&file.records, NULL);
	say(threads);
}

static void say_thread_of(uint32_t said, uint32_t tid, uint64_t died_ns)
{
	say(said);
	say(tid);
	say(1);
	say(0); /* born */
	say(died_ns);
	say(0); /* CPU times */
	say(0);
	pack_string(&file.records, "thread");
	pack_string(&file.records, NULL);
}

static void say_thread(uint32_t said, uint32_t tid)
{
	say_thread_of(said, tid, 0);
}

/* With one thread, the number of which is `said`, and no mappings. */
static void say_image(uint32_t tgid, uint32_t exec_id, uint32_t said)
{
	begin_image(tgid, exec_id, 1);
	say_thread(said, tgid);
	say(0);
}

static void say_mapping(uint64_t start, uint64_t bytes)
{
	say(start);
	say(bytes);
	say(0);
	say(0);
	say(0);
}

static void write_one_file(void)
{
	say(0);
	say(0);
	say(1);
	say(2);
	say(0);
	pack_string(&file.records, "/x");
	end_section(ARCHIVE_FILE);
}

/* `count` samples of thread 0, each of which stands alone. */
static void say_run(uint32_t tgid, size_t count)
{
	/* RESTART, THREAD, PERIODS | period | thread 0 | k | time | CPU time | address */
	static const uint8_t sample[] = {0x80 | 1 | 2 | 4, 1, 0, 0, 2, 0, 1, 2};
	size_t i;

	say_key(tgid, 0);
	say(0);
	say(count * (sizeof(sample) + 1));
	for (i = 0; i < count; i++) {
		say(sizeof(sample));
		pack_bytes(&file.records, sample, sizeof(sample));
	}
}

static struct archive read_file(void)
{
	struct archive archive;

	assert_int_equal(archive_read(&archive, file.fd, NULL), 0);
	assert_int_equal(archive.damage.bytes, 0);
	return archive;
}

static uint64_t samples_of(const struct archive *archive, uint32_t tgid)
{
	const struct process *process = processes_latest(archive->processes, tgid);

	assert_non_null(process);
	return process->buffer ? profile_buffer_get_state(process->buffer).pushed : 0;
}

/* ---- what is missing ----------------------------------------------------------------------------- */

/* Runs of an image that nothing is known of are counted, and those beside them are there. */
static void test_unknown_image(void **state)
{
	struct archive archive;

	say_image(2, 0, 0);
	say_image(3, 0, 0);
	end_section(ARCHIVE_PROCESS);
	say_run(2, 4);
	say_run(1, 5);
	say_run(3, 6);
	say_key(1, 0);
	say(5);
	say(0); /* an empty run */
	end_section(ARCHIVE_BLOCKS);
	archive = read_file();
	assert_int_equal(archive.bad_sections, 0);
	assert_int_equal(archive.lost_blocks, 6);
	assert_int_equal(samples_of(&archive, 2), 4);
	assert_int_equal(samples_of(&archive, 3), 6);
	assert_int_equal(processes_count(archive.processes), 2);
	archive_close(&archive);
}

/* Changes of an image whose first section is missing are left out, mappings and all; the next image is there. */
static void test_image_without_threads(void **state)
{
	struct archive archive;

	write_one_file();
	begin_image(1, 0, 0);
	say(2);
	say_mapping(0x1000, 0x1000);
	say_mapping(0x3000, 0x1000);
	say_image(2, 0, 0);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	assert_int_equal(archive.bad_sections, 0);
	assert_null(processes_latest(archive.processes, 1));
	assert_non_null(processes_latest(archive.processes, 2));
	archive_close(&archive);
}

static void say_end(uint64_t until_ns)
{
	int i;

	say(until_ns);
	for (i = 0; i < 4; i++)
		say(0);
	end_section(ARCHIVE_END);
}

/* Who had the number of a thread that ended is not known when the section that says it is missing: not that thread, at any rate. */
static void test_number_of_the_dead(void **state)
{
	const uint64_t died_ns = START_NS + NS_PER_SEC, end_ns = START_NS + 20 * NS_PER_SEC;
	struct archive archive;
	const struct threads *threads;

	begin_image(1, 0, 3);
	say_thread(0, 1);
	say_thread_of(1, 2, died_ns);
	say_thread_of(2, 3, died_ns);
	say(0);
	end_section(ARCHIVE_PROCESS);
	say_end(end_ns);
	begin_image(1, 0, 1);
	say_thread(2, 4);
	say(0);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	threads = &processes_latest(archive.processes, 1)->threads;
	assert_int_equal(threads_resolve(threads, 0, UINT64_MAX), 0);
	assert_int_equal(threads_resolve(threads, 1, 0), 1);
	assert_int_equal(threads_resolve(threads, 1, died_ns + NS_PER_SEC - 1), 1);
	assert_int_equal(threads_resolve(threads, 1, died_ns + NS_PER_SEC), THREAD_NONE);
	assert_int_equal(threads_resolve(threads, 1, UINT64_MAX), THREAD_NONE);
	assert_int_equal(threads_resolve(threads, 2, died_ns), 2);
	assert_int_equal(threads_resolve(threads, 2, end_ns - NS_PER_SEC - 1), THREAD_NONE);
	assert_int_equal(threads_resolve(threads, 2, end_ns - NS_PER_SEC), 3);
	assert_int_equal(threads_resolve(threads, 2, UINT64_MAX), 3);
	archive_close(&archive);
}

/* ---- what is too much ---------------------------------------------------------------------------- */

static void test_thread_numbers(void **state)
{
	struct archive archive;

	say_image(1, 0, MAX_NUMBERS);
	end_section(ARCHIVE_PROCESS);
	say_image(2, 0, 100000);
	say_image(4, 0, 5);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	assert_int_equal(archive.bad_sections, 1);
	assert_null(processes_latest(archive.processes, 1));
	assert_non_null(processes_latest(archive.processes, 2));
	assert_non_null(processes_latest(archive.processes, 4));
	archive_close(&archive);
}

/* ---- more memory than a file of that size ever takes --------------------------------------------- */

static void refuse_file(void)
{
	struct archive archive;

	assert_int_equal(archive_read(&archive, file.fd, NULL), -E2BIG);
}

static void test_memory_of_numbers(void **state)
{
	say_image(2, 0, MAX_NUMBERS / 2);
	end_section(ARCHIVE_PROCESS);
	refuse_file();
}

static void test_memory_of_kernel_symbols(void **state)
{
	const size_t part = SECTION_MAX_BYTES;
	char *text = malloc(part);
	int i;

	assert_non_null(text);
	memset(text, '\n', part);
	for (i = 0; i < 3; i++)
		assert_int_equal(section_write(file.sections, ARCHIVE_KERNEL, text, part), 0);
	free(text);
	refuse_file();
}

static void test_memory_of_images(void **state)
{
	uint32_t i;

	for (i = 1; i <= MANY_MORE; i++)
		say_image(i, 0, 0);
	end_section(ARCHIVE_PROCESS);
	refuse_file();
}

static void test_memory_of_buffers(void **state)
{
	uint32_t i;

	for (i = 1; i <= MANY; i++)
		say_image(i, 0, 0);
	end_section(ARCHIVE_PROCESS);
	for (i = 1; i <= MANY; i++)
		say_run(i, 1);
	end_section(ARCHIVE_BLOCKS);
	refuse_file();
}

/* Serial numbers of files are places in a list. */
static void test_memory_of_files(void **state)
{
	say(1U << 24);
	say(0);
	say(1);
	say(2);
	say(0);
	pack_string(&file.records, "/x");
	end_section(ARCHIVE_FILE);
	refuse_file();
}

static void say_mappings(uint32_t tgid, size_t count)
{
	size_t i;

	begin_image(tgid, 0, 1);
	say_thread(0, tgid);
	say(count);
	for (i = 0; i < count; i++)
		say_mapping(0x1000 + i * 0x1000, 0x1000);
}

/* However many there are, each costs the logarithm of their number. */
static void test_mappings(void **state)
{
	struct archive archive;

	write_one_file();
	say_mappings(1, MAX_MAPPINGS - 2);
	say_mappings(2, 1);
	end_section(ARCHIVE_PROCESS);
	say_mappings(3, MAX_MAPPINGS);
	say_image(4, 0, 0);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	assert_int_equal(processes_latest(archive.processes, 1)->space.count, MAX_MAPPINGS - 2);
	assert_int_equal(processes_latest(archive.processes, 2)->space.count, 1);
	assert_int_equal(processes_latest(archive.processes, 3)->space.count, MAX_MAPPINGS);
	assert_non_null(processes_latest(archive.processes, 4));
	assert_int_equal(archive.bad_sections, 0);
	archive_close(&archive);
}

/* Many execs of one process are fine in the order in which they happened. */
static void test_images_of_one_pid(void **state)
{
	struct archive archive;
	const struct process *process;
	uint32_t i;

	for (i = 0; i < MANY; i++)
		say_image(7, i, 0);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	assert_int_equal(processes_count(archive.processes), MANY);
	process = processes_latest(archive.processes, 7);
	assert_int_equal(process->exec_id, MANY - 1);
	assert_int_equal(process->life, MANY - 1);
	assert_int_equal(processes_at(archive.processes, 0)->life, 0);
	assert_int_equal(archive.bad_sections, 0);
	archive_close(&archive);
}

/* Against that order, each is searched for its place, until that is too much. */
static void test_images_out_of_order(void **state)
{
	const size_t most = 16385; /* 16384 * 16385 / 2 > 1 << 27 */
	struct archive archive;
	uint32_t i;

	for (i = MANY; i; i--)
		say_image(7, i, 0);
	say_image(8, 0, 0);
	end_section(ARCHIVE_PROCESS);
	archive = read_file();
	assert_int_equal(processes_count(archive.processes), most + 1);
	assert_non_null(processes_latest(archive.processes, 8));
	assert_int_equal(archive.bad_sections, 1);
	archive_close(&archive);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void say_facts(uint64_t count, uint64_t value)
{
	say(START_NS);
	say(0);
	say(0);
	say(0); /* pauses */
	say(count);
	while (count--) {
		pack_string(&file.records, "samples");
		say(value);
		pack_string(&file.records, NULL);
	}
}

/* Those of the last END that has some which make sense. */
static void test_facts(void **state)
{
	struct archive archive;

	say_facts(1, 1);
	end_section(ARCHIVE_END);
	say_facts(MAX_FACTS, 2);
	end_section(ARCHIVE_END);
	say_facts(0, 0);
	end_section(ARCHIVE_END);
	say_facts(MAX_FACTS + 1, 3);
	end_section(ARCHIVE_END);
	say_facts(1, 4);
	file.records.count--; /* cut off */
	end_section(ARCHIVE_END);
	archive = read_file();
	assert_int_equal(archive.bad_sections, 2);
	assert_int_equal(archive.facts.log_count, MAX_FACTS);
	assert_string_equal(archive.facts.log[MAX_FACTS - 1].name, "samples");
	assert_int_equal(archive.facts.log[MAX_FACTS - 1].value, 2);
	archive_close(&archive);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_unknown_image),
		FRESH(test_image_without_threads),
		FRESH(test_thread_numbers),
		FRESH(test_memory_of_numbers),
		FRESH(test_memory_of_kernel_symbols),
		FRESH(test_memory_of_images),
		FRESH(test_memory_of_buffers),
		FRESH(test_memory_of_files),
		FRESH(test_number_of_the_dead),
		FRESH(test_mappings),
		FRESH(test_images_of_one_pid),
		FRESH(test_images_out_of_order),
		FRESH(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
