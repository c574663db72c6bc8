/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pid_text.h - what a process is called by number: an image that was not the first under its pid needs another, "42.1".
 */
#ifndef GECKOBPF_FORMAT_PID_TEXT_H
#define GECKOBPF_FORMAT_PID_TEXT_H

#include <stddef.h>

#define PID_TEXT_BYTES 32

struct process;

/* Fills in `text`, of PID_TEXT_BYTES, and returns it. */
const char *pid_text(char *text, const struct process *process);

#endif
