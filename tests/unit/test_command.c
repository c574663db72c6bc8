/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that we start: it waits for us, runs as told, and leaves neither zombie nor descriptor behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <stdbool.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/account.h"
#include "target/command.h"

#include "alloc.h"
#include "child.h"

static const struct account nobody_asked;
static sigset_t empty_mask;
static const struct command_legacy legacy = {.mask = &empty_mask};

#define SH(script) ((char *[]){(char *)"/bin/sh", (char *)"-c", (char *)(script), NULL})
#define PROGRAM(path) ((char *[]){(char *)(path), NULL})

static struct command *start(char *const argv[])
{
	struct command *command = NULL;

	assert_int_equal(command_start(&command, argv, &nobody_asked, &legacy), 0);
	assert_true(command_pid(command) > 0);
	return command;
}

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Runs to the end; what it ended with. */
static int status_of(char *const argv[])
{
	struct command *command = start(argv);
	int status = -1;

	assert_int_equal(command_release(command), 0);
	assert_int_equal(command_wait(command, true, &status), 1);
	command_close(command);
	assert_no_children();
	return status;
}

static void test_exit_status(void **state)
{
	assert_int_equal(status_of(SH("exit 0")), 0);
	assert_int_equal(status_of(SH("exit 7")), 7);
	assert_int_equal(status_of(SH("exit 255")), 255);
}

static void test_killed_by_signal(void **state)
{
	assert_int_equal(status_of(SH("kill -TERM $$")), 128 + SIGTERM);
	assert_int_equal(status_of(SH("kill -KILL $$")), 128 + SIGKILL);
}

/* We ignore SIGPIPE; the program does not. */
static void test_sigpipe(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(status_of(SH("kill -PIPE $$; exit 3")), 128 + SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
}

/* The mask is the one given, not ours. */
static void test_mask(void **state)
{
	sigset_t block, before;

	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &block, &before), 0);
	assert_int_equal(status_of(SH("kill -TERM $$; exit 3")), 128 + SIGTERM);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void ignore(int number)
{
	(void)number;
}

/* One that came before the program began ends it, whatever handler we have; but not if it is ignored. */
static void test_no_handlers(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	const struct account nobody = {0};
	struct command *command;
	sigset_t block, before;
	int i, status;

	for (i = 0; i < 4; i++) {
		const struct command_legacy unblocked = {.mask = &before};
		const int number = numbers[i % 3];

		sigemptyset(&block);
		sigaddset(&block, number);
		assert_int_equal(sigprocmask(SIG_BLOCK, &block, &before), 0);
		signal(number, i < 3 ? ignore : SIG_IGN);
		assert_int_equal(command_start(&command, SH("exit 3"), &nobody, &unblocked), 0);
		assert_int_equal(kill(command_pid(command), number), 0);
		assert_int_equal(command_release(command), 0);
		assert_int_equal(command_wait(command, true, &status), 1);
		assert_int_equal(status, i < 3 ? 128 + number : 3);
		command_close(command);
		signal(number, SIG_DFL);
		assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	}
}

static void read_exe(pid_t pid, char *out, size_t size)
{
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	got = readlink(path, out, size - 1);
	assert_true(got > 0);
	out[got] = '\0';
}

static void test_waits_for_release(void **state)
{
	struct command *command = start(SH("exit 5"));
	char ours[4096], theirs[4096];
	int status = 99;

	read_exe(getpid(), ours, sizeof(ours));
	read_exe(command_pid(command), theirs, sizeof(theirs));
	assert_string_equal(theirs, ours);
	assert_int_equal(command_wait(command, false, &status), 0);
	assert_int_equal(status, 99);
	assert_int_equal(command_release(command), 0);
	assert_int_equal(command_wait(command, true, &status), 1);
	assert_int_equal(status, 5);
	/* It is told again, and there is no pid any more. */
	status = 99;
	assert_int_equal(command_wait(command, false, &status), 1);
	assert_int_equal(status, 5);
	assert_int_equal(command_pid(command), 0);
	command_close(command);
}

static void assert_exec_fails(const char *path, int want)
{
	struct command *command = start(PROGRAM(path));

	assert_int_equal(command_release(command), want);
	assert_int_equal(command_pid(command), 0);
	assert_no_children();
	command_close(command);
}

static void test_exec_errors(void **state)
{
	assert_exec_fails("/nonexistent/program", -ENOENT);
	assert_exec_fails("no-such-program-in-path", -ENOENT);
	assert_exec_fails("", -ENOENT);
	assert_exec_fails("/tmp", -EACCES);
	assert_exec_fails("/dev/null", -EACCES);
	assert_exec_fails("/dev/null/x", -ENOTDIR);
}

static void test_closed_unreleased(void **state)
{
	struct command *command = start(SH("exit 0"));

	command_close(command);
	assert_no_children();
	command_close(NULL);
}

/* It was released: it lives on, it is not ours to kill. */
static void test_closed_running(void **state)
{
	struct command *command;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
	assert_int_equal(dup2(fds[0], 9), 9);
	command = start(SH("read x <&9; exit 4"));
	pid = command_pid(command);
	assert_int_equal(command_release(command), 0);
	command_close(command);
	assert_int_equal(kill(pid, 0), 0);
	close(fds[0]);
	close(9);
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 4);
}

/* Killed while it waited. */
static void test_dies_before_release(void **state)
{
	struct command *command = start(SH("exit 0"));
	int status = -1;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(kill(command_pid(command), SIGKILL), 0);
	assert_int_equal(command_wait(command, true, &status), 1);
	assert_int_equal(status, 128 + SIGKILL);
	assert_int_equal(command_release(command), -EPIPE);
	signal(SIGPIPE, SIG_DFL);
	command_close(command);
	assert_no_children();
}

static void test_runs_as_user(void **state)
{
	const struct account account = {.is_set = true,
					.uid = 1234,
					.gid = 5678,
					.name = "someone",
					.home = "/h",
					.groups = {5678},
					.group_count = 1};
	struct command *command;
	int status = -1;

	if (geteuid())
		skip();
	assert_int_equal(command_start(&command,
				       SH("test $(id -u).$(id -g).$(id -G).$HOME.$USER = "
					  "1234.5678.5678./h.someone"),
				       &account, &legacy),
			 0);
	assert_int_equal(command_release(command), 0);
	assert_int_equal(command_wait(command, true, &status), 1);
	assert_int_equal(status, 0);
	command_close(command);
}

static size_t count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void test_no_descriptor_stays(void **state)
{
	size_t before = count_descriptors();

	status_of(SH("exit 0"));
	assert_exec_fails("/nonexistent/program", -ENOENT);
	command_close(start(SH("exit 0")));
	assert_int_equal(count_descriptors(), before);
}

static bool has_only_inherited(pid_t pid)
{
	bool only = true;
	struct dirent *entry;
	DIR *directory;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] != '.' &&
		    fcntl((int)strtol(entry->d_name, NULL, 10), F_GETFD) != 0)
			only = false;
	}
	closedir(directory);
	return only;
}

/* While the program is loaded, it has its libraries open now and then; a descriptor of ours would stay. */
static void assert_only_inherited(pid_t pid)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	int looks;

	for (looks = 0; looks < 5000 && !has_only_inherited(pid); looks++)
		nanosleep(&moment, NULL);
	assert_true(looks < 5000);
}

/* Neither its own pipes nor those of another command that waits; what we have and do not close on exec, it has too. */
static void test_program_gets_no_descriptor(void **state)
{
	struct command *other = start(SH("exit 0")), *command = start(SH("exec sleep 1000"));
	int status = -1;

	assert_int_equal(command_release(command), 0);
	assert_only_inherited(command_pid(command));
	assert_int_equal(kill(command_pid(command), SIGKILL), 0);
	assert_int_equal(command_wait(command, true, &status), 1);
	assert_int_equal(status, 128 + SIGKILL);
	command_close(command);
	command_close(other);
}

/* Room for `spare` more descriptors: both pipes need four. */
static int start_with_few_descriptors(void *context)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC), spare = *(int *)context, err;
	const struct rlimit limit = {(rlim_t)(first + spare), (rlim_t)(first + spare)};
	struct command *command = NULL;

	close(first);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	err = command_start(&command, SH("exit 0"), &nobody_asked, &legacy);
	if (spare >= 4)
		command_close(command);
	else if (command || err != -EMFILE ||
		 open("/dev/null", O_RDONLY | O_CLOEXEC) != (spare ? first : -1))
		return 2;
	return err && spare >= 4 ? 3 : 0;
}

static void test_no_descriptors(void **state)
{
	int spare;

	for (spare = 0; spare <= 4; spare++)
		assert_int_equal(in_child(start_with_few_descriptors, &spare), 0);
}

static int start_and_close(void *context)
{
	struct command *command;
	int err = command_start(&command, SH("exit 0"), &nobody_asked, &legacy);

	if (!err)
		command_close(command);
	return err;
}

static void test_no_memory(void **state)
{
	assert_int_equal(alloc_fail_each(start_and_close, NULL), 1);
	assert_no_children();
}

static int setup(void **state)
{
	return sigemptyset(&empty_mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_killed_by_signal),
		cmocka_unit_test(test_sigpipe),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_no_handlers),
		cmocka_unit_test(test_waits_for_release),
		cmocka_unit_test(test_exec_errors),
		cmocka_unit_test(test_closed_unreleased),
		cmocka_unit_test(test_closed_running),
		cmocka_unit_test(test_dies_before_release),
		cmocka_unit_test(test_runs_as_user),
		cmocka_unit_test(test_no_descriptor_stays),
		cmocka_unit_test(test_program_gets_no_descriptor),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
