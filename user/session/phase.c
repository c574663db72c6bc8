/* SPDX-License-Identifier: BSD-2-Clause */
/* phase.c - see phase.h. */
#include "session/phase.h"

#include <errno.h>

/* The phase after an action, plus 1; 0: refused. */
static const unsigned char after[PHASE_COUNT][ACTION_COUNT] = {
	[PHASE_NEW] = {[ACTION_START] = PHASE_WAITING + 1, [ACTION_STOP] = PHASE_STOPPED + 1},
	[PHASE_WAITING] = {[ACTION_BEGIN] = PHASE_RECORDING + 1, [ACTION_STOP] = PHASE_STOPPED + 1},
	[PHASE_RECORDING] = {[ACTION_PAUSE] = PHASE_PAUSED + 1,
			     [ACTION_CAPTURE] = PHASE_RECORDING + 1,
			     [ACTION_STOP] = PHASE_STOPPED + 1},
	[PHASE_PAUSED] = {[ACTION_RESUME] = PHASE_RECORDING + 1,
			  [ACTION_CAPTURE] = PHASE_PAUSED + 1,
			  [ACTION_STOP] = PHASE_STOPPED + 1},
	[PHASE_STOPPED] = {[ACTION_SAVE] = PHASE_SAVED + 1},
};

static const char *const names[PHASE_COUNT] = {
	"not started", "waiting to begin", "recording", "paused", "stopped", "saved",
};

int phase_step(enum phase *phase, enum phase_action action)
{
	unsigned char next = after[*phase][action];

	if (!next)
		return -EPERM;
	*phase = (enum phase)(next - 1);
	return 0;
}

const char *phase_name(enum phase phase)
{
	return names[phase];
}
