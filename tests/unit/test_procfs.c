/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says: lines of maps files, good and bad, and processes in every state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/shared_text.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"
#include "target/procfs.h"

#include "alloc.h"
#include "child.h"

/* ---- lines of maps ------------------------------------------------------------------------------ */

static void test_good_lines(void **state)
{
	static const struct {
		const char *line;
		struct maps_line want;
	} cases[] = {
		{"7f12a000-7f12b000 r-xp 00001000 fe:01 1234      /usr/lib/libx.so",
		 {0x7f12a000, 0x7f12b000, 0x1000, 0xfe01, 1234, true, "/usr/lib/libx.so"}},
		{"7f12a000-7f12b000 r--p 00000000 fe:01 1234 /a b  c",
		 {0x7f12a000, 0x7f12b000, 0, 0xfe01, 1234, false, "/a b  c"}},
		{"00400000-00401000 rwxs 00000000 00:2a 18446744073709551615   /x (deleted)",
		 {0x400000, 0x401000, 0, 0x2a, UINT64_MAX, true, "/x (deleted)"}},
		{"7ffd1000-7ffd3000 r-xp 00000000 00:00 0                          [vdso]",
		 {0x7ffd1000, 0x7ffd3000, 0, 0, 0, true, "[vdso]"}},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0     [vsyscall]",
		 {0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, true, "[vsyscall]"}},
		{"7f000000-7f001000 r-xp 00000000 00:00 0 ",
		 {0x7f000000, 0x7f001000, 0, 0, 0, true, ""}},
		{"7f000000-7f001000 r-xp 00000000 00:00 0",
		 {0x7f000000, 0x7f001000, 0, 0, 0, true, ""}},
		{"0-1 r-xp fffffffffffff000 10000:0 7 /\x80\xff\t",
		 {0, 1, 0xfffffffffffff000, 0x1000000000000ULL, 7, true, "/\x80\xff\t"}},
	};
	struct maps_line line;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(procfs_parse_maps_line(cases[i].line, &line));
		assert_true(line.start == cases[i].want.start);
		assert_true(line.end == cases[i].want.end);
		assert_true(line.offset == cases[i].want.offset);
		assert_true(line.device == cases[i].want.device);
		assert_true(line.inode == cases[i].want.inode);
		assert_int_equal(line.is_executable, cases[i].want.is_executable);
		assert_string_equal(line.path, cases[i].want.path);
	}
}

static void test_bad_lines(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"\t",
		"not a line of a maps file",
		"-7f12b000 r-xp 00001000 fe:01 1234 /x",
		"7f12a000 r-xp 00001000 fe:01 1234 /x",
		"7f12a000-",
		"7f12a000-7f12b000",
		"7f12a000-7f12b000 ",
		"7f12a000-7f12b000 r-x",
		"7f12a000-7f12b000 r-xp",
		"7f12a000-7f12b000 r-xp ",
		"7f12a000-7f12b000 r-xp00001000 fe:01 1234 /x",
		"7f12a000-7f12b000 r-xp 00001000",
		"7f12a000-7f12b000 r-xp 00001000 fe",
		"7f12a000-7f12b000 r-xp 00001000 fe:",
		"7f12a000-7f12b000 r-xp 00001000 fe:01",
		"7f12a000-7f12b000 r-xp 00001000 fe:01 ",
		"7f12a000-7f12b000 r-xp 00001000 fe:01 x /x",
		"7f12a000-7f12b000 r-xp 00001000 fe:01 -1 /x",
		"7f12a000-7f12b000 r-xp 00001000 fe:01 12x /x",
		"7f12a000-7f12b000 r-xp 00001000 fe-01 1234 /x",
		"7f12a000-7f12b000 r-xp -1000 fe:01 1234 /x",
		"7f12a000-7f12b000 r-xp +1000 fe:01 1234 /x",
		"7f12a000 -7f12b000 r-xp 00001000 fe:01 1234 /x",
		" 7f12a000-7f12b000 r-xp 00001000 fe:01 1234 /x",
		"7f12b000-7f12a000 r-xp 00001000 fe:01 1234 /x", /* ends before it starts */
		"7f12a000-7f12a000 r-xp 00001000 fe:01 1234 /x", /* empty */
		"10000000000000000-20000000000000000 r-xp 0 fe:01 1234 /x", /* more than 64 bits */
		"7f12a000-7f12b000 r-xp 10000000000000000 fe:01 1234 /x",
		"7f12g000-7f12b000 r-xp 00001000 fe:01 1234 /x",
	};
	struct maps_line line;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (procfs_parse_maps_line(lines[i], &line))
			fail_msg("taken: '%s'", lines[i]);
}

/* A line cut short anywhere, each in memory that ends where it does. */
static void test_cut_lines(void **state)
{
	static const char whole[] = "7f12a000-7f12b000 r-xp 00001000 fe:01 1234      /lib";
	size_t least = strlen("7f12a000-7f12b000 r-xp 00001000 fe:01 1"), length;
	struct maps_line line;

	for (length = 0; length < sizeof(whole); length++) {
		char *cut = strndup(whole, length);

		assert_non_null(cut);
		assert_int_equal(procfs_parse_maps_line(cut, &line), length >= least);
		free(cut);
	}
}

/* ---- mappings of a process ---------------------------------------------------------------------- */

static int check_time(void *context, const struct mapping *mapping)
{
	assert_int_equal(mapping->from_ns, 0);
	return 0;
}

static void test_own_mappings(void **state)
{
	struct address_space space = {0};
	const struct mapping *mapping;
	char exe[4096] = "";
	struct objects *objects;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(objects_open(&objects, 100), 0);
	assert_int_equal(procfs_mappings(getpid(), objects, &space), 0);
	mapping = address_space_find(&space, (uint64_t)(uintptr_t)&test_own_mappings, 0);
	assert_non_null(mapping);
	assert_string_equal(mapping->object->path, exe);
	assert_int_equal(mapping->object->kind, OBJECT_FILE);
	assert_true(mapping->object->fd >= 0);
	mapping = address_space_find(&space, (uint64_t)(uintptr_t)&getppid, 0);
	assert_non_null(mapping);
	assert_non_null(strstr(mapping->object->path, "/libc.so"));
	/* Data is not code. */
	assert_null(address_space_find(&space, (uint64_t)(uintptr_t)exe, 0));
	assert_int_equal(address_space_now(&space, check_time, NULL), 0);
	address_space_clear(&space);
	objects_close(objects);
}

static int map_self(void *context)
{
	struct address_space space = {0};
	struct objects *objects;
	int err = objects_open(&objects, 0);

	if (err)
		return err;
	err = procfs_mappings(getpid(), objects, &space);
	address_space_clear(&space);
	objects_close(objects);
	return err;
}

static void test_mappings_no_memory(void **state)
{
	assert_true(alloc_fail_each(map_self, NULL) > 8);
}

/* ---- states ----------------------------------------------------------------------------------------- */

#define NO_SUCH_PID 0x7ffffff0 /* more than the kernel ever gives */

static void test_self(void **state)
{
	struct pid_info info;
	char *comm;

	assert_int_equal(procfs_pid(getpid(), &info), 0);
	assert_int_equal(info.state, PID_RUNS);
	assert_int_equal(info.tgid, getpid());
	assert_int_equal(info.parent, getppid());
	assert_in_range(info.thread_count, 1, 2); /* LeakSanitizer and others may have one */
	assert_int_equal(fd_read_file("/proc/self/comm", &comm, NULL), 0);
	comm[strcspn(comm, "\n")] = '\0';
	assert_string_equal(info.name, comm);
	free(comm);
}

static void test_missing(void **state)
{
	struct pid_info info = {.tgid = 9};
	struct address_space space = {0};
	struct objects *objects;

	assert_int_equal(procfs_pid(NO_SUCH_PID, &info), 0);
	assert_int_equal(info.state, PID_MISSING);
	assert_string_equal(info.name, "");
	assert_int_equal(objects_open(&objects, 0), 0);
	assert_int_equal(procfs_mappings(NO_SUCH_PID, objects, &space), -ENOENT);
	assert_int_equal(space.count, 0);
	objects_close(objects);
	assert_null(procfs_cmdline(NO_SUCH_PID));
}

/* A child that has ended and is not yet waited for. */
static pid_t make_zombie(void)
{
	siginfo_t info;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	return child;
}

static void test_zombie(void **state)
{
	pid_t child = make_zombie();
	struct pid_info info;

	assert_int_equal(procfs_pid(child, &info), 0);
	assert_int_equal(info.state, PID_ZOMBIE);
	assert_int_equal(info.parent, getpid());
	assert_false(procfs_has_child(getpid())); /* that runs */
	assert_true(procfs_has_child(getppid())); /* this one */
	assert_string_not_equal(info.name, "");
	assert_null(procfs_cmdline(child));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(procfs_pid(child, &info), 0);
	assert_int_equal(info.state, PID_MISSING);
}

struct side_thread {
	pthread_barrier_t barrier;
	pid_t tid;
};

static void *wait_aside(void *context)
{
	struct side_thread *side = context;

	side->tid = gettid();
	pthread_barrier_wait(&side->barrier);
	pthread_barrier_wait(&side->barrier);
	return NULL;
}

static void test_thread_id(void **state)
{
	struct side_thread side;
	struct pid_info info;
	pthread_t thread;

	pthread_barrier_init(&side.barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_aside, &side), 0);
	pthread_barrier_wait(&side.barrier);
	assert_int_equal(procfs_pid(side.tid, &info), 0);
	assert_int_equal(info.state, PID_THREAD);
	assert_int_equal(info.tgid, getpid());
	assert_in_range(info.thread_count, 2, 3);
	pthread_barrier_wait(&side.barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&side.barrier);
}

static void test_kernel_thread(void **state)
{
	struct pid_info info;

	if (!procfs_in_initial_pid_namespace())
		skip();
	assert_int_equal(procfs_pid(2, &info), 0);
	assert_int_equal(info.state, PID_KERNEL);
	assert_string_equal(info.name, "kthreadd");
	assert_null(procfs_cmdline(2));
	assert_int_equal(procfs_pid(1, &info), 0);
	assert_int_equal(info.state, PID_RUNS);
}

static int look_up_self(void *context)
{
	struct pid_info info;

	return procfs_pid(getpid(), &info);
}

static void test_pid_no_memory(void **state)
{
	assert_int_equal(alloc_fail_each(look_up_self, NULL), 2);
}

/* ---- command lines -------------------------------------------------------------------------------- */

/* A shell that has said a line and waits for one. */
static pid_t start_shell(const char *argument, int *go, int *said)
{
	int in[2], out[2];
	pid_t child;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		execl("/bin/sh", "sh", "-c", "echo; read x", argument, "", "z", "", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*go = in[1];
	*said = out[0];
	return child;
}

static void test_cmdline(void **state)
{
	int go, said;
	pid_t child = start_shell("two  words", &go, &said);
	char *line, byte;

	assert_int_equal(read(said, &byte, 1), 1);
	line = procfs_cmdline(child);
	assert_non_null(line);
	assert_string_equal(line, "sh -c echo; read x two  words  z");
	shared_text_drop(line);
	close(go);
	close(said);
	waitpid(child, NULL, 0);
}

/* Arguments of megabytes are kept as a few kilobytes, which say that there was more. */
static void test_long_cmdline(void **state)
{
	static char argument[100000];
	int go, said;
	pid_t child;
	char *line, byte;

	memset(argument, 'a', sizeof(argument) - 1);
	child = start_shell(argument, &go, &said);
	assert_int_equal(read(said, &byte, 1), 1);
	line = procfs_cmdline(child);
	assert_non_null(line);
	assert_int_equal(strlen(line), PROCESS_CMDLINE_BYTES);
	assert_string_equal(line + PROCESS_CMDLINE_BYTES - 5, "aa...");
	shared_text_drop(line);
	close(go);
	close(said);
	waitpid(child, NULL, 0);
}

static void test_cmdline_no_memory(void **state)
{
	alloc_fail_at(1);
	assert_null(procfs_cmdline(getpid()));
	assert_true(alloc_fail_stop());
}

/* ---- pid namespaces ------------------------------------------------------------------------------- */

static int grandchild_in_namespace(void *context)
{
	int *ready = context;
	char byte = (char)procfs_in_initial_pid_namespace();
	ssize_t put = write(ready[1], &byte, 1);

	close(ready[1]);
	pause();
	return put == 1 ? 0 : 1;
}

/* Makes a process that is pid 1 in a namespace of its own. 0: not allowed. */
static pid_t make_inner(int ready[2])
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		pid_t inner = unshare(CLONE_NEWPID) ? -1 : fork();

		if (inner == 0)
			_exit(grandchild_in_namespace(ready));
		close(ready[1]);
		if (inner < 0)
			_exit(1);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	return child;
}

static void assert_found_inner(pid_t found)
{
	char path[64], ours[64] = "", theirs[64] = "";

	assert_true(found > 0);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)found);
	assert_true(readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0);
	assert_true(readlink(path, theirs, sizeof(theirs) - 1) > 0);
	assert_string_not_equal(ours, theirs);
}

static void kill_children_of(pid_t child)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)child, (int)child);
	if (!fd_read_file(path, &text, NULL)) {
		pid_t inner = (pid_t)strtol(text, NULL, 10);

		if (inner > 0)
			kill(inner, SIGKILL);
		free(text);
	}
}

static void test_inner_pid(void **state)
{
	char is_initial = 1;
	int ready[2];
	pid_t child;
	ssize_t got;

	assert_int_equal(procfs_find_inner_pid(NO_SUCH_PID), 0);
	/* Our own pid in our own namespace is no inner one. */
	if (procfs_in_initial_pid_namespace())
		assert_true(procfs_find_inner_pid(getpid()) != getpid());
	assert_int_equal(pipe(ready), 0);
	child = make_inner(ready);
	close(ready[1]);
	got = read(ready[0], &is_initial, 1);
	close(ready[0]);
	if (got == 1) {
		assert_int_equal(is_initial, 0);
		assert_found_inner(procfs_find_inner_pid(1));
		kill_children_of(child);
	}
	waitpid(child, NULL, 0);
	if (got != 1)
		skip();
}

static void test_find_no_memory(void **state)
{
	alloc_fail_at(1);
	assert_int_equal(procfs_find_inner_pid(NO_SUCH_PID), 0);
	assert_true(alloc_fail_stop());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_lines),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_cut_lines),
		cmocka_unit_test(test_own_mappings),
		cmocka_unit_test(test_mappings_no_memory),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_thread_id),
		cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_pid_no_memory),
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_long_cmdline),
		cmocka_unit_test(test_cmdline_no_memory),
		cmocka_unit_test(test_inner_pid),
		cmocka_unit_test(test_find_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
