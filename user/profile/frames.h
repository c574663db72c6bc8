/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - the frames and functions of a process: what the nodes of its buffer are.
 *
 *   node (frame, prefix)  ──leaf or caller?──>  value  ──its kind, see frame_kind.h──>  function  ──>  frame
 *
 * A caller's address is where it goes on after the call. The call itself is before that, and it may be
 * the function's last instruction: so callers are looked up one byte before, leaves where they are, and what was
 * interrupted as well. What was found
 * is remembered by address as long as the era of the address space lasts.
 */
#ifndef GECKOBPF_PROFILE_FRAMES_H
#define GECKOBPF_PROFILE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/frame.h"
#include "profile/model.h"

struct frame_kind;
struct frames;
struct libs;
struct process;
struct redaction;
struct symbols;
struct u64_map;

/* All is borrowed. */
struct frames_source {
	const struct process *process;
	struct symbols *
		symbols; /* NULL: no names are wanted: each address is a frame, as it was recorded */
	struct libs *libs; /* of the process's objects; wanted if names are */
	bool has_kernel; /* the symbols know the kernel's functions; else they are addresses */
	enum profile_addresses
		addresses; /* what callers of user code have where no names are wanted */
	/* What kinds of frames there are, ends with NULL; NULL: frame_table. */
	const struct frame_kind *const *kinds;
	struct redaction *redaction; /* counts what is not to be said; NULL: nothing is left out */
	size_t max_count; /* -E2BIG: there would be more frames; 0: any number */
};

/* 0 or -ENOMEM. */
int frames_open(struct frames **out, const struct frames_source *source);
void frames_close(struct frames *frames);

/* Moves to another process, which is borrowed: from then on nodes are its. */
void frames_move(struct frames *frames, const struct process *process);
/* Moves to a time: what nodes are may be different from then on. */
void frames_seek(struct frames *frames, uint64_t time_ns);
/* Rises whenever what a node is may be different from before. */
uint32_t frames_era(const struct frames *frames);

/* The number of what a frame of the buffer is at the current time: of the innermost, if it is in several. 0 or -ENOMEM. */
int frames_locate(struct frames *frames, const struct frame *frame, bool is_leaf, uint32_t *id);

/*
 * *id, which `caller` calls, becomes the same with the caller's subcategory, if both are of one category and it inherits
 * that (struct profile_frame). 0 or -ENOMEM.
 */
int frames_inherit(struct frames *frames, uint32_t caller, uint32_t *id);

/* Frames and functions have dense numbers. What these return is valid until the next frames_locate(). */
size_t frames_count(const struct frames *frames);
const struct profile_frame *frames_at(const struct frames *frames, uint32_t id);
const struct profile_function *frames_function(const struct frames *frames, uint32_t id);

/* Distinct addresses for which there was no name. */
uint64_t frames_unnamed(const struct frames *frames);
/* Numbers of the objects, but for anonymous ones, that code was found in. */
const struct u64_map *frames_objects(const struct frames *frames);

#endif
