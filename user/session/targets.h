/* SPDX-License-Identifier: BSD-2-Clause */
/* targets.h - whom a session profiles: the processes it was given, and the command that it starts. */
#ifndef GECKOBPF_SESSION_TARGETS_H
#define GECKOBPF_SESSION_TARGETS_H

struct error;
struct session;

/* Whether the processes are there and can be profiled; they are expected from now on. 0 or -errno. */
int targets_check(struct session *session, struct error *error);

/* Starts the command, which waits for its release. 0, also without a command, or -errno. */
int targets_start_command(struct session *session, struct error *error);

/* Tells the kernel side of all of them. 0 or -errno. */
int targets_add(struct session *session);

#endif
