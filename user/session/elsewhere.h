/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elsewhere.h - a file that cannot be where it should be: where else there may be room for it.
 *
 *   no disk failed: where it should be | $TMPDIR | /var/tmp | /tmp | the current directory
 *   one did:        $TMPDIR | /var/tmp | /tmp | the current directory | where it should be
 *
 * What is on the disk that failed comes after all others: what is to be saved now may be smaller,
 * or need not touch what is broken. A disk that is full is not tried again. No file is replaced: a
 * number is added to the name.
 */
#ifndef GECKOBPF_SESSION_ELSEWHERE_H
#define GECKOBPF_SESSION_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>

struct elsewhere {
	const char *path; /* what could not be written; "-": stdout, which has no directory */
	const char *failed; /* something on the disk that failed; NULL: it was not a disk */
	const char *suffix; /* of the file to be made, in place of that of `path` */
	const char *stdout_name; /* the name of the file, without suffix, if `path` is "-" */
};

/* Whether the error is one of a disk: another may do. */
bool elsewhere_helps(int err);

/*
 * Calls `write` with the path of one place after the other, until it returns 0; -EINTR and -ENOMEM
 * end it, too. 0: *out was written. -errno: nothing was; *out is the last place, or "" if there was none.
 */
int elsewhere_write(const struct elsewhere *elsewhere,
		    int (*write)(void *context, const char *path), void *context, char *out,
		    size_t out_bytes);

#endif
