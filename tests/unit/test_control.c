/* SPDX-License-Identifier: BSD-2-Clause */
/* test_control.c - the lines between a script and the recorder: order, bounds, peers that do not behave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/log.h"
#include "cmd/control.h"
#include "session/event.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct wire {
	struct control *control;
	int peer; /* the script's end; -1: closed */
};

static int set_up(void **state)
{
	static struct wire wire;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_ERROR);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(control_open(&wire.control, ends[0], ends[0]), 0);
	wire.peer = ends[1];
	assert_int_equal(fcntl(wire.peer, F_SETFL, O_NONBLOCK), 0);
	*state = &wire;
	return 0;
}

static int tear_down(void **state)
{
	struct wire *wire = *state;

	control_close(wire->control);
	if (wire->peer >= 0)
		close(wire->peer);
	return 0;
}

static void say(struct wire *wire, const char *text, size_t length)
{
	assert_int_equal(write(wire->peer, text, length), length);
	control_read(wire->control);
}

#define SAY(wire, text) say(wire, text, sizeof(text) - 1)

/* What the script has been told. */
static const char *heard(struct wire *wire)
{
	static char text[2 * CONTROL_QUEUE_BYTES];
	ssize_t got;

	control_flush(wire->control);
	got = read(wire->peer, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void test_commands(void **state)
{
	struct wire *wire = *state;

	assert_int_equal(control_next(wire->control), CONTROL_NONE);
	SAY(wire, "pause\nresume\n\ncap");
	assert_int_equal(control_next(wire->control), CONTROL_PAUSE);
	assert_int_equal(control_next(wire->control), CONTROL_RESUME);
	assert_int_equal(control_next(wire->control), CONTROL_NONE);
	SAY(wire, "ture\nstop\n");
	assert_int_equal(control_next(wire->control), CONTROL_CAPTURE);
	assert_int_equal(control_next(wire->control), CONTROL_STOP);
	assert_int_equal(control_next(wire->control), CONTROL_NONE);
	assert_string_equal(heard(wire), "");
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(control_command_name(CONTROL_PAUSE), "pause");
	assert_string_equal(control_command_name(CONTROL_STOP), "stop");
}

#define NO_COMMAND "error: not a command; give pause, resume, capture or stop\n"

static void test_what_is_no_command(void **state)
{
	struct wire *wire = *state;

	SAY(wire, "halt\nPAUSE\npause \npaus\nst\0p\nstop\0\n\0\nresume\n");
	assert_int_equal(control_next(wire->control), CONTROL_RESUME);
	assert_string_equal(
		heard(wire),
		NO_COMMAND NO_COMMAND NO_COMMAND NO_COMMAND NO_COMMAND NO_COMMAND NO_COMMAND);
}

static void test_long_lines(void **state)
{
	struct wire *wire = *state;
	char text[1000];
	int i;

	memset(text, 'x', sizeof(text));
	/* A hundred thousand bytes are one line, and one answer. */
	for (i = 0; i < 100; i++) {
		say(wire, text, sizeof(text));
		assert_int_equal(control_next(wire->control), CONTROL_NONE);
	}
	SAY(wire, "pause\nresume\n");
	assert_int_equal(control_next(wire->control), CONTROL_RESUME);
	assert_string_equal(heard(wire), "error: the line is too long\n");
}

static void test_answers(void **state)
{
	struct wire *wire = *state;

	control_send(wire->control, "ok %s", "pause");
	control_send(wire->control, "captured %s", "a\nb\x01 c");
	assert_string_equal(heard(wire), "ok pause\ncaptured a?b? c\n");
}

static void tell(struct wire *wire, struct session_event *event)
{
	control_tell(wire->control, event);
}

static void test_events(void **state)
{
	static struct session_event event;
	struct wire *wire = *state;

	event.kind = SESSION_STARTED;
	tell(wire, &event);
	event = (struct session_event){.kind = SESSION_SAVED, .capture = 1};
	strcpy(event.saved.path, "p-1.json");
	tell(wire, &event);
	event = (struct session_event){.kind = SESSION_SAVED};
	strcpy(event.saved.path, "p.json");
	tell(wire, &event);
	event = (struct session_event){.kind = SESSION_SAVE_FAILED};
	strcpy(event.error.cause, "no room");
	tell(wire, &event);
	assert_string_equal(heard(wire),
			    "started\ncaptured p-1.json\nsaved p.json\nfailed save: no room\n");
}

/* A capture is announced once: that it is there, wherever that is, or that it is not. */
static void test_captures_that_fail(void **state)
{
	static struct session_event event;
	struct wire *wire = *state;

	event = (struct session_event){.kind = SESSION_SAVE_FAILED, .capture = 1};
	tell(wire, &event);
	event = (struct session_event){.kind = SESSION_SAVED_ELSEWHERE, .capture = 1};
	strcpy(event.moved.to, "p.gbpf");
	tell(wire, &event);
	event = (struct session_event){.kind = SESSION_CAPTURE_FAILED, .capture = 1};
	strcpy(event.error.cause, "not written");
	tell(wire, &event);
	event.capture = 2;
	tell(wire, &event);
	assert_string_equal(heard(wire), "captured p.gbpf\nfailed capture: not written\n");
}

/* Nothing waits for it, what is kept for it is bounded, and it cannot make us busy. */
static void test_a_peer_that_does_not_read(void **state)
{
	struct wire *wire = *state;
	struct pollfd fds[CONTROL_FDS];
	char line[1000];
	int i;

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (i = 0; i < 10000; i++) {
		control_send(wire->control, "%s", line);
		control_flush(wire->control);
	}
	control_poll(wire->control, fds);
	assert_true(fds[0].fd < 0 && fds[1].fd < 0);
	/* It has ended: the peer reads what it was sent, then the end. */
	while (read(wire->peer, line, sizeof(line)) > 0)
		;
	assert_int_equal(read(wire->peer, line, sizeof(line)), 0);
}

/* As many commands as it likes: they wait in its own pipe while it does not read the answers. */
static void test_a_flood(void **state)
{
	struct wire *wire = *state;
	struct pollfd fds[CONTROL_FDS];
	size_t answers = 0;
	int i;

	for (i = 0; i < 100000; i++) {
		(void)!write(wire->peer, "what?\n", 6);
		control_read(wire->control);
		assert_int_equal(control_next(wire->control), CONTROL_NONE);
		control_flush(wire->control);
	}
	control_poll(wire->control, fds);
	assert_true(fds[0].fd < 0);
	assert_true(fds[1].fd >= 0);
	for (i = 0; i < 100; i++) {
		const char *text = heard(wire);

		for (; *text; text++)
			answers += *text == '\n';
		control_read(wire->control);
		assert_int_equal(control_next(wire->control), CONTROL_NONE);
	}
	assert_true(answers > 1000);
	while (*heard(wire))
		;
	control_poll(wire->control, fds);
	assert_true(fds[0].fd >= 0);
}

static void test_a_peer_that_is_gone(void **state)
{
	struct wire *wire = *state;
	struct pollfd fds[CONTROL_FDS];

	SAY(wire, "pause\n");
	close(wire->peer);
	wire->peer = -1;
	control_read(wire->control);
	assert_int_equal(control_next(wire->control), CONTROL_PAUSE);
	control_send(wire->control, "ok pause");
	control_flush(wire->control);
	control_poll(wire->control, fds);
	assert_true(fds[0].fd < 0 && fds[1].fd < 0);
	control_send(wire->control, "stopped");
	control_flush(wire->control);
}

/* It says no more, but listens. */
static void test_a_peer_that_only_listens(void **state)
{
	struct wire *wire = *state;
	struct pollfd fds[CONTROL_FDS];

	shutdown(wire->peer, SHUT_WR);
	control_read(wire->control);
	control_poll(wire->control, fds);
	assert_true(fds[0].fd < 0);
	control_send(wire->control, "stopped");
	assert_string_equal(heard(wire), "stopped\n");
}

static void test_two_pipes(void **state)
{
	struct control *control;
	int in[2], out[2];
	char text[16] = "";

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(control_open(&control, in[0], out[1]), 0);
	assert_int_equal(write(in[1], "stop\n", 5), 5);
	control_read(control);
	assert_int_equal(control_next(control), CONTROL_STOP);
	control_send(control, "ok stop");
	control_flush(control);
	assert_int_equal(read(out[0], text, sizeof(text)), 8);
	assert_string_equal(text, "ok stop\n");
	control_close(control);
	close(in[1]);
	close(out[0]);
}

static void test_without_one(void **state)
{
	struct pollfd fds[CONTROL_FDS];

	(void)state;
	control_poll(NULL, fds);
	assert_true(fds[0].fd < 0 && fds[1].fd < 0);
	control_read(NULL);
	assert_int_equal(control_next(NULL), CONTROL_NONE);
	control_send(NULL, "stopped");
	control_tell(NULL, NULL);
	control_flush(NULL);
	control_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, set_up, tear_down),
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_what_is_no_command, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_captures_that_fail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_peer_that_does_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_flood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_peer_that_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_peer_that_only_listens, set_up, tear_down),
		cmocka_unit_test(test_two_pipes),
		cmocka_unit_test(test_without_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
