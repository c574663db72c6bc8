/* SPDX-License-Identifier: BSD-2-Clause */
/* state_set.h - frame states, each kept once and numbered from 1 on. */
#ifndef GECKOBPF_UNWIND_STATE_SET_H
#define GECKOBPF_UNWIND_STATE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/frame_state.h"

#define STATE_SET_MAX 0xfffe /* so that numbers fit 16 bits */

/* Zero-initialised is empty. */
struct state_set {
	struct frame_state *states; /* number - 1 */
	size_t count, capacity;
	uint16_t *slots; /* open addressing; 0: free */
	size_t slot_count; /* a power of two, at least twice `count` */
};

void state_set_close(struct state_set *set);

/* The number of `state`, into *number; that of a conflict where there are too many. 0 or -ENOMEM. */
int state_set_number(struct state_set *set, const struct frame_state *state, uint16_t *number);

/* The one of that number, until the next state_set_number(). */
static inline const struct frame_state *state_set_at(const struct state_set *set, uint16_t number)
{
	return &set->states[number - 1];
}

#endif
