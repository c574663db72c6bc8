/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * patience.h - how long a recorder may wait for its readers: 5 % of the time, saved up for at most 250 ms at once; and what
 * it is given for the start.
 */
#ifndef GECKOBPF_READER_PATIENCE_H
#define GECKOBPF_READER_PATIENCE_H

#include <stdint.h>

#include "base/clock.h"

#define PATIENCE_SHARE 20 /* a twentieth */
#define PATIENCE_MAX_NS (250 * NS_PER_MS)

/* Zero-initialised: none yet. */
struct patience {
	uint64_t left_ns;
	uint64_t looked_ns; /* when it was counted last */
};

/* When to stop waiting that begins now. */
static inline uint64_t patience_until(struct patience *patience, uint64_t now_ns)
{
	const uint64_t more_ns = (now_ns - patience->looked_ns) / PATIENCE_SHARE;

	if (patience->looked_ns && patience->left_ns < PATIENCE_MAX_NS) {
		patience->left_ns += more_ns < PATIENCE_MAX_NS ? more_ns : PATIENCE_MAX_NS;
		if (patience->left_ns > PATIENCE_MAX_NS)
			patience->left_ns = PATIENCE_MAX_NS;
	}
	patience->looked_ns = now_ns;
	return now_ns + patience->left_ns;
}

/* It was waited since patience_until(). */
static inline void patience_spend(struct patience *patience, uint64_t now_ns)
{
	const uint64_t spent_ns = now_ns - patience->looked_ns;

	patience->left_ns -= spent_ns < patience->left_ns ? spent_ns : patience->left_ns;
	patience->looked_ns = now_ns;
}

#endif
