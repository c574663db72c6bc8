/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - what the nodes of a process's buffer are to its threads: stacks of locations, each of which has a number.
 *
 *   node (pc, prefix)  -- frames.h -->  location;   (stack of the prefix, location)  -->  stack
 *
 * Nodes are new in every chunk of the buffer and at every change of the address space; stacks stay. So each is looked up once a chunk,
 * whatever the number of threads, and a thread finds its own number of a stack in an id_map.
 *
 * Memory is bounded: when there are too many stacks, or too many in the id_maps, all are forgotten and numbers start over. A stack that
 * comes again is another one then, which costs a profile a few rows and changes nothing of what it says.
 */
#ifndef GECKOBPF_FORMAT_STACKS_H
#define GECKOBPF_FORMAT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "format/frames.h"
#include "format/id_map.h"

#define STACKS_NONE UINT32_MAX

struct stacks;

struct stack {
	uint32_t prefix; /* STACKS_NONE: a root */
	uint32_t location;
};

/* The stacks that someone has numbers for. Those of `ids` are gone when all stacks are forgotten. */
struct stacks_user {
	struct stacks_user *next, **at; /* of stacks.c */
	struct id_map ids; /* by stack */
};

/* How much is remembered; 0: as much as is usual. */
struct stacks_limits {
	size_t stacks;
	size_t slot_bytes; /* of all id_maps */
};

/* `frames` is borrowed. 0 or -ENOMEM. */
int stacks_open(struct stacks **out, struct frames *frames, const struct stacks_limits *limits);
void stacks_close(struct stacks *stacks);

void stacks_join(struct stacks *stacks, struct stacks_user *user);
/* Frees its ids; one that never joined is fine. */
void stacks_leave(struct stacks_user *user);

/* Forgets all nodes. */
void stacks_restart(struct stacks *stacks);
/* Adds node number `node`. 0, -ENOMEM, -EBADMSG: not the next number, its prefix is not before it, or it is too deep. */
int stacks_add_node(struct stacks *stacks, uint32_t node, const struct frame_node *content);

/*
 * The stack of a sample at `time_ns` whose leaf is `node`. Its number holds until the next call. 0, -ENOMEM, -EBADMSG: there is no such
 * node.
 */
int stacks_find(struct stacks *stacks, uint32_t node, uint64_t time_ns, uint32_t *stack);
struct stack stacks_at(const struct stacks *stacks, uint32_t stack);

/* The user's number of a stack that it had none for. 0 or -ENOMEM. */
int stacks_give_id(struct stacks *stacks, struct stacks_user *user, uint32_t stack, uint32_t id);

/* How many of the samples of stacks_find() had their leaf there, by location; *count: of locations that were met. The stacks' own. */
const uint64_t *stacks_self_samples(struct stacks *stacks, size_t *count);

#endif
