/* SPDX-License-Identifier: BSD-2-Clause */
/* names_remedy.h - where this system has the names of a file that was stripped. */
#ifndef GECKOBPF_SESSION_NAMES_REMEDY_H
#define GECKOBPF_SESSION_NAMES_REMEDY_H

struct profile_file;

/* Both are NULL if nothing is known for sure. */
struct names_remedy {
	const char *package; /* of the system's packages, the one with the debug file */
	const char *servers; /* URL of the system's debuginfod server */
};

/*
 * What brings names to a file, if it is one of this system's, of that build. `root` stands before all paths of the
 * system, "" as a rule. Reads a few small files, runs nothing.
 */
struct names_remedy names_remedy_find(const char *root, const struct profile_file *file);

#endif
