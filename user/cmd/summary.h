/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.h - what is said on the terminal when a file of a recording was written: what is in it, and what is not, and
 * why.
 */
#ifndef GECKOBPF_CMD_SUMMARY_H
#define GECKOBPF_CMD_SUMMARY_H

struct profile_summary;
struct session_saved;

/* Of a profile also its hottest functions, on stdout, unless the profile itself went there. */
void summary_print(const struct session_saved *saved);

/* Says how many processes of the profile are shown as one, if any. */
void summary_gathered(const struct profile_summary *profile);

/* Says that the file that had the name `path` is called `kept` now. */
void summary_kept(const char *path, const char *kept);

#endif
