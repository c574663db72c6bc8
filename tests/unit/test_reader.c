/* SPDX-License-Identifier: BSD-2-Clause */
/* Reader processes: those that do their work, and those that hang, die or answer anything. Each is this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "elf/elf_open.h"
#include "reader/channel.h"
#include "reader/left_behind.h"
#include "reader/reader.h"
#include "reader/start.h"
#include "service/open_request.h"
#include "service/service.h"
#include "service/state_request.h"

#include "alloc.h"
#include "child.h"

#define HOW "GECKOBPF_TEST_READER"
#define LATE "begins late"
#define LONG_NS (60 * NS_PER_SEC)
#define SHORT_NS (50 * NS_PER_MS)

/* ---- readers that are none -------------------------------------------------------------- */

static struct reader_message message;
static struct channel_mark mark;

static void answer_with(uint32_t what, uint32_t number)
{
	reader_message_begin(&message, 1);
	(void)channel_send(READER_SOCKET, &(struct channel_mark){what, number}, &message);
}

static int dies(void)
{
	return 3;
}

static int hangs(void)
{
	while (mark.number)
		pause();
	return 0;
}

static int answers_another(void)
{
	answer_with(CHANNEL_ANSWER, mark.number + 1);
	return hangs();
}

static int asks_before(void)
{
	answer_with(CHANNEL_ASK, mark.number - 1);
	return hangs();
}

static int requests(void)
{
	answer_with(CHANNEL_REQUEST, mark.number);
	return hangs();
}

static int babbles(void)
{
	(void)write(READER_SOCKET, "hello", 5);
	return hangs();
}

/* It asks for ever, and does not listen. */
static int asks_only(void)
{
	while (mark.number)
		answer_with(CHANNEL_ASK, mark.number);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	int error; /* what its client gets */
} peers[] = {
	{"dies", dies, -EPIPE},
	{"hangs", hangs, -ETIMEDOUT},
	{"answers another", answers_another, -EBADMSG},
	{"asks before", asks_before, -EBADMSG},
	{"requests", requests, -EBADMSG},
	{"babbles", babbles, -EBADMSG},
	{"asks only", asks_only, -EBADMSG},
};

#define PEERS (sizeof(peers) / sizeof(peers[0]))

static int run_peer(const char *name)
{
	size_t i;

	answer_with(CHANNEL_READY, 0);
	for (i = 0; i < PEERS; i++)
		if (!strcmp(peers[i].name, name) &&
		    !channel_receive(READER_SOCKET, 0, &mark, &message))
			return peers[i].run();
	return 1;
}

/* ---- the client -------------------------------------------------------------------------- */

static struct reader_wait wait_for(uint64_t ns)
{
	return (struct reader_wait){.deadline_ns = clock_now_ns() + ns};
}

/* Whatever it asks may be opened. */
static void give_leave(void *context, const struct reader_message *ask,
		       struct reader_message *answer)
{
}

static struct reader *make(enum reader_role role)
{
	struct reader *reader;

	assert_int_equal(
		reader_open(&reader, &(struct reader_config){.role = role, .answer = give_leave}),
		0);
	return reader;
}

static int ask_state(struct reader *reader)
{
	const struct reader_wait wait = wait_for(LONG_NS);
	struct reader_message answer;
	int err = state_begin(reader);

	if (!err)
		err = reader_poll(reader, &wait, &answer);
	return err ? err : (int)state_take(&answer);
}

static void answer_nothing(void *context, const struct reader_message *ask,
			   struct reader_message *answer)
{
	answer->status = -ENOENT;
}

/* Starts the process, and waits until it has said that it is ready. */
static void prepare(struct reader *reader)
{
	struct pollfd item = {.events = POLLIN};

	reader_prepare(reader);
	item.fd = reader_fd(reader);
	assert_int_equal(poll(&item, 1, LONG_NS / NS_PER_MS), 1);
}

/* Each fails in its own way, which is counted; after it comes another, that does its work. */
static void hostile_peers(void **state)
{
	const struct reader_config config = {.role = READER_PARSER, .answer = answer_nothing};
	struct reader_message request, answer;
	struct reader_stats stats;
	struct reader *reader;
	size_t i;

	for (i = 0; i < PEERS; i++) {
		struct reader_wait wait;

		assert_int_equal(reader_open(&reader, &config), 0);
		reader_message_begin(&request, 1);
		setenv(HOW, peers[i].name, 1);
		prepare(reader);
		wait = wait_for(peers[i].error == -ETIMEDOUT ? SHORT_NS : LONG_NS);
		assert_int_equal(reader_call(reader, &request, &wait, &answer), peers[i].error);
		unsetenv(HOW);
		assert_false(reader_is_busy(reader));
		assert_int_equal(reader_fd(reader), -1);
		assert_true(ask_state(reader) >= 0);
		stats = reader_get_stats(reader);
		assert_int_equal(stats.asked, 2);
		assert_int_equal(stats.started, 2);
		assert_int_equal(stats.late, peers[i].error == -ETIMEDOUT);
		assert_int_equal(stats.died, peers[i].error == -EPIPE);
		assert_int_equal(stats.bad, peers[i].error == -EBADMSG);
		reader_close(reader);
	}
}

/* After each test: nobody waits for those that are left behind, and all of them are gone in the end. */
static int all_gone(void **state)
{
	const uint64_t end_ns = clock_now_ns() + LONG_NS;
	siginfo_t info;

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) {
		assert_true(left_behind_has_room());
		assert_true(clock_now_ns() < end_ns);
		(void)sched_yield();
	}
	return 0;
}

static bool yes(void *context)
{
	return true;
}

static void cancelled(void **state)
{
	const struct reader_wait wait = {.deadline_ns = UINT64_MAX, .is_cancelled = yes};
	struct reader *reader = make(READER_PARSER);
	struct reader_message request, answer;

	setenv(HOW, "hangs", 1);
	reader_message_begin(&request, 1);
	assert_int_equal(reader_call(reader, &request, &wait, &answer), -ECANCELED);
	unsetenv(HOW);
	assert_int_equal(reader_get_stats(reader).cancelled, 1);
	reader_close(reader);
}

/* One that is not ready yet is left to become so, and what it answers then is not taken for the answer to another request. */
static void begins_late(void **state)
{
	struct file_status found;
	const struct reader_wait soon = wait_for(SHORT_NS), wait = wait_for(LONG_NS);
	const struct elf_place anywhere = {0};
	struct reader *reader = make(READER_OPENER);
	int status, fd;
	pid_t child;

	setenv(HOW, LATE, 1);
	assert_int_equal(open_ask(reader, &soon, NULL, "/proc/self/exe", &anywhere, &found),
			 -EAGAIN);
	unsetenv(HOW);
	assert_false(reader_is_busy(reader));
	child = waitpid(-1, &status, WUNTRACED);
	assert_true(child > 0 && WIFSTOPPED(status));
	kill(child, SIGCONT);
	fd = open_ask(reader, &wait, NULL, "/proc/self/exe", &anywhere, &found);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(open_ask(reader, &wait, NULL, "/dev/null", &anywhere, &found), -ENOEXEC);
	assert_int_equal(reader_get_stats(reader).started, 1);
	assert_int_equal(reader_get_stats(reader).late, 1);
	reader_close(reader);
}

/* It is asked now, and answers later; one at a time. */
static void later(void **state)
{
	const struct reader_wait now = {0}, wait = wait_for(LONG_NS);
	struct reader *reader = make(READER_PARSER);
	struct reader_message request, answer;
	int err;

	reader_message_begin(&request, SERVICE_STATE);
	assert_int_equal(reader_poll(reader, &now, &answer), -EPIPE);
	assert_int_equal(reader_begin(reader, &request), 0);
	assert_int_equal(reader_begin(reader, &request), -EBUSY);
	assert_true(reader_is_busy(reader));
	err = reader_poll(reader, &now, &answer);
	if (err) {
		assert_int_equal(err, -EAGAIN);
		assert_int_equal(reader_poll(reader, &wait, &answer), 0);
	}
	assert_int_equal(answer.kind, SERVICE_STATE);
	reader_close(reader);
}

static pid_t child_of(struct reader *reader)
{
	char path[64], *text;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	assert_int_equal(fd_read_file(path, &text, NULL), 0);
	child = (pid_t)strtol(text, NULL, 10);
	free(text);
	return child;
}

/* One that died while it had nothing to do is replaced, and nobody notices. */
static void killed_meanwhile(void **state)
{
	struct reader *reader = make(READER_PARSER);
	int i;

	assert_true(ask_state(reader) >= 0);
	for (i = 0; i < 5; i++) {
		siginfo_t info;
		pid_t child = child_of(reader);

		assert_true(child > 0);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
		assert_true(ask_state(reader) >= 0);
	}
	assert_int_equal(reader_get_stats(reader).started, 6);
	assert_int_equal(reader_get_stats(reader).died, 0);
	reader_close(reader);
}

static int use_inherited(void *context)
{
	struct reader *reader = context;

	return ask_state(reader) >= 0 && reader_get_stats(reader).started == 2 ? 0 : 1;
}

/* After a fork both have a process of their own. */
static void forked(void **state)
{
	struct reader *reader = make(READER_PARSER);

	assert_true(ask_state(reader) >= 0);
	assert_int_equal(in_child(use_inherited, reader), 0);
	assert_true(ask_state(reader) >= 0);
	assert_int_equal(reader_get_stats(reader).started, 1);
	reader_close(reader);
}

/* ---- what it can do ------------------------------------------------------------------------ */

static void opens(void **state)
{
	const struct elf_place anywhere = {0};
	const struct reader_wait wait = wait_for(LONG_NS);
	struct reader *opener = make(READER_OPENER), *parser = make(READER_PARSER);
	struct file_status found;
	struct stat ours, theirs;
	int fd = open_ask(opener, &wait, NULL, "/proc/self/exe", &anywhere, &found);

	/* It is the same program. */
	assert_true(fd >= 0);
	assert_int_equal(stat("/proc/self/exe", &ours), 0);
	assert_int_equal(fstat(fd, &theirs), 0);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	assert_int_equal(ours.st_ino, found.inode);
	assert_int_equal(ours.st_dev, found.device);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(open_ask(opener, &wait, NULL, "/proc/self/exe",
				  &(struct elf_place){ours.st_dev, ours.st_ino + 1}, &found),
			 -ENOENT);
	assert_int_equal(open_ask(opener, &wait, "/proc", "self/nothing", &anywhere, &found),
			 -ENOENT);
	assert_int_equal(open_ask(opener, &wait, NULL, "/dev/null", &anywhere, &found), -ENOEXEC);
	assert_int_equal(open_ask(opener, &wait, "/proc", "/proc/self/exe", &anywhere, &found),
			 -ENOENT);
	assert_int_equal(open_ask(parser, &wait, NULL, "/proc/self/exe", &anywhere, &found),
			 -EOPNOTSUPP);
	reader_close(opener);
	reader_close(parser);
}

/* Whether a line of a reader's /proc/PID/status ends so. */
static bool has_status(pid_t child, const char *line)
{
	char path[64], *text;
	bool has;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	assert_int_equal(fd_read_file(path, &text, NULL), 0);
	has = strstr(text, line) != NULL;
	free(text);
	return has;
}

/* A parser has given everything up, and has no descriptors but its own. */
static void parser_is_shut_in(void **state)
{
	struct reader *reader = make(READER_PARSER);
	char path[64];
	DIR *files;
	size_t count = 0;
	pid_t child;

	assert_int_equal(ask_state(reader), 0);
	child = child_of(reader);
	assert_true(has_status(child, "Name:\tgeckobpf-parser\n"));
	assert_true(has_status(child, "\nCapEff:\t0000000000000000\n"));
	assert_true(has_status(child, "\nCapPrm:\t0000000000000000\n"));
	assert_true(has_status(child, "\nNoNewPrivs:\t1\n"));
	assert_true(has_status(child, "\nSeccomp:\t2\n"));
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)child);
	files = opendir(path);
	assert_non_null(files);
	while (readdir(files))
		count++;
	closedir(files);
	assert_int_equal(count, 2 + 4);
	reader_close(reader);
}

static int live(void *context)
{
	struct reader *reader;
	int err = reader_open(&reader, &(struct reader_config){.role = READER_PARSER});

	if (err)
		return err;
	err = ask_state(reader);
	reader_close(reader);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(live, NULL) > 0);
	reader_close(NULL);
}

int main(int argc, char **argv)
{
#define TEST(test) cmocka_unit_test_teardown(test, all_gone)
	const struct CMUnitTest tests[] = {
		TEST(hostile_peers), TEST(cancelled),         TEST(begins_late),
		TEST(later),         TEST(killed_meanwhile),  TEST(forked),
		TEST(opens),         TEST(parser_is_shut_in), TEST(failing_allocations),
	};
	const char *how = getenv(HOW);

	if (argc > 1 && how && !strcmp(how, LATE))
		raise(SIGSTOP);
	else if (argc > 1 && how)
		return run_peer(how);
	service_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
