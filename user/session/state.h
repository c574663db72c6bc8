/* SPDX-License-Identifier: BSD-2-Clause */
/* state.h - a session from inside: what the files of this directory share; no other file includes it. */
#ifndef GECKOBPF_SESSION_STATE_H
#define GECKOBPF_SESSION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/stages.h"
#include "capture/source.h"
#include "geckobpf_names.h"
#include "profile/profile.h"
#include "reader/patience.h"
#include "session/cost_watch.h"
#include "session/loss_watch.h"
#include "session/phase.h"
#include "session/session.h"
#include "target/account.h"
#include "target/procfs.h"

struct session {
	const struct session_config *config; /* borrowed */
	/* As in `config`; others in a process that writes a capture. */
	void (*on_event)(void *context, const struct session_event *event);
	void *context;
	struct cancel cancel; /* of what saves */
	bool rescues; /* what is given up then becomes a raw capture */

	struct account account; /* the user behind sudo */
	struct gb_names thread_names; /* what config->threads says, if it is there */
	struct pid_info target; /* the first, or the command: names the file and the profile */
	size_t cpu_count;

	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
	struct kernel_side *kernel;
	struct file_door *door;
	struct compile_pool *pool;
	struct patience patience; /* with readers */
	bool has_told_lacks; /* what they could not give up */
	struct publisher *publisher;
	struct sideband *sideband;
	struct drain *drain;
	struct source_config source_config;
	struct sources *sources;
	struct command *command;

	int epoll_fd, dump_fd;
	bool is_watching; /* epoll_fd tells when there is something to drain */
	bool has_ended; /* the owner knows that the last target has */

	enum phase phase;
	struct snapshot *snapshot;
	struct stream *stream; /* NULL: none was asked for */
	struct {
		struct time_range *items;
		size_t count, capacity;
	} pauses;
	uint64_t begin_ns; /* when samples are to be taken from */
	uint64_t start_ns, start_real_ns, end_ns;
	uint64_t stolen_at_start_ns; /* cpus_stolen_ns() */
	uint64_t next_second_ns;
	struct loss_watch loss_watch;
	struct cost_watch cost_watch;
	struct stages stages; /* of what comes after the recording */
	uint64_t next_roll_ns; /* when to call the roll next (retention.c) */
	/* No profile shows samples up to then, so what ended before may be forgotten. */
	uint64_t hidden_ns;
};

/* Takes samples from now on: the delay, if there was one, is over. 0, -EPERM, -errno. */
int session_begin(struct session *session, struct error *error);

/* epoll_fd becomes readable with `fd`. 0 or -errno. */
int session_watch(struct session *session, int fd);

/* Whether epoll_fd tells when there is something to drain. 0 or -errno. */
int session_watch_rings(struct session *session, bool is_wanted);

/* Tells the owner. */
void session_tell(struct session *session, enum session_event_kind kind);
void session_tell_error(struct session *session, enum session_event_kind kind,
			const struct error *error);
void session_tell_moved(struct session *session, enum session_event_kind kind, const char *from,
			const char *to);
void session_tell_saved(struct session *session, const struct session_saved *saved);

#endif
