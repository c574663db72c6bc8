/* SPDX-License-Identifier: BSD-2-Clause */
/* epoch.c - tables that are emptied at once. */
#include "buffer/epoch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/profile_buffer.h"

#define FIRST_SLOTS 64

static uint32_t hash(uint64_t value)
{
	return (uint32_t)(value * 0x9e3779b97f4a7c15 >> 32);
}

/* Doubles a capacity. 0: it cannot. */
static uint32_t grown_capacity(uint32_t capacity)
{
	return capacity ? capacity * 2 : FIRST_SLOTS;
}

/* ---- threads ----------------------------------------------------------------- */

static struct thread_slot *thread_find(const struct thread_table *table, uint32_t thread)
{
	uint32_t mask = table->capacity - 1;
	uint32_t at = hash(thread) & mask;

	while (table->slots[at].epoch == table->epoch && table->slots[at].thread != thread)
		at = (at + 1) & mask;
	return &table->slots[at];
}

static int thread_table_grow(struct thread_table *table)
{
	struct thread_table grown = *table;
	uint32_t n;

	grown.capacity = grown_capacity(table->capacity);
	grown.slots = grown.capacity ? calloc(grown.capacity, sizeof(*grown.slots)) : NULL;
	if (!grown.slots)
		return -ENOMEM;
	for (n = 0; n < table->capacity; n++) {
		if (table->slots[n].epoch == table->epoch)
			*thread_find(&grown, table->slots[n].thread) = table->slots[n];
	}
	free(table->slots);
	*table = grown;
	return 0;
}

struct thread_slot *epoch_thread(struct epoch *epoch, uint32_t thread)
{
	struct thread_table *table = &epoch->threads;
	struct thread_slot *slot;

	if (table->count >= table->capacity / 2 && thread_table_grow(table))
		return NULL;
	slot = thread_find(table, thread);
	if (slot->epoch != table->epoch) {
		*slot = (struct thread_slot){
			.thread = thread,
			.epoch = table->epoch,
			.stack = STACK_NODE_NONE,
		};
		table->count++;
	}
	return slot;
}

void epoch_restart(struct epoch *epoch)
{
	struct thread_table *table = &epoch->threads;
	struct thread_table empty = {table->slots, table->capacity, 0, table->epoch + 1};

	/* After 2^32 epochs, slots would look filled that are not. */
	if (!empty.epoch) {
		if (table->slots)
			memset(table->slots, 0, table->capacity * sizeof(*table->slots));
		empty.epoch = 1;
	}
	*epoch = (struct epoch){.threads = empty};
}

void epoch_clear(struct epoch *epoch)
{
	free(epoch->threads.slots);
	*epoch = (struct epoch){0};
}

/* ---- nodes ------------------------------------------------------------------- */

static struct node_slot *node_find(const struct node_table *table, const struct node_slot *frame)
{
	uint32_t mask = table->capacity - 1;
	uint32_t at = hash(frame->pc ^ (uint64_t)frame->prefix << 31 ^ frame->is_kernel) & mask;

	while (table->slots[at].epoch == table->epoch) {
		const struct node_slot *slot = &table->slots[at];

		if (slot->pc == frame->pc && slot->prefix == frame->prefix &&
		    slot->is_kernel == frame->is_kernel)
			break;
		at = (at + 1) & mask;
	}
	return &table->slots[at];
}

static int node_table_grow(struct node_table *table)
{
	struct node_table grown = *table;
	uint32_t n;

	grown.capacity = grown_capacity(table->capacity);
	grown.slots = grown.capacity ? calloc(grown.capacity, sizeof(*grown.slots)) : NULL;
	if (!grown.slots)
		return -ENOMEM;
	for (n = 0; n < table->capacity; n++) {
		if (table->slots[n].epoch == table->epoch)
			*node_find(&grown, &table->slots[n]) = table->slots[n];
	}
	free(table->slots);
	*table = grown;
	return 0;
}

int node_table_get(struct node_table *table, const struct node_slot *frame, uint32_t *node,
		   bool *is_new)
{
	struct node_slot *slot;

	if (table->count >= table->capacity / 2 && node_table_grow(table))
		return -ENOMEM;
	slot = node_find(table, frame);
	*is_new = slot->epoch != table->epoch;
	if (*is_new) {
		*slot = *frame;
		slot->node = table->count++;
		slot->epoch = table->epoch;
	}
	*node = slot->node;
	return 0;
}

void node_table_restart(struct node_table *table)
{
	table->count = 0;
	if (++table->epoch)
		return;
	if (table->slots)
		memset(table->slots, 0, table->capacity * sizeof(*table->slots));
	table->epoch = 1;
}

void node_table_clear(struct node_table *table)
{
	free(table->slots);
	*table = (struct node_table){0};
}
