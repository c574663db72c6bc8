/* SPDX-License-Identifier: BSD-2-Clause */
/* unnamed.h - what is said of files whose code has no names in a profile. */
#ifndef GECKOBPF_CMD_UNNAMED_H
#define GECKOBPF_CMD_UNNAMED_H

struct profile_summary;

/* Says which files gave no names, and what can be done about it. */
void unnamed_report(const struct profile_summary *summary);

#endif
