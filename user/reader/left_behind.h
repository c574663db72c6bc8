/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * left_behind.h - processes that were killed and are not waited for: one that hangs on a file system dies when the kernel
 * lets go of it, which may be never. They are of the process that started them, as wait(2) has it; a child that was forked
 * meanwhile has none. To be used by one thread at a time.
 */
#ifndef GECKOBPF_READER_LEFT_BEHIND_H
#define GECKOBPF_READER_LEFT_BEHIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* So many are remembered; half of them, and no more are started. */
#define LEFT_BEHIND_MAX 64

/* Kills `child`, and remembers it until it has ended, for which it waits at most `wait_ns`. */
void left_behind_add(pid_t child, uint64_t wait_ns);

/* Forgets those that have ended. Whether another reader may be started: not too many hang. */
bool left_behind_has_room(void);

#endif
