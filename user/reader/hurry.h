/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hurry.h - readers go before others, as who waits for them does: a reader that has to wait for a busy machine is late.
 *
 * One that is started in place of another is raised, too, though the right to do so has been given up by then: a thread
 * has kept that right, and nothing else (CAP_SYS_NICE).
 */
#ifndef GECKOBPF_READER_HURRY_H
#define GECKOBPF_READER_HURRY_H

#include <sys/types.h>

/*
 * Starts the thread, if the calling thread goes before others; before it gives rights up. Without it readers are raised
 * as far as the caller may. 0 or -errno.
 */
int hurry_open(void);
void hurry_close(void);

/*
 * The child goes before others as far as the calling thread does, but behind that thread; where that is not allowed, as
 * everybody else.
 */
void hurry_up(pid_t child);
/* The same, if it goes before all others in real time, as we no longer do. */
void hurry_follow(pid_t child);
/* As everybody else: a file that takes long is not to take a CPU from all. */
void hurry_no_more(pid_t child);

#endif
