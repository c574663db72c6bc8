/* SPDX-License-Identifier: BSD-2-Clause */
/* control.c - see control.h. */
#include "cmd/control.h"

#include "base/log.h"
#include "session/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES 4096

struct control {
	int in_fd, out_fd; /* -1: closed, or no peer is left */
	char input[INPUT_BYTES]; /* read, and not yet taken */
	size_t input_used;
	bool is_skipping; /* the rest of a line that is too long */
	char queue[CONTROL_QUEUE_BYTES]; /* to be written */
	size_t queue_used;
	unsigned int captured; /* the number of the last capture that there is */
};

static const char *const names[] = {
	[CONTROL_NONE] = "",           [CONTROL_PAUSE] = "pause", [CONTROL_RESUME] = "resume",
	[CONTROL_CAPTURE] = "capture", [CONTROL_STOP] = "stop",
};

const char *control_command_name(enum control_command command)
{
	return names[command];
}

/* The command that we start does not get it, and no write waits. */
static int prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	return 0;
}

int control_open(struct control **out, int in_fd, int out_fd)
{
	struct control *control = calloc(1, sizeof(*control));
	int err;

	if (!control)
		return -ENOMEM;
	err = prepare(in_fd);
	if (!err)
		err = prepare(out_fd);
	control->in_fd = in_fd;
	control->out_fd = out_fd;
	if (err) {
		control_close(control);
		return err;
	}
	*out = control;
	return 0;
}

static void stop_reading(struct control *control)
{
	if (control->in_fd >= 0 && control->in_fd != control->out_fd)
		close(control->in_fd);
	control->in_fd = -1;
}

static void end(struct control *control)
{
	stop_reading(control);
	if (control->out_fd >= 0)
		close(control->out_fd);
	control->out_fd = -1;
	control->input_used = control->queue_used = 0;
}

void control_close(struct control *control)
{
	if (!control)
		return;
	end(control);
	free(control);
}

/* A peer that does not read the answers is not asked for more. */
static bool is_behind(const struct control *control)
{
	return control->queue_used > CONTROL_QUEUE_BYTES / 2;
}

void control_poll(const struct control *control, struct pollfd fds[CONTROL_FDS])
{
	fds[0] = fds[1] = (struct pollfd){.fd = -1};
	if (!control)
		return;
	if (!is_behind(control) && control->input_used < INPUT_BYTES)
		fds[0] = (struct pollfd){.fd = control->in_fd, .events = POLLIN};
	if (control->queue_used)
		fds[1] = (struct pollfd){.fd = control->out_fd, .events = POLLOUT};
}

/* ---- commands -------------------------------------------------------------------- */

void control_read(struct control *control)
{
	ssize_t got;

	if (!control || control->in_fd < 0 || control->input_used == INPUT_BYTES)
		return;
	got = read(control->in_fd, control->input + control->input_used,
		   INPUT_BYTES - control->input_used);
	if (got > 0)
		control->input_used += (size_t)got;
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		stop_reading(control);
}

static enum control_command parse(const char *line, size_t length)
{
	size_t i;

	for (i = CONTROL_PAUSE; i < sizeof(names) / sizeof(names[0]); i++)
		if (length == strlen(names[i]) && !memcmp(line, names[i], length))
			return (enum control_command)i;
	return CONTROL_NONE;
}

static void drop_input(struct control *control, size_t bytes)
{
	control->input_used -= bytes;
	memmove(control->input, control->input + bytes, control->input_used);
}

/* The line that the input begins with, `length` bytes without its newline. */
static enum control_command take_line(struct control *control, size_t length)
{
	enum control_command command = parse(control->input, length);
	const bool is_rest = control->is_skipping;

	control->is_skipping = false;
	drop_input(control, length + 1);
	if (is_rest || !length)
		return CONTROL_NONE;
	if (command == CONTROL_NONE)
		control_send(control, "error: not a command; give pause, resume, capture or stop");
	return command;
}

static void skip_long_line(struct control *control)
{
	if (!control->is_skipping && control->input_used < CONTROL_LINE_BYTES)
		return;
	if (!control->is_skipping)
		control_send(control, "error: the line is too long");
	control->is_skipping = true;
	control->input_used = 0;
}

enum control_command control_next(struct control *control)
{
	enum control_command command = CONTROL_NONE;
	const char *newline;

	while (control && command == CONTROL_NONE && !is_behind(control)) {
		newline = memchr(control->input, '\n', control->input_used);
		if (!newline) {
			skip_long_line(control);
			break;
		}
		command = take_line(control, (size_t)(newline - control->input));
	}
	return command;
}

/* ---- answers --------------------------------------------------------------------- */

static void clean(char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

void control_send(struct control *control, const char *format, ...)
{
	char line[SESSION_PATH_BYTES + 1024];
	va_list args;
	size_t length;

	if (!control || control->out_fd < 0)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	length = strlen(line);
	clean(line, length);
	line[length++] = '\n';
	if (length > CONTROL_QUEUE_BYTES - control->queue_used) {
		log_warn("--control: nobody reads the answers; it ends, recording goes on");
		end(control);
		return;
	}
	memcpy(control->queue + control->queue_used, line, length);
	control->queue_used += length;
}

void control_flush(struct control *control)
{
	ssize_t put;

	if (!control || !control->queue_used)
		return;
	put = write(control->out_fd, control->queue, control->queue_used);
	if (put < 0 && errno != EAGAIN && errno != EINTR) {
		end(control);
	} else if (put > 0) {
		control->queue_used -= (size_t)put;
		memmove(control->queue, control->queue + put, control->queue_used);
	}
}

/* One that could only be saved elsewhere is there, though its process says that it failed. */
static void tell_capture(struct control *control, const struct session_event *event)
{
	switch (event->kind) {
	case SESSION_SAVED:
	case SESSION_SAVED_ELSEWHERE:
		control->captured = event->capture;
		control_send(control, "captured %s",
			     event->kind == SESSION_SAVED ? event->saved.path : event->moved.to);
		break;
	case SESSION_CAPTURE_FAILED:
		if (control->captured != event->capture)
			control_send(control, "failed capture: %s", event->error.cause);
		break;
	default:
		break;
	}
}

void control_tell(struct control *control, const struct session_event *event)
{
	if (!control)
		return;
	if (event->capture) {
		tell_capture(control, event);
		return;
	}
	switch (event->kind) {
	case SESSION_STARTED:
		control_send(control, "started");
		break;
	case SESSION_SAVED:
		control_send(control, "saved %s", event->saved.path);
		break;
	case SESSION_SAVED_ELSEWHERE:
		control_send(control, "saved %s", event->moved.to);
		break;
	case SESSION_SAVE_FAILED:
		control_send(control, "failed save: %s", event->error.cause);
		break;
	default:
		break;
	}
	control_flush(control);
}
