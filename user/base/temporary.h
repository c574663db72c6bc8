/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * temporary.h - a file that is there whole or not at all: until it is finished it has another name, ".NAME.PID.tmp", beside its own;
 * if that is taken, by what a killed process of the same id left, ".NAME.PID-2.tmp", and so on.
 *
 * One at a time is looked after by temporary_guard().
 */
#ifndef GECKOBPF_BASE_TEMPORARY_H
#define GECKOBPF_BASE_TEMPORARY_H

#include <sys/types.h>

/* Makes the file that will be `path`, to write to, with these permissions less the umask. *name, the caller's, is what it is called until then. A descriptor or -errno. */
int temporary_create(const char *path, mode_t mode, char **name);

/* It is finished: `path` it is from now on. Frees *name, which becomes NULL. 0; -errno: nothing has changed. */
int temporary_rename(char **name, const char *path);

/* Removes it, and frees *name, which becomes NULL. NULL is fine. */
void temporary_remove(char **name);

/*
 * From now on, signals that end the process remove its temporary first, unless they were ignored; a file that would be larger than
 * it may be is an error of write(2). For main().
 */
void temporary_guard(void);

#endif
