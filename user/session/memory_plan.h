/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_plan.h - how much memory a recording takes at most, and sizes that fit into what there is.
 *
 *   at most = fixed + sample rings + CPUs + --unwind-memory + --buffer-size and an eighth of it
 *
 * docs/troubleshooting.md has the sum with its numbers. What there is: of the machine, and of each memory cgroup that
 * the process is in. Where that is less, the buffer and the unwind tables are made smaller, which is better than to be
 * killed on the way.
 */
#ifndef GECKOBPF_SESSION_MEMORY_PLAN_H
#define GECKOBPF_SESSION_MEMORY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct session_config;

/*
 * Bytes that this process may still take: of the machine, and of its cgroups, whose files that can be given back do not
 * count. UINT64_MAX: nothing is known. `root`: where /proc and /sys are; "" but for tests.
 */
uint64_t memory_plan_room(const char *root);

/* What a recording takes at most, on so many CPUs. */
uint64_t memory_plan_most(const struct session_config *config, uint32_t cpu_count);

/*
 * Makes the buffer and the unwind tables of `config` smaller if they do not fit into `room` bytes. True: they were. Where
 * not even the smallest fit, the sizes are those.
 */
bool memory_plan_fit(struct session_config *config, uint32_t cpu_count, uint64_t room);

#endif
