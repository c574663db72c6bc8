/* SPDX-License-Identifier: BSD-2-Clause */
/* names_remedy.h - where this system has the names of a file that was stripped. */
#ifndef GECKOBPF_SESSION_NAMES_REMEDY_H
#define GECKOBPF_SESSION_NAMES_REMEDY_H

#include "session/dpkg_files.h"

struct profile_file;

/* "" and NULL where nothing is known for sure. */
struct names_remedy {
	char package
		[DPKG_PACKAGE_BYTES]; /* of the system's packages, the one with the debug file */
	/* What such a package is called if the system's archive of debug files has it; its other archives do not. */
	char debug_package[DPKG_PACKAGE_BYTES + 8];
	const char *servers; /* URL of the system's debuginfod server */
};

/*
 * What brings names to a file, if it is one of this system's, of that build, and lies where packages put theirs. `root` stands before all paths of the
 * system, "" as a rule. Reads lists of packages, runs nothing.
 */
struct names_remedy names_remedy_find(const char *root, const struct profile_file *file);

#endif
