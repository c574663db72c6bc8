/* SPDX-License-Identifier: BSD-2-Clause */
/* hot_list.h - what had the most samples: functions, threads or processes, of all of a profile or of a part of it. */
#ifndef GECKOBPF_FORMAT_HOT_LIST_H
#define GECKOBPF_FORMAT_HOT_LIST_H

#include <stddef.h>
#include <stdint.h>

struct stack_profile;

enum hot_key { HOT_FUNCTION, HOT_THREAD, HOT_PROCESS };

/* Which threads count. */
struct hot_scope {
	uint32_t process, thread; /* STACK_NONE: any */
};

struct hot_sum {
	uint64_t samples, cpu_ns;
	uint64_t wall_ns; /* samples x their source's interval */
};

struct hot_row {
	uint32_t key; /* number of the function, thread or process */
	/*
	 * As the leaf; and anywhere on the stack, once however often it is there. For threads and processes the same.
	 */
	struct hot_sum self, total;
};

struct hot_list {
	struct hot_row
		*items; /* those with samples or CPU time; the most samples of its own first */
	size_t count, capacity;
	struct hot_sum sum; /* of the scope */
	uint64_t no_stack_cpu_ns; /* of that: no sample accounts for it */
};

/* Into an empty list. 0 or -ENOMEM. */
int hot_list_make(struct hot_list *list, const struct stack_profile *profile, enum hot_key key,
		  const struct hot_scope *scope);
void hot_list_clear(struct hot_list *list);

#endif
