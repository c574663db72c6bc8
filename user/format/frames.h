/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - what the nodes of a process's buffer are called, and the category of each: locations.
 *
 *   node (frame, prefix)──leaf or caller?──>  address  ──address space, symbols──>  location
 *
 * A caller's pc is where it goes on after the call. The call itself is before that, and it may be
 * the function's last instruction: so callers are looked up at pc - 1, leaves at pc. Locations
 * are cached by address as long as the era of the address space lasts.
 *
 * A frame of kind GB_FRAME_TRUNCATED stands for what is missing of a stack that ended early.
 */
#ifndef GECKOBPF_FORMAT_FRAMES_H
#define GECKOBPF_FORMAT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/frame.h"

struct frames;
struct kernel_symbols;
struct libs;
struct process;
struct unique_table;

/* Indexes into meta.categories. */
enum frame_category {
	CATEGORY_OTHER,
	CATEGORY_IDLE,
	CATEGORY_USER,
	CATEGORY_KERNEL,
};

/* All is borrowed. */
struct frames_source {
	const struct process *process;
	struct libs *libs;
	const struct kernel_symbols *kernel; /* NULL: kernel frames are addresses */
	bool addresses; /* all frames are addresses, raw as they were captured */
};

struct frame_node {
	struct frame frame;
	uint32_t prefix; /* STACK_NODE_NONE: a root */
};

struct location {
	uint32_t text;
	uint8_t category; /* enum frame_category */
	uint32_t unnamed_in; /* code of the object of that number + 1, without a name; 0: another */
};

/* 0 or -ENOMEM. */
int frames_open(struct frames **out, const struct frames_source *source);
void frames_close(struct frames *frames);

/* Moves to a time: what frames are called may be different from then on. */
void frames_seek(struct frames *frames, uint64_t time_ns);
/* Rises whenever what a node is called may be different from before. */
uint32_t frames_epoch(const struct frames *frames);

/* The location of a node at the current time. 0 or -ENOMEM. */
int frames_locate(struct frames *frames, const struct frame_node *node, bool is_leaf, uint32_t *id);

/* Locations have dense numbers; `id` is one of them. */
const struct location *frames_location(const struct frames *frames, uint32_t id);
const char *frames_text(const struct frames *frames, uint32_t text, size_t *length);

/* Distinct addresses for which there was no name. */
uint64_t frames_unnamed(const struct frames *frames);
/* Numbers of the objects that addresses were found in. */
const struct unique_table *frames_objects(const struct frames *frames);

#endif
