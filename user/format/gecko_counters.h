/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_counters.h - the counters of a process, as rows of JSON in spools. */
#ifndef GECKOBPF_FORMAT_GECKO_COUNTERS_H
#define GECKOBPF_FORMAT_GECKO_COUNTERS_H

#include "geckobpf_abi.h"

struct json;
struct profile_point;
struct spool;
struct spool_pool;

/* Zero-initialised is empty. */
struct gecko_counters {
	struct spool *rows[GB_COUNTER_COUNT]; /* NULL: it has none */
};

/* 0, -ENOMEM, -errno of the spool. */
int gecko_counters_add(struct gecko_counters *counters, const struct profile_point *point,
		       struct spool_pool *pool);
void gecko_counters_clear(struct gecko_counters *counters);
/* "counters", if there are any. 0 or -errno of reading what was spilled. */
int gecko_counters_write(struct gecko_counters *counters, struct json *json);

#endif
