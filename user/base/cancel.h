/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cancel.h - whether what takes long is to be given up. Once it is, it stays so: everything that looks ends with -EINTR.
 *
 * Who works on what others made, or on much, looks at least every 100 ms: before a file is read, at each piece of one, and
 * at some of the things that there are many of. NULL is fine: it never is.
 */
#ifndef GECKOBPF_BASE_CANCEL_H
#define GECKOBPF_BASE_CANCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel {
	bool (*is_cancelled)(void *context); /* may say so once; NULL: never */
	void *context;
	bool happened;
	uint32_t ticks;
};

#define CANCEL_LOOK_EVERY 64 /* of what takes microseconds, and now and then a millisecond */

static inline bool cancel_look(struct cancel *cancel)
{
	if (!cancel)
		return false;
	if (!cancel->happened && cancel->is_cancelled)
		cancel->happened = cancel->is_cancelled(cancel->context);
	return cancel->happened;
}

/* For each of many things: looks now and then. */
static inline bool cancel_tick(struct cancel *cancel)
{
	if (!cancel || (++cancel->ticks % CANCEL_LOOK_EVERY && !cancel->happened))
		return false;
	return cancel_look(cancel);
}

#endif
