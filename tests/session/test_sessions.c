/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sessions.c - sessions in a process that is not geckobpf: several at once and one after another, driven from a loop that is
 * the test's own. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "service/service.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_NS (60 * NS_PER_SEC)
#define ENOUGH 100 /* samples */
#define EVENT_KINDS (SESSION_WARNING + 1)

/* A session, and what its owner has heard of it. */
struct owned {
	struct session_config config;
	struct session *session;
	pid_t target;
	uint64_t next_ns, samples;
	bool is_over;
	unsigned int heard[EVENT_KINDS];
	unsigned int captures; /* files of captures that are there */
	char path[128], captured[SESSION_PATH_BYTES];
	uint64_t saved; /* samples in the file */
	int status; /* of the command */
};

static char directory[] = "/tmp/geckobpf-sessions-XXXXXX";

/* ---- targets --------------------------------------------------------------------- */

static pid_t start_spinner(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("" ::: "memory");
	}
	assert_true(pid > 0);
	return pid;
}

static void end_spinner(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* ---- one session ------------------------------------------------------------------ */

static void note_event(void *context, const struct session_event *event)
{
	struct owned *recording = context;

	recording->heard[event->kind]++;
	if (event->kind == SESSION_COMMAND_ENDED)
		recording->status = event->status;
	if (event->kind != SESSION_SAVED)
		return;
	if (event->capture) {
		recording->captures++;
		snprintf(recording->captured, sizeof(recording->captured), "%s", event->saved.path);
	} else {
		recording->saved = event->saved.profile.samples;
	}
}

static void start(struct owned *recording, const char *name, pid_t target)
{
	struct error error = {0};

	*recording = (struct owned){.target = target};
	snprintf(recording->path, sizeof(recording->path), "%s/%s.json", directory, name);
	recording->config = (struct session_config){
		.pids = &recording->target,
		.pid_count = target ? 1 : 0,
		.rate_hz = 1000,
		.kernel_stacks = true,
		.addresses = true,
		.buffer_bytes = 16 << 20,
		.unwind_bytes = 16 << 20,
		.output = recording->path,
		.on_event = note_event,
		.context = recording,
	};
	if (!target)
		return;
	assert_int_equal(session_open(&recording->session, &recording->config, &error), 0);
	if (session_start(recording->session, &error))
		fail_msg("%s: %s; %s", error.object, error.cause, error.remedy);
	assert_int_equal(recording->heard[SESSION_STARTED], 1);
}

static void step(struct owned *recording)
{
	struct session_status status;
	struct error error = {0};
	int result;

	result = session_step(recording->session, clock_now_ns(), &recording->next_ns, &error);
	if (result < 0)
		fail_msg("%s: %s", error.object, error.cause);
	recording->is_over = result == 1;
	session_get_status(recording->session, clock_now_ns(), &status);
	recording->samples = status.samples;
}

static void finish(struct owned *recording)
{
	assert_int_equal(session_stop(recording->session), 0);
	assert_int_equal(session_save(recording->session), 0);
	assert_int_equal(recording->heard[SESSION_SAVED], 1 + recording->captures);
	session_close(recording->session);
	recording->session = NULL;
}

static bool has_process(const char *path, pid_t pid)
{
	char wanted[32], *text;
	bool is_there;

	assert_int_equal(fd_read_file(path, &text, NULL), 0);
	snprintf(wanted, sizeof(wanted), "\"pid\":%d,", (int)pid);
	is_there = strstr(text, wanted) != NULL;
	free(text);
	return is_there;
}

/* ---- the loop ---------------------------------------------------------------------- */

static void watch(int epoll_fd, const struct owned *recording)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (recording->session)
		assert_int_equal(
			epoll_ctl(epoll_fd, EPOLL_CTL_ADD, session_fd(recording->session), &event),
			0);
}

static int wait_ms(struct owned *const all[], uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (; *all; all++)
		if ((*all)->session && (*all)->next_ns < next_ns)
			next_ns = (*all)->next_ns;
	return next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Drives all of them, each when it wants to be, until it is done. */
static void drive(struct owned *const all[], bool (*is_done)(struct owned *const all[]))
{
	const uint64_t end_ns = clock_now_ns() + PATIENCE_NS;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[4];
	size_t i;

	for (i = 0; all[i]; i++)
		watch(epoll_fd, all[i]);
	while (!is_done(all)) {
		assert_true(clock_now_ns() < end_ns);
		(void)epoll_wait(epoll_fd, events, 4, wait_ms(all, clock_now_ns()));
		for (i = 0; all[i]; i++)
			if (all[i]->session)
				step(all[i]);
	}
	close(epoll_fd);
}

static bool have_enough(struct owned *const all[])
{
	for (; *all; all++)
		if ((*all)->session && (*all)->samples < ENOUGH)
			return false;
	return true;
}

static bool is_first_over(struct owned *const all[])
{
	return all[0]->is_over;
}

static bool has_first_captured(struct owned *const all[])
{
	return all[0]->captures > 0;
}

static uint64_t wanted_samples; /* of the second */

static bool has_second_grown(struct owned *const all[])
{
	return all[1]->samples >= wanted_samples;
}

/* ---- tests -------------------------------------------------------------------------- */

static void test_two_at_once(void **state)
{
	pid_t pids[2] = {start_spinner(), start_spinner()};
	struct owned one, two, *const both[] = {&one, &two, NULL};
	uint64_t paused;

	(void)state;
	start(&one, "one", pids[0]);
	start(&two, "two", pids[1]);
	drive(both, have_enough);

	/* What is done to one, the other does not feel. */
	assert_int_equal(session_pause(one.session), 0);
	assert_int_equal(one.heard[SESSION_PAUSED], 1);
	step(&one);
	paused = one.samples;
	wanted_samples = two.samples + ENOUGH;
	drive(both, has_second_grown);
	assert_int_equal(one.samples, paused);
	assert_int_equal(session_capture(one.session), 0);
	assert_true(session_is_capturing(one.session));
	assert_int_equal(session_capture(one.session), -EBUSY);
	drive(both, has_first_captured);
	assert_false(session_is_capturing(one.session));
	assert_true(has_process(one.captured, pids[0]));
	assert_false(has_process(one.captured, pids[1]));
	assert_int_equal(session_resume(one.session), 0);

	finish(&one);
	wanted_samples = two.samples + ENOUGH;
	drive(both, has_second_grown);
	finish(&two);
	assert_int_equal(two.heard[SESSION_PAUSED] + two.captures, 0);
	assert_true(one.saved >= ENOUGH && two.saved >= 3 * ENOUGH);
	assert_true(has_process(one.path, pids[0]) && !has_process(one.path, pids[1]));
	assert_true(has_process(two.path, pids[1]) && !has_process(two.path, pids[0]));
	end_spinner(pids[0]);
	end_spinner(pids[1]);
}

/* What is on its way when one stops is of no concern to the next, whether it looks at another process or at the same. */
static void test_one_after_another(void **state)
{
	pid_t pids[2] = {start_spinner(), start_spinner()};
	struct owned first, again, *const one[] = {&first, NULL}, *const other[] = {&again, NULL};
	uint64_t start_ns, took_ms;

	(void)state;
	start(&first, "first", pids[0]);
	drive(one, have_enough);
	assert_int_equal(session_stop(first.session), 0);
	assert_int_equal(session_save(first.session), 0);
	session_close(first.session);

	start(&again, "second", pids[1]);
	drive(other, have_enough);
	finish(&again);
	assert_true(has_process(again.path, pids[1]) && !has_process(again.path, pids[0]));

	start_ns = clock_now_ns();
	start(&again, "third", pids[0]);
	drive(other, have_enough);
	finish(&again);
	took_ms = (clock_now_ns() - start_ns) / NS_PER_MS;
	assert_true(has_process(again.path, pids[0]) && !has_process(again.path, pids[1]));
	assert_true(again.saved >= ENOUGH && again.saved <= took_ms);
	end_spinner(pids[0]);
	end_spinner(pids[1]);
}

static void test_ends_with_its_target(void **state)
{
	pid_t pid = start_spinner();
	struct owned recording, *const one[] = {&recording, NULL};

	(void)state;
	start(&recording, "target", pid);
	drive(one, have_enough);
	end_spinner(pid);
	drive(one, is_first_over);
	assert_int_equal(recording.heard[SESSION_TARGETS_ENDED], 1);
	finish(&recording);
}

static void test_a_command(void **state)
{
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)"exit 3", NULL};
	struct owned recording, *const one[] = {&recording, NULL};
	int status;

	(void)state;
	start(&recording, "command", 0);
	recording.config.argv = (char **)argv;
	assert_int_equal(session_open(&recording.session, &recording.config, NULL), 0);
	assert_int_equal(session_start(recording.session, NULL), 0);
	drive(one, is_first_over);
	assert_int_equal(recording.heard[SESSION_COMMAND_ENDED], 1);
	assert_int_equal(recording.status, 3);
	assert_true(session_command_ended(recording.session, &status));
	assert_int_equal(status, 3);
	finish(&recording);
}

static void test_what_cannot_start(void **state)
{
	char *const argv[] = {(char *)"/nonexistent", NULL};
	struct owned recording;
	struct error error = {0};

	(void)state;
	start(&recording, "nobody", 0);
	recording.target = 4194304; /* more than there can be */
	recording.config.pid_count = 1;
	assert_int_equal(session_open(&recording.session, &recording.config, &error), 0);
	assert_int_equal(session_start(recording.session, &error), -ESRCH);
	assert_string_equal(error.object, "pid 4194304");
	assert_string_equal(error.cause, "no such process");
	assert_string_equal(error.remedy, "look it up with pgrep or ps");
	session_close(recording.session);

	start(&recording, "nothing", 0);
	recording.config.argv = (char **)argv;
	assert_int_equal(session_open(&recording.session, &recording.config, &error), 0);
	assert_int_equal(session_start(recording.session, &error), SESSION_EXEC_FAILED);
	assert_int_equal(error.number, -ENOENT);
	assert_int_equal(recording.heard[SESSION_STARTED], 0);
	session_close(recording.session);
}

/* ---- what a library leaves alone ------------------------------------------------------ */

struct surroundings {
	int output, old_stdout, old_stderr;
	sigset_t mask;
	struct sigaction actions[SIGSYS + 1];
	pid_t child; /* has ended, and is the test's to wait for */
};

static struct surroundings before;

static void look(struct surroundings *out)
{
	int number;

	sigprocmask(SIG_BLOCK, NULL, &out->mask);
	for (number = 1; number <= SIGSYS; number++)
		sigaction(number, NULL, &out->actions[number]);
}

static int set_up_all(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	look(&before);
	before.child = fork();
	if (before.child == 0)
		_exit(7);
	before.output = memfd_create("output", MFD_CLOEXEC);
	fflush(stdout);
	before.old_stdout = dup(STDOUT_FILENO);
	before.old_stderr = dup(STDERR_FILENO);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	fflush(stdout);
	dup2(before.output, STDOUT_FILENO);
	dup2(before.output, STDERR_FILENO);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fflush(stdout);
	dup2(before.old_stdout, STDOUT_FILENO);
	dup2(before.old_stderr, STDERR_FILENO);
	return 0;
}

static void test_leaves_the_process_alone(void **state)
{
	struct surroundings after = {0};
	char said[256] = "";
	int status, number;

	(void)state;
	(void)!pread(before.output, said, sizeof(said) - 1, 0);
	assert_string_equal(said, "");
	look(&after);
	assert_memory_equal(&after.mask, &before.mask, sizeof(after.mask));
	for (number = 1; number <= SIGSYS; number++)
		assert_ptr_equal(after.actions[number].sa_handler,
				 before.actions[number].sa_handler);
	assert_int_equal(waitpid(before.child, &status, 0), before.child);
	assert_int_equal(WEXITSTATUS(status), 7);
	/* And of its own children it has reaped all. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

#define QUIET(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUIET(test_two_at_once),          QUIET(test_one_after_another),
		QUIET(test_ends_with_its_target), QUIET(test_a_command),
		QUIET(test_what_cannot_start),    cmocka_unit_test(test_leaves_the_process_alone),
	};
	char command[64];
	int failed;

	service_main(argc, argv);
	if (geteuid()) {
		puts("needs root");
		return 77;
	}
	failed = cmocka_run_group_tests(tests, set_up_all, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) ? 1 : failed;
}
