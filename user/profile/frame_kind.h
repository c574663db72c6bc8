/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_kind.h - one row a kind of frame: what its frames are called, and what they are of.
 *
 *   value ──find()──> finding: a function and where in it, or several, each inlined into the next ──> frames.h
 *
 * A new kind is a file with its row, and a line in frame_table.c. What is found is remembered by value: find() is asked
 * once for each.
 */
#ifndef GECKOBPF_PROFILE_FRAME_KIND_H
#define GECKOBPF_PROFILE_FRAME_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

struct frames_source;
struct symbol_frames;

/* A frame that was met. */
struct frame_query {
	const struct frames_source *source; /* of all frames of the process */
	uint64_t value; /* of code: the address, and of a caller what the kind adds */
	uint64_t time_ns;
};

#define FRAME_TEXT_BYTES 128

/*
 * What is known of it. At first only `function.kind` and `frame.category` are set. Texts may be any bytes; they are
 * copied, so they need not live on.
 */
struct frame_finding {
	struct profile_function function; /* a name is all that a frame needs that is no code */
	struct profile_frame frame; /* but for its function and what it is inlined into */
	/* Of code: empty. The functions that are found there take the place of function.name. */
	struct symbol_frames *symbols;
	bool is_unnamed; /* it is code, names are wanted, and it has none */
	char *text; /* room of FRAME_TEXT_BYTES, for a name that is put together */
};

struct frame_kind {
	uint8_t kind; /* enum gb_frame_kind; below FRAME_KINDS_MAX */
	enum profile_category_index category;
	bool is_mapped; /* what a value is depends on what is mapped at the time */
	/*
	 * What is added to the value of a frame that has callees: -1 where it is looked up at its call,
	 * which is before where it goes on. NULL: nothing.
	 */
	int (*caller_shift)(const struct frames_source *source);
	/* 0 or -ENOMEM. */
	int (*find)(const struct frame_query *query, struct frame_finding *found);
};

/* All there are; ends with NULL. */
extern const struct frame_kind *const frame_table[];

extern const struct frame_kind user_frames;
extern const struct frame_kind kernel_frames;
extern const struct frame_kind truncated_frames;
extern const struct frame_kind interrupted_frames;
extern const struct frame_kind signal_frames;
extern const struct frame_kind sleep_frames;
/* Whether what profiles call so is why a thread slept. */
bool sleep_frames_have(const char *name);
/* Stands for those that have no row: a later version's. */
extern const struct frame_kind unknown_frames;

#endif
