/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording from start to finished file; owns every room.
 *
 *   session_open -> session_start -> session_run -> session_stop -> session_save -> session_close
 *
 * Meanwhile session_begin(), _pause(), _resume() and _capture() may be called, which session_run() does when the time
 * has come or a signal asks for it. What is out of order is refused with -EPERM: phase.h.
 *
 * Errors are logged here, once, with the remedy; callers only turn them into an exit status.
 */
#ifndef GECKOBPF_SESSION_SESSION_H
#define GECKOBPF_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/progress.h"

struct session;

struct session_config {
	const pid_t *pids; /* whom to profile; or */
	size_t pid_count;
	bool all; /* every process on the machine; or */
	char **argv; /* a command, NULL-terminated */
	bool children; /* and the children that they fork */
	uint32_t rate_hz;
	double duration_s; /* 0: until something else ends it */
	double delay_s; /* take samples only after this time */
	bool ring; /* a flight recorder: that old data is overwritten is intended */
	bool kernel_stacks;
	bool addresses; /* write addresses instead of names */
	const char *const
		*symbol_dirs; /* where debug files are searched for, besides the usual places */
	size_t symbol_dir_count;
	uint64_t buffer_bytes; /* limit of the profile buffer */
	uint64_t unwind_bytes; /* limit of the unwind tables in the kernel */
	const char *output; /* file, "-" for stdout, NULL: named after the target and the time */
	const char *
		stream; /* a raw capture that is written while it records; NULL: none. Without `output` there is nothing else */
	const char *profile_name; /* NULL: the target's name */
	size_t include_args; /* arguments that go into process names */
	size_t top; /* hottest functions to print at the end */
	enum progress_style progress; /* what is shown while it records and saves */
	double forget_s; /* forget what ended so long ago; 0: when the buffer overwrites what is as old */
	const char *dump_path; /* also write all records here; NULL: do not */
};

/* What session_start() returns when the command could not be run: the errno of exec, negative, is in *exec_error. */
#define SESSION_EXEC_FAILED (-10000)

/* `config` is borrowed for the session's life. 0 or -errno. */
int session_open(struct session **out, const struct session_config *config);

/* Checks everything, loads the BPF programs, starts the command if there is one; samples flow. 0, -errno, SESSION_EXEC_FAILED. */
int session_start(struct session *session, int *exec_error);

/* Takes samples from now on; what was asked for with a delay does not wait any longer. 0, -EPERM, -errno. */
int session_begin(struct session *session);
/* Takes no samples until session_resume(). 0, -EPERM, -ENOMEM. */
int session_pause(struct session *session);
/* 0, -EPERM, or -errno: samples cannot be taken any more. */
int session_resume(struct session *session);
/* Asks for a profile of everything up to now, which a child writes. 0, -EPERM, -EBUSY: one is being written. */
int session_capture(struct session *session);

/* Records until a signal, the duration, or the end of the targets. 0 or -errno; what was recorded can be saved in either case. */
int session_run(struct session *session);

/* Stops sampling and takes in what is still under way. 0 or -EPERM. */
int session_stop(struct session *session);

/* Writes the profile, prints the summary. 0, -EPERM, or -errno: the profile is not where it should be. */
int session_save(struct session *session);

/* Waits for the command, if there is one, and returns what a shell would report; 0 without a command. */
int session_wait(struct session *session);

void session_close(struct session *session);

#endif
