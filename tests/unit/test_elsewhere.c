/* SPDX-License-Identifier: BSD-2-Clause */
/* test_elsewhere.c - where a file goes that cannot be where it should be: places in their order, disks, names. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "session/elsewhere.h"

#define MAX_TRIES 8

static struct {
	char paths[MAX_TRIES][PATH_MAX];
	int results[MAX_TRIES]; /* of each try; 0 from the last one on */
	size_t count;
} tries;

static char directory[] = "/tmp/test_rescue.XXXXXX";

static int try(void *context, const char *path)
{
	assert_true(tries.count < MAX_TRIES);
	snprintf(tries.paths[tries.count], PATH_MAX, "%s", path);
	return tries.results[tries.count++];
}

static int run(const struct elsewhere *elsewhere, const int *results, size_t count, char *out)
{
	size_t n;

	memset(&tries, 0, sizeof(tries));
	for (n = 0; n < count; n++)
		tries.results[n] = results[n];
	return elsewhere_write(elsewhere, try, &tries, out, PATH_MAX);
}

static int setup(void **state)
{
	char path[PATH_MAX];

	if (!mkdtemp(directory) || chdir(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/own", directory);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof(path), "%s/temporary", directory);
	return mkdir(path, 0700) || setenv("TMPDIR", path, 1);
}

static int teardown(void **state)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/temporary", directory);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/own", directory);
	rmdir(path);
	return chdir("/") || rmdir(directory);
}

static void assert_try(size_t n, const char *format)
{
	char wanted[PATH_MAX];

	snprintf(wanted, sizeof(wanted), format, directory);
	assert_string_equal(tries.paths[n], wanted);
}

/* Nothing is wrong with the disk. */
static void the_file_is_beside_where_it_should_be(void **state)
{
	char path[PATH_MAX], out[PATH_MAX];
	const struct elsewhere elsewhere = {.path = path, .suffix = ".gbpf"};

	snprintf(path, sizeof(path), "%s/own/p.json.gz", directory);
	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_int_equal(tries.count, 1);
	assert_try(0, "%s/own/p.gbpf");
	assert_string_equal(out, tries.paths[0]);
}

static void each_place_is_tried_until_one_takes_it(void **state)
{
	static const int results[] = {-EACCES, -EIO, -EACCES, -EROFS};
	char path[PATH_MAX], out[PATH_MAX];
	const struct elsewhere elsewhere = {.path = path, .suffix = ".gbpf"};

	snprintf(path, sizeof(path), "%s/own/p.json", directory);
	assert_int_equal(run(&elsewhere, results, 4, out), 0);
	assert_int_equal(tries.count, 5);
	assert_try(0, "%s/own/p.gbpf");
	assert_try(1, "%s/temporary/p.gbpf");
	assert_try(2, "/var/tmp/p.gbpf");
	assert_try(3, "/tmp/p.gbpf");
	assert_string_equal(out, "./p.gbpf");
}

static void when_no_place_takes_it_the_last_error_is_told(void **state)
{
	static const int results[] = {-EACCES, -EACCES, -EACCES, -EACCES, -EROFS};
	char out[PATH_MAX];
	const struct elsewhere elsewhere = {.path = "own/p.json", .suffix = ".gbpf"};

	assert_int_equal(run(&elsewhere, results, 5, out), -EROFS);
	assert_int_equal(tries.count, 5);
	assert_string_equal(out, "./p.gbpf");
}

static void what_no_other_place_helps_ends_it(void **state)
{
	static const int causes[] = {-EINTR, -ENOMEM};
	char out[PATH_MAX];
	const struct elsewhere elsewhere = {.path = "own/p.json", .suffix = ".gbpf"};
	size_t n;

	for (n = 0; n < 2; n++) {
		assert_int_equal(run(&elsewhere, &causes[n], 1, out), causes[n]);
		assert_int_equal(tries.count, 1);
	}
}

static dev_t disk_of(const char *path)
{
	struct stat at;

	assert_int_equal(stat(path, &at), 0);
	return at.st_dev;
}

/* /dev/shm is a disk of its own nearly everywhere. */
static bool has_two_disks(void)
{
	return !access("/dev/shm", X_OK) && disk_of("/dev/shm") != disk_of(directory) &&
	       disk_of("/var/tmp") == disk_of(directory) && disk_of("/tmp") == disk_of(directory);
}

static void the_disk_that_failed_comes_last(void **state)
{
	static const int results[] = {-EACCES, -EACCES, -EACCES, -EACCES};
	char out[PATH_MAX];
	struct elsewhere elsewhere = {
		.path = "/dev/shm/p.json", .failed = directory, .suffix = ".gbpf"};

	if (!has_two_disks())
		skip();
	assert_int_equal(run(&elsewhere, results, 4, out), 0);
	assert_int_equal(tries.count, 5);
	assert_string_equal(tries.paths[0], "/dev/shm/p.gbpf");
	assert_try(1, "%s/temporary/p.gbpf");
	assert_string_equal(out, "./p.gbpf");
	elsewhere.failed = "/dev/shm";
	assert_int_equal(run(&elsewhere, results, 4, out), 0);
	assert_try(0, "%s/temporary/p.gbpf");
	assert_string_equal(out, "/dev/shm/p.gbpf");
}

static void a_full_disk_is_filled_once(void **state)
{
	static const int results[] = {-ENOSPC, -ENOSPC, -ENOSPC, -ENOSPC, -ENOSPC};
	char out[PATH_MAX];
	const struct elsewhere elsewhere = {
		.path = "own/p.json", .failed = "own", .suffix = ".gbpf"};
	size_t n, other;

	assert_int_equal(run(&elsewhere, results, 5, out), -ENOSPC);
	assert_true(tries.count >= 1);
	for (n = 0; n < tries.count; n++)
		*strrchr(tries.paths[n], '/') = '\0';
	for (n = 0; n < tries.count; n++)
		for (other = 0; other < n; other++)
			assert_true(disk_of(tries.paths[n]) != disk_of(tries.paths[other]));
}

static void no_file_is_replaced(void **state)
{
	static const char *const names[] = {"own/p.gbpf", "own/p-2.gbpf"};
	char out[PATH_MAX];
	const struct elsewhere elsewhere = {.path = "own/p.json.zst", .suffix = ".gbpf"};

	assert_int_equal(symlink("/nonexistent", names[0]), 0);
	assert_int_equal(symlink("/nonexistent", names[1]), 0);
	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_string_equal(out, "own/p-3.gbpf");
	unlink(names[0]);
	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_string_equal(out, "own/p.gbpf");
	unlink(names[1]);
}

static void stdout_has_a_name_and_no_directory(void **state)
{
	char out[PATH_MAX];
	const struct elsewhere elsewhere = {
		.path = "-", .failed = "/dev/stdout", .suffix = ".gbpf", .stdout_name = "app-42"};

	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_try(0, "%s/temporary/app-42.gbpf");
}

static void places_that_are_none_are_left_out(void **state)
{
	char out[PATH_MAX], was[PATH_MAX];
	const struct elsewhere elsewhere = {.path = "missing/p.json", .suffix = ".gbpf"};

	snprintf(was, sizeof(was), "%s", getenv("TMPDIR"));
	setenv("TMPDIR", "", 1);
	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_string_equal(out, "/var/tmp/p.gbpf");
	setenv("TMPDIR", "/proc/version", 1);
	assert_int_equal(run(&elsewhere, NULL, 0, out), 0);
	assert_string_equal(out, "/var/tmp/p.gbpf");
	setenv("TMPDIR", was, 1);
	assert_int_equal(
		run(&(struct elsewhere){.path = "/p.json", .suffix = ".gbpf"}, NULL, 0, out), 0);
	assert_string_equal(out, "/./p.gbpf");
	assert_int_equal(
		run(&(struct elsewhere){.path = "p.json", .suffix = ".gbpf"}, NULL, 0, out), 0);
	assert_string_equal(out, "./p.gbpf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_beside_where_it_should_be),
		cmocka_unit_test(each_place_is_tried_until_one_takes_it),
		cmocka_unit_test(when_no_place_takes_it_the_last_error_is_told),
		cmocka_unit_test(what_no_other_place_helps_ends_it),
		cmocka_unit_test(the_disk_that_failed_comes_last),
		cmocka_unit_test(a_full_disk_is_filled_once),
		cmocka_unit_test(no_file_is_replaced),
		cmocka_unit_test(stdout_has_a_name_and_no_directory),
		cmocka_unit_test(places_that_are_none_are_left_out),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
