/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h - a program that we start to profile it.
 *
 *   command_start: fork; the child waits          (its pid is known, probes can be set)
 *   command_release: the child calls execvp; what went wrong comes back through a pipe that exec closes
 */
#ifndef GECKOBPF_TARGET_COMMAND_H
#define GECKOBPF_TARGET_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct account;
struct command;
struct limits;

/* What it gets back of what the caller had before it began to record; NULL: what the caller has. */
struct command_legacy {
	const sigset_t *mask; /* the signals that are blocked */
	const struct limits *limits;
};

/*
 * `argv` (NULL-terminated) is borrowed. `user`: the account that it runs as, if set. Its capabilities are those that the
 * caller has now. 0 or -errno.
 */
int command_start(struct command **out, char *const argv[], const struct account *user,
		  const struct command_legacy *legacy);

/* Its pid; 0: it has ended, and was waited for. */
pid_t command_pid(const struct command *command);

/* A descriptor that is readable when it has ended. */
int command_fd(const struct command *command);

/* Lets it run. 0 when it has begun, or the -errno that exec failed with (it is reaped then). */
int command_release(struct command *command);

/*
 * Reaps it if it has ended; with `block`, waits for that (-EINTR when a signal came first). 1: ended, *status is
 * what a shell would report (128 + signal if killed); 0: still runs; -errno.
 */
int command_wait(struct command *command, bool block, int *status);

/* Kills it if it still waits for its release. NULL is fine. */
void command_close(struct command *command);

#endif
