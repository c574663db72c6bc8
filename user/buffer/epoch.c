/* SPDX-License-Identifier: BSD-2-Clause */
/* epoch.c - threads, forgotten all at once. */
#include "buffer/epoch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "buffer/profile_buffer.h"

#define FIRST_SLOTS 8

static struct thread_slot *thread_find(const struct thread_table *table, uint32_t thread)
{
	uint32_t mask = table->capacity - 1;
	uint32_t at = (uint32_t)(thread * 0x9e3779b97f4a7c15 >> 32) & mask;

	while (table->slots[at].epoch == table->epoch && table->slots[at].thread != thread)
		at = (at + 1) & mask;
	return &table->slots[at];
}

static int thread_table_grow(struct thread_table *table)
{
	struct thread_table grown = *table;
	uint32_t n;

	grown.capacity = table->capacity ? table->capacity * 2 : FIRST_SLOTS;
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

int epoch_enter_thread(struct epoch *epoch, uint32_t thread)
{
	struct thread_table *table = &epoch->threads;
	struct thread_slot *slot;

	if (table->count >= table->capacity / 2) {
		epoch->thread = NULL; /* the slots move */
		if (thread_table_grow(table))
			return -ENOMEM;
	}
	slot = thread_find(table, thread);
	if (slot->epoch != table->epoch) {
		*slot = (struct thread_slot){
			.thread = thread,
			.epoch = table->epoch,
			.time_ns = epoch->time_ns,
			.wait_us = divide_up((int64_t)epoch->time_ns, NS_PER_US),
			.stack = STACK_NODE_NONE,
		};
		table->count++;
	}
	epoch->thread = slot;
	return 0;
}

void epoch_restart(struct epoch *epoch, uint64_t period_ns)
{
	struct thread_table *table = &epoch->threads;
	struct thread_table empty = {table->slots, table->capacity, 0, table->epoch + 1};

	/* After 2^32 epochs, slots would look filled that are not. */
	if (!empty.epoch) {
		if (table->slots)
			memset(table->slots, 0, table->capacity * sizeof(*table->slots));
		empty.epoch = 1;
	}
	*epoch = (struct epoch){.threads = empty, .period_ns = period_ns};
}

void epoch_clear(struct epoch *epoch)
{
	free(epoch->threads.slots);
	*epoch = (struct epoch){0};
}
