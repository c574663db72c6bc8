/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * out_file.h - the file that a format for other tools is written to, as a stream of stdio: there whole or not at all
 * (base/temporary.h), and what has its name already is kept (base/naming.h); or a pipe. Profiles for the front-end go
 * through base/output.h.
 */
#ifndef GECKOBPF_FORMAT_OUT_FILE_H
#define GECKOBPF_FORMAT_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct file_rights;
struct out_file;

/* 0 or -errno. */
int out_file_open(struct out_file **out, const char *path);
/* To write to; not to be closed. */
FILE *out_file_stream(struct out_file *file);
/* Writes what is left and gives it its name. `replaces`: an older file of that name goes. 0 or -errno. */
int out_file_commit(struct out_file *file, const struct file_rights *rights, bool replaces);
/* What an older file is called since then; NULL: there was none. */
const char *out_file_kept(const struct out_file *file);
/* Without a commit before it, removes the temporary. NULL is fine. */
void out_file_close(struct out_file *file);

#endif
