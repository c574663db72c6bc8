/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - what session_capture() asks for: a profile of what has been recorded so far, written while recording
 * goes on.
 *
 *   wanted at T ──> all rings are emptied once more ──> fork ──> the child writes everything up to T and exits
 *                                                        │        └─ what it has to tell ─> a file in memory ─┐
 *                                                        └─────> the parent records on, and when it has ended, tells it
 *
 * The child has the buffer as it is at the fork, for the price of its page tables; nothing is locked, copied or
 * stopped, and should it fail or be killed, the recording is not touched. One at a time. SIGTERM ends it cleanly.
 */
#ifndef GECKOBPF_SESSION_SNAPSHOT_H
#define GECKOBPF_SESSION_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct snapshot;

/* `session` is borrowed. 0 or -ENOMEM. */
int snapshot_open(struct snapshot **out, struct session *session);
/* Waits a minute for the child, or until saving is given up (session->cancel); then it is ended. NULL is fine. */
void snapshot_close(struct snapshot *snapshot);

/* When to call snapshot_poll() next; UINT64_MAX: no profile waits for it. */
uint64_t snapshot_due_ns(const struct snapshot *snapshot);

/* Asks for a profile that ends now. 0 or -EBUSY. */
int snapshot_request(struct snapshot *snapshot);

/* Forks when everything up to the requested time has been drained; to be called after each drain. */
void snapshot_poll(struct snapshot *snapshot);

/* As snapshot_poll(), but waits until it is time: everything has been drained, and nothing more will come. */
void snapshot_finish(struct snapshot *snapshot);

/* If the child has ended, tells what it had to tell. */
void snapshot_reap(struct snapshot *snapshot);

/* Whether one was requested and is not finished. */
bool snapshot_is_busy(const struct snapshot *snapshot);

#endif
