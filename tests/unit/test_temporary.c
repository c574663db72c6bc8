/* SPDX-License-Identifier: BSD-2-Clause */
/* test_temporary.c - files that are whole or not there, whatever ends the process that writes them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/temporary.h"

#include "alloc.h"

static char directory[] = "/tmp/test_temporary.XXXXXX", path[64];

static int setup(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/p.json", directory);
	return 0;
}

static int teardown(void **state)
{
	return rmdir(directory); /* which is empty */
}

static char *make(void)
{
	char *name = NULL;
	int fd = temporary_create(path, &name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	return name;
}

static void it_has_its_name_when_it_is_finished(void **state)
{
	char wanted[128], *name = make();

	snprintf(wanted, sizeof(wanted), "%s/.p.json.%d.tmp", directory, (int)getpid());
	assert_string_equal(name, wanted);
	assert_int_equal(access(name, F_OK), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(temporary_rename(&name, path), 0);
	assert_null(name);
	assert_int_equal(access(wanted, F_OK), -1);
	assert_int_equal(unlink(path), 0);
}

static void it_can_be_removed(void **state)
{
	char *name = make(), *none = NULL;

	temporary_remove(&name);
	assert_null(name);
	temporary_remove(&none);
}

static void errors_leave_nothing(void **state)
{
	char missing[128], *name = NULL, *other = make();

	snprintf(missing, sizeof(missing), "%s/missing/p.json", directory);
	assert_int_equal(temporary_create(missing, &name), -ENOENT);
	assert_null(name);
	assert_int_equal(temporary_rename(&other, missing), -ENOENT);
	assert_non_null(other);
	alloc_fail_at(1);
	assert_int_equal(temporary_create(path, &name), -ENOMEM);
	assert_true(alloc_fail_stop());
	temporary_remove(&other);
}

/* What a killed process of the same id left is not touched. */
static void a_name_that_is_taken_is_not_used(void **state)
{
	char wanted[128], *first = make(), *second = make(), *third;

	snprintf(wanted, sizeof(wanted), "%s/.p.json.%d-2.tmp", directory, (int)getpid());
	assert_string_equal(second, wanted);
	third = make();
	snprintf(wanted, sizeof(wanted), "%s/.p.json.%d-3.tmp", directory, (int)getpid());
	assert_string_equal(third, wanted);
	temporary_remove(&second);
	assert_int_equal(temporary_rename(&third, path), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(access(first, F_OK), 0);
	temporary_remove(&first);
}

/* How a process ended that was sent `number` while it had temporaries. */
static int end_of_child(int number, bool is_ignored)
{
	pid_t child = fork();
	char *finished;
	int status;

	if (!child) {
		if (is_ignored)
			signal(number, SIG_IGN);
		temporary_guard();
		make();
		finished = make();
		make();
		temporary_remove(&finished);
		raise(number);
		_exit(7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_signal_that_ends_the_process_removes_them(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	size_t n;

	for (n = 0; n < 4; n++) {
		int status = end_of_child(numbers[n], false);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[n]);
	}
	/* teardown() finds the directory empty. */
}

static void a_child_leaves_its_parents_alone(void **state)
{
	char *name = make();
	int status = end_of_child(SIGTERM, false);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(access(name, F_OK), 0);
	temporary_remove(&name);
}

static void a_signal_that_was_ignored_still_is(void **state)
{
	int status = end_of_child(SIGHUP, true);
	char left[64];

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	snprintf(left, sizeof(left), "rm %s/.p.json.*.tmp", directory);
	assert_int_equal(system(left), 0);
}

/* With a file that is finished already, and a limit that another one meets. */
static void child_of_limits(void)
{
	const struct rlimit limit = {1, RLIM_INFINITY};
	char *name = make();
	int fd;

	temporary_guard();
	if (temporary_rename(&name, path))
		_exit(1);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(2);
	fd = temporary_create(path, &name);
	if (write(fd, "xy", 2) != 1 || write(fd, "y", 1) != -1 || errno != EFBIG)
		_exit(3);
	temporary_remove(&name);
	raise(SIGTERM);
	_exit(4);
}

static void a_file_size_limit_is_an_error(void **state)
{
	pid_t child = fork();
	int status;

	if (!child)
		child_of_limits();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_its_name_when_it_is_finished),
		cmocka_unit_test(it_can_be_removed),
		cmocka_unit_test(errors_leave_nothing),
		cmocka_unit_test(a_name_that_is_taken_is_not_used),
		cmocka_unit_test(a_signal_that_ends_the_process_removes_them),
		cmocka_unit_test(a_child_leaves_its_parents_alone),
		cmocka_unit_test(a_signal_that_was_ignored_still_is),
		cmocka_unit_test(a_file_size_limit_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
