/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - what the nodes of a process's buffer are to its threads: stacks of frames, each of which has a number.
 *
 *   node (frame, prefix)  -- frames.h -->  number of a frame;   (stack of the prefix, frame)  -->  stack
 *
 * Nodes are new in every chunk of the buffer and at every change of the address space; stacks stay. So each is looked
 * up once a chunk, whatever the number of threads. A format that numbers stacks in its own way has a stacks_user for
 * each of its tables of stacks.
 *
 * Memory is bounded: when there are too many stacks, or too many in the tables of users, all are forgotten and numbers
 * start over. A stack that comes again is another one then, which costs a profile a few rows and changes nothing of
 * what it says.
 */
#ifndef GECKOBPF_PROFILE_STACKS_H
#define GECKOBPF_PROFILE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "profile/frames.h"

#define STACKS_NONE UINT32_MAX

struct stacks;

struct profile_stack {
	uint32_t prefix; /* STACKS_NONE: a root */
	uint32_t frame;
};

/* The numbers that a format gives to stacks in one of its tables. */
struct stacks_user {
	struct stacks_user *next, **at; /* for stacks.c alone */
	struct id_map ids; /* by stack; emptied when all stacks are forgotten */
	/*
	 * Makes *id, a number of the user's (not ID_NONE), for the stack of a frame whose prefix has the number
	 * `prefix` (ID_NONE: it is a root). 0 or -errno.
	 */
	int (*add)(struct stacks_user *user, uint32_t prefix, uint32_t frame, uint32_t *id);
};

/* How much is remembered; 0: as much as is usual. */
struct stacks_limits {
	size_t stacks;
	size_t slot_bytes; /* of all id_maps */
	size_t nodes; /* since the last restart: -E2BIG; 0: any number */
};

/* `frames` is borrowed. 0 or -ENOMEM. */
int stacks_open(struct stacks **out, struct frames *frames, const struct stacks_limits *limits);
void stacks_close(struct stacks *stacks);

/* `user->add` is set, the rest of it zero. */
void stacks_join(struct stacks *stacks, struct stacks_user *user);
/* Frees its ids; one that never joined is fine. */
void stacks_leave(struct stacks_user *user);

/* Forgets all nodes. */
void stacks_restart(struct stacks *stacks);
/*
 * Adds node number `node`; `prefix`: STACK_NODE_NONE: it is a root. 0, -ENOMEM, -EBADMSG: not the next number, its
 * prefix is not before it, or it is too deep.
 */
int stacks_add_node(struct stacks *stacks, uint32_t node, uint32_t prefix,
		    const struct frame *frame);

/*
 * The stack of a sample at `time_ns` whose leaf is `node`. Its number holds until the next call. `is_counted`: the sample
 * counts for stacks_self_samples(). 0, -ENOMEM, -EBADMSG: there is no such node.
 */
int stacks_find(struct stacks *stacks, uint32_t node, uint64_t time_ns, bool is_counted,
		uint32_t *stack);
struct profile_stack stacks_at(const struct stacks *stacks, uint32_t stack);

/*
 * For stacks_id(): those of the stack and its prefixes that the user has no number for are added, prefixes first. 0 or
 * -errno.
 */
int stacks_add_ids(struct stacks *stacks, struct stacks_user *user, uint32_t stack, uint32_t *id);

/* The user's number of a stack. 0, -ENOMEM, or what its add() returned. */
static inline int stacks_id(struct stacks *stacks, struct stacks_user *user, uint32_t stack,
			    uint32_t *id)
{
	*id = id_map_get(&user->ids, stack);
	return *id == ID_NONE ? stacks_add_ids(stacks, user, stack, id) : 0;
}

/*
 * How many of the samples of stacks_find() had their leaf there, by frame; *count: of frames that were met. The stacks'
 * own.
 */
const uint64_t *stacks_self_samples(struct stacks *stacks, size_t *count);

#endif
