/* SPDX-License-Identifier: BSD-2-Clause */
/* pid_names.h - processes by name: what /proc calls them, or the file that they run. */
#ifndef GECKOBPF_SESSION_PID_NAMES_H
#define GECKOBPF_SESSION_PID_NAMES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/nearest.h"

/* Zero-initialised is empty; free `items`. */
struct pid_list {
	pid_t *items;
	size_t count, capacity;
};

/* 0 or -ENOMEM. */
int pid_list_add(struct pid_list *list, pid_t pid);

/*
 * Adds all processes of this name, but for ourselves and kernel threads: their name (up to 15 letters, as /proc has it)
 * or that of the file they run is `name`, exactly. How many, or -errno. None: `nearest`, which has the name as its word,
 * is told those that there are.
 */
int pid_names_find(const char *name, struct pid_list *list, struct nearest *nearest);

#endif
