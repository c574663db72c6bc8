/* SPDX-License-Identifier: BSD-2-Clause */
/* test_capture_files.c - files of raw captures become as few recordings as there are clocks, and each process id stays its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "archive/archive.h"
#include "archive/capture_files.h"
#include "base/error.h"
#include "base/fd.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#define MS 1000000ULL
#define TGID 42

static char directory[] = "/tmp/geckobpf-captures.XXXXXX";

/* What a file is of: a process that has a sample every ms. */
struct wish {
	const char *name, *boot_id;
	uint64_t start_ns, end_ns, start_real_ns;
	uint64_t interval_ns; /* 0: MS */
};

static const char *path_of(const char *name)
{
	static char paths[8][64];
	static size_t next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

/* ---- files ----------------------------------------------------------------------------- */

static void put_samples(struct archive *archive, const struct wish *wish)
{
	const struct gb_task task = {.tgid = TGID, .tid = TGID, .start_ns = 7, .group_start_ns = 7};
	struct sample_entry sample = {.weight = 1, .user_end = 1};
	struct thread *thread;

	assert_int_equal(processes_thread(archive->processes, &task, &thread), 0);
	assert_int_equal(archive_need_buffer(archive, thread->process), 0);
	for (sample.time_ns = wish->start_ns; sample.time_ns < wish->end_ns; sample.time_ns += MS)
		assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &sample), 0);
}

static int write_fd(void *context, const void *bytes, size_t size)
{
	return fd_write_all(*(int *)context, bytes, size);
}

static void write_file(const struct archive *archive, const char *name)
{
	int fd = open(path_of(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	const struct section_sink sink = {write_fd, &fd};
	const struct recording recording = {.facts = &archive->facts,
					    .processes = archive->processes,
					    .objects = archive->objects};
	struct section_writer *writer;

	assert_int_equal(section_writer_open(&writer, &sink), 0);
	assert_int_equal(archive_write(writer, &recording, NULL, NULL), 0);
	section_writer_close(writer);
	close(fd);
}

static void make_file(const struct wish *wish)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	struct archive archive = {.kallsyms_fd = -1};

	archive.facts = (struct recording_facts){
		.product = wish->name,
		.boot_id = wish->boot_id,
		.began_ns = wish->start_ns,
		.start_ns = wish->start_ns,
		.end_ns = wish->end_ns,
		.start_real_ns = wish->start_real_ns,
		.interval_ns = wish->interval_ns ? wish->interval_ns : MS,
	};
	assert_int_equal(processes_open(&archive.processes), 0);
	assert_int_equal(objects_open(&archive.objects, 0), 0);
	assert_int_equal(profile_memory_open(&archive.memory, &config), 0);
	put_samples(&archive, wish);
	write_file(&archive, wish->name);
	archive_close(&archive);
}

/* Two of one boot that overlap, in either order of their names; one of another boot, and one that does not tell. */
static const struct wish wishes[] = {
	{"late", "boot", 150 * MS, 250 * MS, 10150 * MS, 0},
	{"early", "boot", 100 * MS, 200 * MS, 10100 * MS, 0},
	{"other", "other boot", 5000 * MS, 5100 * MS, 10050 * MS, 0},
	{"silent", NULL, 100 * MS, 110 * MS, 10300 * MS, 2 * MS},
};

static int setup(void **state)
{
	size_t i;

	if (!mkdtemp(directory))
		return -1;
	for (i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		make_file(&wishes[i]);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* ---- what came of them ------------------------------------------------------------------ */

static uint64_t samples_of(const struct captured_boot *boot)
{
	return profile_buffer_get_state(processes_latest(boot->archive.processes, TGID)->buffer)
		.pushed;
}

static void assert_boot(const struct captured_boot *boot, uint64_t samples, uint32_t life,
			uint64_t lead_ns)
{
	assert_int_equal(processes_count(boot->archive.processes), 1);
	assert_int_equal(samples_of(boot), samples);
	assert_int_equal(processes_latest(boot->archive.processes, TGID)->life, life);
	assert_int_equal(boot->facts.lead_ns, lead_ns);
}

/* What was said of the last ones that were read. */
static struct {
	struct error error, warning; /* the last of each */
	size_t warnings;
} said;

static void take_warning(void *context, const struct error *warning)
{
	said.warning = *warning;
	said.warnings++;
}

static int read_captures(struct capture_files *out, const char *const *paths, size_t count)
{
	const struct warning_sink warnings = {take_warning, NULL};

	memset(&said, 0, sizeof(said));
	return capture_files_read(out, paths, count, NULL, &warnings, &said.error);
}

static void assert_error(int number, const char *object, const char *cause, const char *remedy)
{
	assert_int_equal(said.error.number, number);
	assert_string_equal(said.error.object, object);
	assert_string_equal(said.error.cause, cause);
	assert_string_equal(said.error.remedy, remedy);
}

static void test_boots(void **state)
{
	const char *paths[] = {path_of("late"), path_of("silent"), path_of("early"),
			       path_of("other")};
	struct capture_files captures;

	assert_int_equal(read_captures(&captures, paths, 4), 0);
	assert_int_equal(captures.count, 3);
	assert_boot(&captures.items[0], 100, 0, 0);
	assert_boot(&captures.items[1], 150, 1, 50 * MS);
	assert_boot(&captures.items[2], 10, 2, 250 * MS);
	assert_int_equal(captures.items[1].facts.start_ns, 100 * MS);
	assert_int_equal(captures.items[1].facts.end_ns, 250 * MS);
	/* In the clock of the first boot. */
	assert_int_equal(captures.whole->start_ns, 5000 * MS);
	assert_int_equal(captures.whole->end_ns, 5260 * MS);
	assert_int_equal(captures.whole->pause_count, 1);
	assert_int_equal(captures.whole->pauses[0].start_ns, 5200 * MS);
	assert_int_equal(captures.whole->pauses[0].end_ns, 5250 * MS);
	assert_int_equal(captures.whole->part_count, 4);
	assert_string_equal(captures.whole->product, "other, early, late, silent");
	capture_files_close(&captures);
}

static void test_one(void **state)
{
	const char *paths[] = {path_of("early")};
	struct capture_files captures;

	assert_int_equal(read_captures(&captures, paths, 1), 0);
	assert_int_equal(captures.count, 1);
	assert_boot(&captures.items[0], 100, 0, 0);
	assert_string_equal(captures.whole->product, "early");
	assert_int_equal(captures.whole->part_count, 0);
	capture_files_close(&captures);
}

static void test_twice(void **state)
{
	const char *paths[] = {path_of("early"), path_of("early")};
	struct capture_files captures;

	assert_int_equal(read_captures(&captures, paths, 2), 0);
	assert_int_equal(captures.count, 1);
	assert_boot(&captures.items[0], 100, 0, 0);
	assert_int_equal(captures.whole->part_count, 2);
	capture_files_close(&captures);
}

/* One without its last bytes, as a file of its own. */
static void cut_off(const char *name, const char *cut_name, size_t bytes)
{
	char *whole;
	size_t size;
	int fd = open(path_of(cut_name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(fd_read_file(path_of(name), &whole, &size), 0);
	assert_true(bytes < size);
	assert_int_equal(fd_write_all(fd, whole, size - bytes), 0);
	close(fd);
	free(whole);
}

static void test_warnings(void **state)
{
	const char *cut[] = {path_of("cut")}, *rates[] = {path_of("early"), path_of("silent")};
	struct capture_files captures;

	cut_off("early", "cut", 1);
	assert_int_equal(read_captures(&captures, cut, 1), 0);
	capture_files_close(&captures);
	assert_int_equal(said.warnings, 2);
	assert_string_equal(said.warning.object, path_of("cut"));
	assert_non_null(strstr(said.warning.cause, "has no end: the recording was killed"));
	assert_int_equal(read_captures(&captures, rates, 2), 0);
	capture_files_close(&captures);
	assert_int_equal(said.warnings, 1);
	assert_non_null(strstr(said.warning.cause, "was recorded at another rate than others"));
}

/* One that cannot be read spoils all: a profile that lacks it would not say so. */
static void test_errors(void **state)
{
	const char *missing[] = {path_of("early"), path_of("missing")};
	const char *garbage[] = {path_of("garbage"), path_of("early")};
	struct capture_files captures;
	int fd = open(path_of("garbage"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, "garbage", 7), 0);
	close(fd);
	assert_int_equal(read_captures(&captures, missing, 2), -ENOENT);
	assert_error(-ENOENT, path_of("missing"), "cannot read it: No such file or directory", "");
	assert_int_equal(read_captures(&captures, garbage, 2), -EBADMSG);
	assert_error(-EBADMSG, path_of("garbage"),
		     "not a raw capture (.gbpf), or damaged at its beginning", "");
	assert_int_equal(said.warnings, 0);
}

static void test_no_memory(void **state)
{
	const char *paths[] = {path_of("late"), path_of("early"), path_of("other")};
	size_t n, failed = 0;
	bool has_failed = true;

	for (n = 1; has_failed; n++) {
		struct capture_files captures;
		int err;

		alloc_fail_at(n);
		err = read_captures(&captures, paths, 3);
		has_failed = alloc_fail_stop();
		/* Entries that could not be put for lack of memory are counted. */
		assert_true(!err || (has_failed && err == -ENOMEM));
		failed += err != 0;
		if (!err)
			capture_files_close(&captures);
	}
	assert_true(failed > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boots),    cmocka_unit_test(test_one),
		cmocka_unit_test(test_twice),    cmocka_unit_test(test_errors),
		cmocka_unit_test(test_warnings), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
