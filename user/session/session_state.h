/* SPDX-License-Identifier: BSD-2-Clause */
/* session_state.h - what session.c, run.c, forget.c, snapshot.c, stream.c and save.c share; nobody else includes it. */
#ifndef GECKOBPF_SESSION_SESSION_STATE_H
#define GECKOBPF_SESSION_SESSION_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stages.h"
#include "capture/source.h"
#include "profile/profile.h"
#include "session/phase.h"
#include "session/session.h"
#include "target/account.h"
#include "target/procfs.h"

struct session {
	const struct session_config *config; /* borrowed */
	struct account account; /* the user behind sudo */
	struct pid_info target; /* the first, or the command: names the file and the profile */
	size_t cpu_count;

	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
	struct kernel_side *kernel;
	struct publisher *publisher;
	struct sideband *sideband;
	struct drain *drain;
	struct source_config source_config;
	struct sources *sources;
	struct command *command;

	int signal_fd, epoll_fd, dump_fd;
	sigset_t old_mask;
	bool is_masked;
	bool is_command_done;

	enum phase phase;
	bool wants_pause; /* what SIGUSR1 asked for last */
	bool wants_capture;
	struct snapshot *snapshot;
	struct stream *stream; /* NULL: none was asked for */
	struct {
		struct time_range *items;
		size_t count, capacity;
	} pauses;
	uint64_t begin_ns; /* when samples are to be taken from */
	uint64_t start_ns, start_real_ns, end_ns;
	uint64_t next_second_ns;
	struct stages stages; /* of what comes after the recording */
	uint64_t next_roll_ns; /* when to call the roll next (forget.c) */
	uint64_t hidden_ns; /* no profile shows samples up to then: of whom, may be forgotten */
};

/* Reads all signals that are there. Returns the last one that asks to stop, or 0. */
int session_take_signals(struct session *session);

/* Whether a signal asked to stop since the last look; for output.h. `context` is the session. */
bool session_is_cancelled(void *context);

#endif
