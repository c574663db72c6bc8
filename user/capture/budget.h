/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget.h - how long a piece of work may take. It is asked after each part of the work, and looks at the clock only once
 * in a while: a part of the usual kind costs less than that.
 */
#ifndef GECKOBPF_CAPTURE_BUDGET_H
#define GECKOBPF_CAPTURE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define BUDGET_PARTS 16 /* of the usual kind, between two looks at the clock */

struct budget {
	uint64_t end_ns;
	unsigned int parts; /* since the last look */
	bool is_spent;
};

static inline struct budget budget_of(uint64_t ns)
{
	return (struct budget){.end_ns = clock_now_ns() + ns};
}

/* `parts`: how many parts of the usual kind that was. Once it is spent, it stays so. */
static inline bool budget_spend(struct budget *budget, unsigned int parts)
{
	budget->parts += parts;
	if (budget->is_spent || budget->parts < BUDGET_PARTS)
		return budget->is_spent;
	budget->parts = 0;
	budget->is_spent = clock_now_ns() >= budget->end_ns;
	return budget->is_spent;
}

#endif
