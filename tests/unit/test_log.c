/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, as they come out of stderr: a pipe, and a terminal with a status line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/log_writer.h"

#include "alloc.h"
#include "terminal.h"

#define CLEAR "\r\033[K"

static int saved_stderr = -1;

/* From here to take(), stderr goes to `fd`. */
static void redirect(int fd)
{
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	assert_true(saved_stderr >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
}

static void restore(void)
{
	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
}

static void say_one_of_each(void)
{
	log_error("e%d", 1);
	log_warn("w%d", 2);
	log_info("i%d", 3);
	log_more("m%d", 4);
	log_debug("d%d", 5);
	log_status("s%d", 6);
	log_status_clear();
}

/* What is said at `level` into a pipe. */
static void capture(enum log_level level, char *text, size_t size)
{
	int fds[2];
	ssize_t got;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	redirect(fds[1]);
	log_set_level(level);
	say_one_of_each();
	restore();
	close(fds[1]);
	got = read(fds[0], text, size - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	close(fds[0]);
}

static void test_starts_as_info(void **state)
{
	assert_int_equal(log_get_level(), LOG_INFO);
}

static void test_levels(void **state)
{
	char text[512];

	capture(LOG_ERROR, text, sizeof(text));
	assert_string_equal(text, "geckobpf: e1\n");
	capture(LOG_WARN, text, sizeof(text));
	assert_string_equal(text, "geckobpf: e1\ngeckobpf: warning: w2\n");
	capture(LOG_INFO, text, sizeof(text));
	assert_string_equal(text,
			    "geckobpf: e1\ngeckobpf: warning: w2\ngeckobpf: i3\n          m4\n");
	capture(LOG_DEBUG, text, sizeof(text));
	assert_string_equal(text,
			    "geckobpf: e1\ngeckobpf: warning: w2\ngeckobpf: i3\n          m4\n"
			    "geckobpf: d5\n");
	assert_int_equal(log_get_level(), LOG_DEBUG);
}

/* What log_problem() says of an error and of a warning. */
static void capture_problems(const struct error *error, const struct error *warning, char *text,
			     size_t size)
{
	int fds[2];
	ssize_t got;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	redirect(fds[1]);
	log_set_level(LOG_WARN);
	log_problem(LOG_ERROR, error);
	log_problem(LOG_WARN, warning);
	log_problem(LOG_INFO, warning);
	restore();
	close(fds[1]);
	got = read(fds[0], text, size - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	close(fds[0]);
}

static void test_problems(void **state)
{
	struct error error = {0}, warning = {0};
	char text[512];

	error_set(&error, -1, "/x/100%%s", "cannot write there: %s", "no");
	error_advise(&error, "give another");
	error_set(&warning, -1, NULL, "old");
	capture_problems(&error, &warning, text, sizeof(text));
	assert_string_equal(text, "geckobpf: /x/100%%s: cannot write there: no; give another\n"
				  "geckobpf: warning: old\n");
}

static void test_status_line(void **state)
{
	int ours, theirs;

	open_terminal(&ours, &theirs);
	redirect(theirs);
	log_set_level(LOG_INFO);
	log_status_clear();
	log_status("%d samples", 1);
	log_status("%d samples", 2);
	log_debug("not shown, and so clears nothing");
	log_info("done");
	log_info("again");
	log_status("3");
	log_status_clear();
	log_status_clear();
	log_set_level(LOG_WARN);
	log_status("not shown");
	log_warn("end");
	restore();
	assert_terminal_says(ours,
			     CLEAR "1 samples" CLEAR "2 samples" CLEAR "geckobpf: done\n"
				   "geckobpf: again\n" CLEAR "3" CLEAR "geckobpf: warning: end\n");
	close(ours);
	close(theirs);
}

static void set_columns(int terminal, unsigned short columns)
{
	const struct winsize size = {.ws_row = 24, .ws_col = columns};

	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
}

/* A status line never wraps: what does not fit is left out from a gap on. */
static void test_narrow_terminal(void **state)
{
	int ours, theirs;

	open_terminal(&ours, &theirs);
	redirect(theirs);
	log_set_level(LOG_INFO);
	set_columns(ours, 17);
	log_status("  0.4 s   12 lost");
	set_columns(ours, 18);
	log_status("  0.4 s   12 lost");
	set_columns(ours, 5);
	log_status("without-a-gap");
	log_status("four");
	log_status_clear();
	log_fresh_line();
	log_set_level(LOG_WARN);
	log_fresh_line();
	set_columns(ours, 0);
	log_set_level(LOG_INFO);
	log_fresh_line();
	log_status("as long as it may be");
	restore();
	assert_terminal_says(ours, CLEAR "  0.4 s " CLEAR "  0.4 s   12 lost" CLEAR "with" CLEAR
					 "four" CLEAR "    " CLEAR CLEAR "as long as it may be");
	close(ours);
	close(theirs);
}

/* ---- who does not take messages ------------------------------------------------------------ */

/* How many of them were written, and how many are told as dropped; ends with the pipe. */
static void count_messages(int fd, size_t *written, size_t *dropped)
{
	FILE *in = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	*written = *dropped = 0;
	assert_non_null(in);
	while (getline(&line, &room, in) > 0) {
		*written += !strncmp(line, "geckobpf: number", 16);
		sscanf(line, "geckobpf: warning: %zu messages were dropped", dropped);
	}
	free(line);
	fclose(in);
}

static void *take_later(void *context)
{
	size_t *counts = context;

	count_messages((int)counts[0], &counts[1], &counts[2]);
	return NULL;
}

/* Whoever says more than a pipe and the queue have room for goes on; the rest is told when somebody reads. */
static void full_pipe(void **state)
{
	const size_t count = 400;
	size_t counts[3], i;
	pthread_t reader;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	redirect(fds[1]);
	close(fds[1]);
	assert_int_equal(log_writer_open(), 0);
	for (i = 0; i < count; i++)
		log_info("number %zu %*s", i, 600, "");
	counts[0] = (size_t)fds[0];
	assert_int_equal(pthread_create(&reader, NULL, take_later, counts), 0);
	log_writer_close();
	restore();
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_true(counts[2] > 0);
	assert_int_equal(counts[1] + counts[2], count);
}

static void names_of_others(void **state)
{
	char text[256];
	int fds[2];
	ssize_t got;

	assert_int_equal(pipe(fds), 0);
	redirect(fds[1]);
	log_info("%s (pid 1)", "a\x1b[2J\n\xff\xc2\x9b\xe2\x80\xae\xc3\xa9\xed\xa0\x80\x7f");
	restore();
	got = read(fds[0], text, sizeof(text) - 1);
	assert_true(got > 0);
	text[got] = '\0';
	assert_string_equal(text, "geckobpf: a?[2J????"
				  "???\xc3\xa9????"
				  " (pid 1)\n");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_pipe),
		cmocka_unit_test(names_of_others),
		cmocka_unit_test(test_starts_as_info),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_status_line),
		cmocka_unit_test(test_narrow_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
