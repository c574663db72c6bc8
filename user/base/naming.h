/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * naming.h - a finished file gets its name, and no file that there is loses its content by that, unless it is wanted:
 * the older one of the same name is NAME-1.json from then on, or the next number that is free.
 */
#ifndef GECKOBPF_BASE_NAMING_H
#define GECKOBPF_BASE_NAMING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The temporary file *temporary (temporary.h) gets the name `path`. `replaces`: an older file of that name goes. *kept:
 * what it is called otherwise, the caller's to free; NULL: there was none. 0, or -errno: the file is still a temporary.
 * Of files that get one name at the same time, each is there in the end.
 */
int naming_apply(const char *path, bool replaces, char **temporary, char **kept);

/*
 * PATH-NUMBER.json, with the first number from `number` on that no file has now; `replaces`: whatever has it. 0,
 * -ENAMETOOLONG, -EEXIST: there are too many.
 */
int naming_number(const char *path, unsigned int number, bool replaces, char *out,
		  size_t out_bytes);

/* Renames a file unless another one has the name `to`: -EEXIST. 0 or -errno. */
int naming_rename(const char *from, const char *to);

/* Whether `path` is written to as it is and gets no name: "-" (stdout), a pipe, a device, a socket. */
bool naming_is_direct(const char *path);

#endif
