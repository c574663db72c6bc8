/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch.h - what is remembered from one entry to the next, until the grammar (entry.h) restarts.
 *
 * Hash tables with open addressing, at most half full. A slot holds the number of the epoch in
 * which it was filled, so that a table is emptied by counting the epoch up. Tables grow and never
 * shrink. Zero-initialised ones have to be restarted before use.
 */
#ifndef GECKOBPF_BUFFER_EPOCH_H
#define GECKOBPF_BUFFER_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

/* The values of a thread's last sample. */
struct thread_slot {
	uint32_t thread;
	uint32_t epoch;
	uint64_t cpu_ns;
	uint64_t run_start_ns;
	uint32_t stack; /* STACK_NODE_NONE at first */
	uint8_t user_end;
};

struct thread_table {
	struct thread_slot *slots;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t count;
	uint32_t epoch; /* 0: never restarted */
};

/* What writer and reader both know. */
struct epoch {
	struct thread_table threads;
	uint32_t thread; /* of the sample before */
	uint32_t node_count; /* the reader's; the writer's node table counts its own */
	uint64_t time_ns; /* of the sample before */
	uint64_t pc[2]; /* told last: of a user frame, of a kernel frame */
};

void epoch_restart(struct epoch *epoch);
void epoch_clear(struct epoch *epoch);

/* What is known of `thread`, made if it is new; valid until the next call. NULL: no memory. */
struct thread_slot *epoch_thread(struct epoch *epoch, uint32_t thread);

/* A frame in the tree of stacks. */
struct node_slot {
	uint64_t pc;
	uint32_t prefix;
	uint32_t is_kernel;
	uint32_t node;
	uint32_t epoch;
};

/* (pc, prefix, is_kernel) -> node, for the writer; the reader has no need to search. */
struct node_table {
	struct node_slot *slots;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t count;
	uint32_t epoch; /* 0: never restarted */
};

void node_table_restart(struct node_table *table);
void node_table_clear(struct node_table *table);

/* Looks up a frame or adds it as the node `table->count`, which *is_new tells. 0 or -ENOMEM. */
int node_table_get(struct node_table *table, const struct node_slot *frame, uint32_t *node,
		   bool *is_new);

#endif
