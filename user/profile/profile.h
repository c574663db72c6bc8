/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - recordings become a profile, in one pass over the buffer of each process.
 *
 *   recording ──> processes ──> buffer ──nodes──> stacks, frames, functions      (names: symbol/)
 *   recording                      └───samples──> rows of threads ──> sink (sink.h) ──> a file of some format
 *
 * Memory holds the tables of one process, and what the sink keeps.
 */
#ifndef GECKOBPF_PROFILE_PROFILE_H
#define GECKOBPF_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"
#include "elf/build_id.h"
#include "profile/gather.h"
#include "profile/model.h"
#include "recording/recording.h"
#include "symbol/named_files.h"

struct cancel;
struct frame_kind;
struct kernel_symbols;
struct profile_sink;
struct progress;
struct redaction;
struct stages;

struct profile_input {
	struct recording recording;
	struct named_files *named_files; /* NULL: addresses are wanted, to be symbolized later */
	const struct kernel_symbols *kernel; /* NULL: kernel frames stay addresses */
	struct progress *progress; /* a piece of one unit, which all of this is; NULL: none */
	struct stages *stages; /* goes on with them; NULL: none */
	struct cancel
		*cancel; /* of the first input, for all: ends the work with -EINTR; NULL: never */
	struct profile_filter filter; /* of the first input, for all */
	/* What kinds of frames there are, see frame_kind.h: of the first input, for all. NULL: frame_table */
	const struct frame_kind *const *frame_kinds;
	/* Of the first input, for all: with more frames in a process, or of a format's, -E2BIG ends the work; 0: never. */
	size_t max_frames;
	/* What the profile says as a whole, if that is not what `facts` say; in the clock of `facts`. NULL: it is. */
	const struct recording_facts *whole;
	struct redaction *
		redaction; /* of the first input, for all; NULL: nothing is left out of what is said */
	/*
	 * A recording of another clock (facts->lead_ns), for the same profile; NULL: none. Its facts, processes,
	 * objects and kernel count. No two processes of all have the same tgid and life.
	 */
	const struct profile_input *next;
};

static inline const struct recording_facts *profile_whole(const struct profile_input *input)
{
	return input->whole ? input->whole : input->recording.facts;
}

/* A function that had samples as the leaf. */
struct profile_hot {
	struct profile_function function; /* texts of its own, no object */
	uint64_t self_samples;
};

/* A file of which some code has no name. */
struct profile_file {
	char *path;
	uint64_t samples; /* whose leaf is such code */
	enum symbol_trouble trouble;
	struct build_id wanted; /* of the file that was mapped; empty: not known */
	struct other_file other; /* what was met instead */
};

struct profile_files {
	struct profile_file *items;
	size_t count, capacity;
};

struct profile_summary {
	uint64_t samples; /* rows with a stack */
	uint64_t threads; /* threads with at least one sample */
	uint64_t processes;
	struct gather_counts gathered;
	uint64_t stack_ends[GB_STACK_END_COUNT]; /* samples by how their user stack ended */
	uint64_t sleep_ends
		[GB_STACK_END_COUNT]; /* the same, of sleeps, which are no samples here else */
	uint64_t unsymbolized; /* distinct addresses without a name */
	uint64_t damaged; /* samples left out: what the buffer has of them makes no sense */
	uint64_t before_begin; /* and these: the profile begins where nothing is missing any more */
	uint64_t stackless; /* samples without a frame, as those of kernel threads may be */
	uint64_t clamped; /* rows whose time would have gone backwards */
	struct profile_files unnamed; /* the one with the most samples first */
	struct profile_hot *top; /* the hottest functions by self samples, hottest first */
	size_t top_count;
};

/* Why a stack ended early, in words; NULL: not an early end. `end`: enum gb_stack_end. */
const char *profile_stack_end(uint64_t end);
/* How many of a thousand user stacks are whole, rounded down; -1: there were none. */
int profile_complete_permille(const struct profile_summary *summary);

/*
 * Sends all to `sink`, which the caller opened and closes. `summary->top_count` asks for that many hottest functions at
 * most. The first error ends the work: nothing more is read. 0, -ENOMEM, -E2BIG (max_frames), -EINTR, or the sink's error.
 */
int profile_walk(const struct profile_input *input, struct profile_sink *sink,
		 struct profile_summary *summary);
void profile_summary_clear(struct profile_summary *summary);

#endif
