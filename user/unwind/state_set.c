/* SPDX-License-Identifier: BSD-2-Clause */
/* state_set.c - see state_set.h. The first state is always a conflict, so that there is one to give out. */
#include "unwind/state_set.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024

_Static_assert(sizeof(struct frame_state) % 8 == 0, "states are hashed word by word");

static size_t hash(const struct frame_state *state, size_t slot_count)
{
	uint64_t words[sizeof(*state) / 8], sum = 0;
	size_t i;

	memcpy(words, state, sizeof(words));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15, sum ^= sum >> 29;
	return (sum >> 20) & (slot_count - 1);
}

static uint16_t *find(const struct state_set *set, const struct frame_state *state)
{
	size_t at = hash(state, set->slot_count);

	while (set->slots[at] && memcmp(&set->states[set->slots[at] - 1], state, sizeof(*state)))
		at = (at + 1) & (set->slot_count - 1);
	return &set->slots[at];
}

static int grow(struct state_set *set)
{
	size_t slot_count = set->slot_count ? set->slot_count * 2 : FIRST_SLOTS, i;
	uint16_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(set->slots);
	set->slots = slots;
	set->slot_count = slot_count;
	for (i = 0; i < set->count; i++)
		*find(set, &set->states[i]) = (uint16_t)(i + 1);
	return 0;
}

static int add(struct state_set *set, const struct frame_state *state, uint16_t *number)
{
	uint16_t *slot;
	int err = 0;

	if (set->count == STATE_SET_MAX) {
		*number = 1;
		return 0;
	}
	if (2 * (set->count + 1) > set->slot_count)
		err = grow(set);
	if (!err)
		err = array_reserve((void **)&set->states, &set->capacity, set->count + 1,
				    sizeof(*set->states));
	if (err)
		return err;
	slot = find(set, state);
	set->states[set->count++] = *state;
	*slot = *number = (uint16_t)set->count;
	return 0;
}

int state_set_number(struct state_set *set, const struct frame_state *state, uint16_t *number)
{
	static const struct frame_state conflict = {.is_conflict = 1};
	uint16_t *slot;
	int err;

	if (!set->count) {
		err = add(set, &conflict, number);
		if (err)
			return err;
	}
	slot = find(set, state);
	*number = *slot;
	return *slot ? 0 : add(set, state, number);
}

void state_set_close(struct state_set *set)
{
	free(set->states);
	free(set->slots);
	*set = (struct state_set){0};
}
