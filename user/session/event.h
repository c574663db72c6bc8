/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h - what a session tells its owner, in the order in which it happens. Flat, so that one process can tell it
 * another.
 */
#ifndef GECKOBPF_SESSION_EVENT_H
#define GECKOBPF_SESSION_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "session/counters.h"

#define SESSION_PATH_BYTES 4224

enum session_event_kind {
	SESSION_STARTED, /* the first sample can come */
	SESSION_PAUSED,
	SESSION_RESUMED,
	SESSION_TARGETS_ENDED, /* the last of them */
	SESSION_COMMAND_ENDED, /* with `status` */
	SESSION_FILE_KEPT, /* `moved`: a file had the name of ours, and has another now */
	SESSION_STREAM_FAILED, /* `error`; recording goes on in memory */
	SESSION_SAVED, /* `saved`: a file is complete */
	SESSION_SAVE_FAILED, /* `error`: the file is not there */
	SESSION_SAVED_ELSEWHERE, /* after that, `moved`: what was recorded is a raw capture in another place */
	SESSION_CAPTURE_FAILED, /* `error`: the process that was to write it failed; recording goes on */
	SESSION_WARNING, /* `error` */
};

enum session_file {
	SESSION_PROFILE,
	SESSION_RAW, /* a raw capture of what was in the buffer */
	SESSION_STREAM, /* a raw capture that was written meanwhile */
};

struct session_saved {
	enum session_file file;
	char path[SESSION_PATH_BYTES]; /* "-": stdout */
	uint64_t bytes; /* of the file */
	struct counters counters; /* as of its end */
	bool had_priority; /* of the thread that recorded, over others (session_config.priority) */
	/*
	 * Of a raw capture only `samples` and `damaged` are known. Lists live during the call; those of a capture are
	 * empty.
	 */
	struct profile_summary profile;
	uint64_t
		missed; /* SESSION_STREAM: samples that were overwritten before they could be written */
};

struct session_event {
	enum session_event_kind kind;
	unsigned int
		capture; /* the number of the capture that it is about; 0: it is about the recording */
	union {
		int status; /* what a shell would report */
		struct error error;
		struct session_saved saved;
		struct {
			char from[SESSION_PATH_BYTES], to[SESSION_PATH_BYTES];
		} moved;
	};
};

#endif
