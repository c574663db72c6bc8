/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - what is said on the terminal when a file of a recording was written: what is in it, and what is not, and
 * why.
 */
#ifndef GECKOBPF_CMD_SUMMARY_H
#define GECKOBPF_CMD_SUMMARY_H

struct session_saved;

/* Of profiles also the hottest functions, on stdout, unless the profile is there. */
void summary_print(const struct session_saved *saved);

#endif
