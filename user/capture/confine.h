/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * confine.h - what a recorder gives up before it looks at any target, for good: whoever makes it do something else then
 * has no more than these rights (docs/security.md has the table).
 */
#ifndef GECKOBPF_CAPTURE_CONFINE_H
#define GECKOBPF_CAPTURE_CONFINE_H

/* What a recording does besides, each of which takes capabilities of its own. */
enum confine_use {
	CONFINE_WRITES_ANYWHERE =
		1, /* files, to directories that are not the caller's to write to */
	CONFINE_GIVES_FILES = 2, /* to the user behind sudo */
	CONFINE_SIGNALS_OTHERS = 4, /* a command that runs as that user */
};

/*
 * The calling thread keeps the capabilities that recording takes, and those for `uses`; and no program that is executed
 * from now on gets others, or those of a file. 0 or -errno: the capabilities cannot be changed.
 */
int confine_rights(unsigned int uses);

/* All threads lose the system calls that no recorder makes. 0 or -errno: the kernel has no such filters. */
int confine_calls(void);

#endif
