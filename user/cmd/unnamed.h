/* SPDX-License-Identifier: BSD-2-Clause */
/* unnamed.h - what is said of files whose code has no names in a profile. */
#ifndef GECKOBPF_CMD_UNNAMED_H
#define GECKOBPF_CMD_UNNAMED_H

struct profile_summary;

/*
 * In one line, how to get the names of the file that lacks the most, if these are many; nothing if not. With debug
 * messages, all that unnamed_report() says.
 */
void unnamed_hint(const struct profile_summary *summary);

/* Says which files gave no names, and what can be done about it. */
void unnamed_report(const struct profile_summary *summary);

#endif
