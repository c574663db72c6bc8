/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - one recording, from its start to its finished file, as a library: its owner drives it.
 *
 *   session_open -> session_start -> session_step, session_step, ... -> session_stop -> session_save -> session_close
 *                                     └ meanwhile session_pause(), _resume(), _capture(); when is in phase.h
 *
 * The owner has a loop: it waits until session_fd() is readable or the time comes that the last step asked for, and
 * calls session_step(), which does all that is due and never waits. What happens is told through on_event. A session
 * prints nothing, has no signal handlers, blocks no signals, and reaps no children but its own. It ignores no SIGPIPE:
 * an owner that writes to pipes should. A process may own several, at the same time and one after another; they share
 * nothing. For another recording, open another session. One thread at a time uses one.
 *
 * Functions that take a struct error (base/error.h) say there why they failed; it may be NULL.
 */
#ifndef GECKOBPF_SESSION_SESSION_H
#define GECKOBPF_SESSION_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/event.h"
#include "session/phase.h"
#include "target/command.h"

struct format;
struct progress_view;
struct session;

struct session_config {
	const pid_t *pids; /* whom to profile; or */
	size_t pid_count;
	bool all; /* every process on the machine; or */
	char **argv; /* a command, NULL-terminated */
	struct command_legacy legacy; /* what the command gets back */
	bool children; /* and their descendants: those that run already, and those to come */
	const char *
		threads; /* only threads with such names have samples: see capture/thread_names.h; NULL: all */
	uint32_t rate_hz;
	double duration_s; /* 0: until something else ends it */
	double delay_s; /* take samples only after this time */
	bool ring; /* a flight recorder: that old data is overwritten is intended */
	bool kernel_stacks;
	bool off_cpu; /* threads have samples of the time, too, that they are off the CPU */
	uint32_t counters; /* of processes: a bit for each enum gb_counter */
	const struct format *format; /* of the profile; NULL: Gecko */
	bool addresses; /* write addresses instead of names */
	bool each_process; /* show each by itself, however little it did: see profile/gather.h */
	const char *const
		*symbol_dirs; /* where debug files are searched for, besides the usual places */
	size_t symbol_dir_count;
	uint64_t buffer_bytes; /* limit of the profile buffer */
	uint64_t unwind_bytes; /* limit of the unwind tables in the kernel */
	bool saves_memory; /* smaller maps and rings: a flood of samples, or thousands of processes, may find no room */
	/* File, "-" for stdout, what is no file as a pipe; NULL: named after the target and the time. */
	const char *output;
	mode_t output_mode; /* of all files; see base/file_rights.h */
	bool replaces; /* files that have the names of its files already; otherwise they are kept */
	/* A raw capture that is written while it records; NULL: none. Without `output` there is nothing else. */
	const char *stream;
	const char *profile_name; /* NULL: the target's name */
	size_t include_args; /* arguments that go into process names */
	size_t top; /* hottest functions wanted in the summary */
	double forget_s; /* forget what ended so long ago; 0: when the buffer overwrites what is as old */
	const char *dump_path; /* also write all records here; NULL: do not */

	/* Of the thread that records, if its owner has raised it, as the profile shall say it; NULL: the usual. */
	const char *priority;
	struct progress_view *progress; /* how far session_save() is; NULL: not shown */
	/* `event` lives during the call. Must not close the session. NULL: events are dropped. */
	void (*on_event)(void *context, const struct session_event *event);
	/* A save that is given up leaves a raw capture, unless that is given up, too; otherwise nothing. */
	bool rescues;
	/* Whether session_save() is to stop; asked often, at least ten times a second. NULL: never. */
	bool (*is_cancelled)(void *context);
	void *context;
};

/* What session_start() returns when the command could not be run: error->number is the errno of exec, negative. */
#define SESSION_EXEC_FAILED (-10000)

/* `config` is borrowed for the session's life. 0 or -errno. */
int session_open(struct session **out, const struct session_config *config, struct error *error);

/* Checks everything, loads the BPF programs, starts the command if there is one. 0, -errno, SESSION_EXEC_FAILED. */
int session_start(struct session *session, struct error *error);

/* Readable when there is something to do; only for waiting. */
int session_fd(const struct session *session);

/*
 * Does what is due at `now_ns` (CLOCK_MONOTONIC). 0: it goes on, and wants to be called at *next_ns at the latest; 1:
 * the duration is over, or the command or the last target has ended; -errno: it cannot go on. What was recorded can be
 * saved in any case.
 */
int session_step(struct session *session, uint64_t now_ns, uint64_t *next_ns, struct error *error);

/* Takes no samples until session_resume(). 0, -EPERM, -ENOMEM. */
int session_pause(struct session *session);
/* 0, -EPERM, or -errno: samples cannot be taken any more, it stays paused. */
int session_resume(struct session *session);
/* Asks for a profile of everything up to now, which a child process writes. 0, -EPERM, -EBUSY: one is being written. */
int session_capture(struct session *session);
bool session_is_capturing(const struct session *session);

/*
 * Stops sampling and takes in what is still under way. If that takes more than two seconds, the rest is left out, and
 * that is told (struct counters). 0 or -EPERM.
 */
int session_stop(struct session *session);

/*
 * Writes the file; this takes its time. What became of it is told as events. 0, -EPERM, or -errno: it is not where it
 * should be.
 */
int session_save(struct session *session);

/* The command, for signals; 0: there is none, or it has ended. */
pid_t session_command_pid(const struct session *session);
/* Whether it has ended; *status is then what a shell would report. Without a command: true, 0. */
bool session_command_ended(struct session *session, int *status);

/* NULL is fine. Waits for the process that writes a capture, and kills a command that was not started. */
void session_close(struct session *session);

/* ---- looking at it --------------------------------------------------------------- */

enum phase session_phase(const struct session *session);

/* What is profiled. */
struct session_target {
	const char *name; /* of the first process, or the command; lives as long as the session */
	uint32_t tgid;
	uint32_t thread_count; /* of the first process as it was at the start */
	size_t processes, threads; /* known of now, all together */
};

void session_get_target(const struct session *session, struct session_target *out);

struct session_status {
	enum phase phase;
	uint64_t until_begin_ns; /* PHASE_WAITING */
	uint64_t elapsed_ns; /* since samples are taken */
	uint64_t samples, lost;
	uint64_t buffer_bytes;
};

/* Reads counters of all CPUs: for a few times a second. */
void session_get_status(const struct session *session, uint64_t now_ns, struct session_status *out);

#endif
