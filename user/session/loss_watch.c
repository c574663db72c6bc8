/* SPDX-License-Identifier: BSD-2-Clause */
/* loss_watch.c - see loss_watch.h. */
#include "session/loss_watch.h"

#include "session/counters.h"

/* What is left out at the end may have been under way for longer. */
static uint64_t lost_since_ns(const struct loss_watch *watch, const struct counters *counters,
			      enum loss_cause cause)
{
	const uint64_t left_out_ns = counters->left_out.since_ns;

	if ((cause == LOSS_LEFT_OUT || cause == LOSS_EVENTS_LEFT_OUT) && left_out_ns &&
	    left_out_ns < watch->looked_ns)
		return left_out_ns;
	return watch->looked_ns;
}

void loss_watch_look(struct loss_watch *watch, const struct counters *counters, uint64_t now_ns)
{
	uint64_t counts[LOSS_CAUSE_COUNT];
	unsigned int cause;

	counters_losses(counters, counts);
	/* What was asked for a while ago ends then. */
	if (now_ns < watch->looked_ns)
		now_ns = watch->looked_ns;
	for (cause = 0; cause < LOSS_CAUSE_COUNT; cause++) {
		const struct loss loss = {
			.from_ns = lost_since_ns(watch, counters, cause),
			.to_ns = now_ns,
			.count = counts[cause] - watch->seen[cause],
			.cause = cause,
		};

		if (counts[cause] <= watch->seen[cause])
			continue;
		watch->seen[cause] = counts[cause];
		losses_add(&watch->all, &loss);
		losses_add(&watch->unwritten, &loss);
	}
	watch->looked_ns = now_ns;
}
