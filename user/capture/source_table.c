/* SPDX-License-Identifier: BSD-2-Clause */
/* source_table.c - all sources there are: one row each. */
#include "capture/source.h"

#include <stddef.h>

#include "capture/sleep_source.h"
#include "capture/timer_source.h"

const struct source *const source_table[] = {
	&timer_source,
	&sleep_source,
	NULL,
};
