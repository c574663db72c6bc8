/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phase.h - where a recording is in its life, and what may be done to it then.
 *
 *            start                begin              stop            save
 *   NEW ──────────────> WAITING ────────> RECORDING ──────> STOPPED ──────> SAVED
 *    │                     │ stop          │  ^   ^ │ capture  ^
 *    │ stop                │         pause │  │   └─┘          │
 *    v                     v               v  │ resume         │
 *   STOPPED             STOPPED           PAUSED ── capture    │
 *                                           └───── stop ───────┘
 *
 * WAITING: everything is attached, but samples are only taken after the delay that was asked for. Whatever the picture
 * does not show is refused.
 */
#ifndef GECKOBPF_SESSION_PHASE_H
#define GECKOBPF_SESSION_PHASE_H

enum phase {
	PHASE_NEW,
	PHASE_WAITING,
	PHASE_RECORDING,
	PHASE_PAUSED,
	PHASE_STOPPED,
	PHASE_SAVED,
	PHASE_COUNT,
};

enum phase_action {
	ACTION_START,
	ACTION_BEGIN,
	ACTION_PAUSE,
	ACTION_RESUME,
	ACTION_CAPTURE,
	ACTION_STOP,
	ACTION_SAVE,
	ACTION_COUNT,
};

/* Whether `action` is allowed in *phase, which becomes the one after it. 0 or -EPERM. */
int phase_step(enum phase *phase, enum phase_action action);

/* "paused" and the like, for messages. */
const char *phase_name(enum phase phase);

#endif
