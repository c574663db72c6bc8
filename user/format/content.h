/* SPDX-License-Identifier: BSD-2-Clause */
/* content.h - all of a file: as it is, or unpacked if its first bytes are those of gzip or zstd. */
#ifndef GECKOBPF_FORMAT_CONTENT_H
#define GECKOBPF_FORMAT_CONTENT_H

#include <stddef.h>

struct error;

/*
 * Puts the content of `path`, which may be a pipe, into *bytes (the caller's to free; *size of them). 0; -EFBIG: more
 * than `max_bytes`, packed or unpacked, or unpacked to more than 32 times the file and 16 MiB; -EBADMSG: the packed data are broken or end early; -ENOMEM; -errno. `error`
 * says more.
 */
int content_read(const char *path, size_t max_bytes, char **bytes, size_t *size,
		 struct error *error);

#endif
