/* SPDX-License-Identifier: BSD-2-Clause */
/* records_state.h - what the files of records share; no other file includes it. */
#ifndef GECKOBPF_RECORDING_RECORDS_STATE_H
#define GECKOBPF_RECORDING_RECORDS_STATE_H

#include "buffer/frame.h"
#include "geckobpf_abi.h"
#include "recording/record_kind.h"
#include "recording/records.h"
#include "recording/sample_frames.h"

struct address_space;
struct early_mappings;
struct held_sample;
struct thread;

struct records {
	struct records_config config;
	struct records_listener listener;
	struct records_counts counts;
	const struct record_kind
		*kinds[RECORD_KINDS_MAX]; /* by their number; NULL: there is none */
	struct early_mappings *early_mappings;
	struct {
		uint32_t *items; /* process ids */
		size_t count, capacity;
	} expected;
	size_t most_mappings; /* of one process */
	struct {
		struct held_sample *items; /* in the order in which they came */
		size_t count, capacity;
		size_t bytes;
		uint32_t round; /* of records_release() */
	} held;
	struct process *ending; /* images that ended and may hold a chunk */
	uint32_t roll_call; /* number of the last one */
	/* of the sample at hand, root first */
	struct frame frames[SAMPLE_FRAMES_MAX];
	union { /* of the raw sample at hand */
		struct gb_sample sample;
		uint64_t words[sizeof(struct gb_sample) / 8 + GB_MAX_KERNEL_FRAMES +
			       GB_MAX_USER_WORDS];
	} unwound;
};

/* Forgets mappings of the space if there are more than one process may have, and counts them. */
void records_limit_space(struct records *records, struct address_space *space);
/* Counts an event that was lost to memory, if `err` is not 0. */
void records_check(struct records *records, int err);
bool records_is_expected(const struct records *records, uint32_t tgid);
/* The listener is told that the process's mappings changed, or that it ended. */
void records_tell_changed(struct records *records, struct process *process);

/* ---- sample_records.c ----------------------------------------------------------------------- */

/* Puts it into the buffer of its process. */
void records_put_sample(struct records *records, struct thread *thread,
			const struct gb_sample *sample);
/* Makes records->unwound of a raw sample. False: it had better wait for the file `*awaited`. */
bool records_unwind(struct records *records, const struct thread *thread,
		    const struct gb_sample *raw, uint32_t *awaited);
void records_put_unwound(struct records *records, struct thread *thread);

/* ---- held_samples.c -------------------------------------------------------------------------- */

#define HELD_BEHIND UINT32_MAX /* no file: it waits for those of its thread that were before it */

/* The thread's sample waits, raw or not. 0 or -ENOMEM. */
int records_hold(struct records *records, struct thread *thread, const struct gb_sample *sample,
		 uint32_t awaited);
void records_drop_held(struct records *records);

/* ---- live_processes.c ----------------------------------------------------------------------- */

/* A record names the process: it is there, unless it has ended. */
void records_mark_alive(struct records *records, struct process *process);
/* It ended at `time_ns`, unless it is known to have ended before. */
void records_mark_dead(struct records *records, struct process *process, uint64_t time_ns);
/* It has ended, and may have a chunk in its buffer: its last samples may still come. */
void records_note_ended(struct records *records, struct process *process);

#endif
