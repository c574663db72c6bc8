/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h - how a script drives a recording: lines of text on a descriptor (--control).
 *
 *   script                              recorder
 *     │ <──────────────────── started       │ the first sample can come
 *     │ pause ─────────────────────────>    │
 *     │ <──────────────────── ok pause      │
 *     │ capture ───────────────────────>    │
 *     │ <──────────────────── ok capture    │
 *     │ <──────────────────── captured PATH │ the file is there
 *     │ stop ──────────────────────────>    │
 *     │ <──────────────────── ok stop       │
 *     │ <──────────────────── stopped       │ no sample comes any more
 *     │ <──────────────────── saved PATH    │
 *
 * Every command is answered by "ok COMMAND" or "error COMMAND: CAUSE", in order; what is no command by "error: CAUSE".
 * What was accepted and failed later is "failed capture: CAUSE" or "failed save: CAUSE".
 *
 * The peer is not trusted: lines are bounded, a flood of them waits in its own pipe, and nothing ever waits for it. If
 * it does not read, CONTROL_QUEUE_BYTES of answers are kept for it; more than that end the control. So does a peer that
 * is gone. If it only closes its writing end, it is told what happens all the same. The recording goes on in each case.
 */
#ifndef GECKOBPF_CMD_CONTROL_H
#define GECKOBPF_CMD_CONTROL_H

#include <poll.h>

struct control;
struct session_event;

#define CONTROL_LINE_BYTES 256 /* of a command, with its newline */
#define CONTROL_QUEUE_BYTES 65536
#define CONTROL_FDS 2

enum control_command {
	CONTROL_NONE,
	CONTROL_PAUSE,
	CONTROL_RESUME,
	CONTROL_CAPTURE,
	CONTROL_STOP,
};

/*
 * Owns the descriptors, which may be one and become non-blocking. 0 or -errno. NULL is fine for all other functions: no
 * script.
 */
int control_open(struct control **out, int in_fd, int out_fd);
void control_close(struct control *control);

/* What to wait for, as poll(2) wants it. */
void control_poll(const struct control *control, struct pollfd fds[CONTROL_FDS]);

/* Reads what there is. */
void control_read(struct control *control);
/* The next command; CONTROL_NONE: there is no whole one. Lines that are none are answered here. */
enum control_command control_next(struct control *control);
const char *control_command_name(enum control_command command);

/* One line; control characters become '?'. */
void control_send(struct control *control, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the event means for the script, if anything. */
void control_tell(struct control *control, const struct session_event *event);
/* Writes as much as can be written now. */
void control_flush(struct control *control);

#endif
