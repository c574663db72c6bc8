/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_reader.h - reads a Gecko profile, the JSON that geckobpf writes, plain, gzip or zstd, into a stack profile
 * (stack_profile.h).
 *
 * The text is in memory as a whole, and one thread of it at a time as a tree (some 300 bytes a row). It is not trusted.
 */
#ifndef GECKOBPF_FORMAT_GECKO_READER_H
#define GECKOBPF_FORMAT_GECKO_READER_H

#include <stddef.h>

struct error;
struct stack_profile;

/* No stack is deeper; those of geckobpf have some 1,200 frames at most. */
#define GECKO_READER_MAX_DEPTH 8192

/*
 * Adds the file as another source, or a part of it when it fails; then the profile is good for nothing but closing. 0;
 * -EBADMSG: it is not a profile, `error` says what is wrong where; -EFBIG: it takes too much memory; -ENOMEM; -errno of the file.
 */
int gecko_reader_load(struct stack_profile *profile, const char *path, struct error *error);

/* The same for a text in memory; `path` is for its name. */
int gecko_reader_parse(struct stack_profile *profile, const char *path, const char *text,
		       size_t size, struct error *error);

#endif
