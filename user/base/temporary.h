/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * temporary.h - a file that is there whole or not at all: until it is finished it has another name,
 * ".NAME.PID.tmp", beside its own; if that is taken, by what a killed process of the same id left,
 * ".NAME.PID-2.tmp", and so on.
 *
 * One thread makes and finishes them all.
 */
#ifndef GECKOBPF_BASE_TEMPORARY_H
#define GECKOBPF_BASE_TEMPORARY_H

/*
 * Makes the file that will be `path`, which its owner alone may read (file_rights.h). *name is what it is called until
 * then; temporary_rename() or temporary_remove() frees it. Returns a descriptor to write to, or -errno.
 */
int temporary_create(const char *path, char **name);

/*
 * The file is finished and gets the name `path`. Frees *name, which becomes NULL. 0; -errno:
 * nothing has changed.
 */
int temporary_rename(char **name, const char *path);
/* The same, unless another file has that name: -EEXIST. */
int temporary_rename_new(char **name, const char *path);

/* Removes the file, and frees *name, which becomes NULL. A NULL *name is fine. */
void temporary_remove(char **name);

/*
 * From now on, signals that end the process remove its temporaries first, unless they were ignored,
 * and a write beyond the limit on file sizes fails instead of ending the process. For main().
 */
void temporary_guard(void);

#endif
