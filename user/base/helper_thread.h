/* SPDX-License-Identifier: BSD-2-Clause */
/* helper_thread.h - what threads that only compute, or only write, begin with. */
#ifndef GECKOBPF_BASE_HELPER_THREAD_H
#define GECKOBPF_BASE_HELPER_THREAD_H

/*
 * The calling thread has no capability from now on: they are a thread's own, so each has to give up its own. Where that
 * is not allowed, it goes on with what it has.
 */
void helper_thread_give_up_rights(void);

/* The same, but for CAP_SYS_NICE, if it has that: for who makes way for all others, and wants to come back. */
void helper_thread_keep_nice(void);

#endif
