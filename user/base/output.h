/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - what a recording is written to, a profile or a raw capture: plain, one gzip member, or
 * one zstd frame; a file, stdout, or what else can be written to and is no file, as a pipe.
 *
 * A file is written to a temporary beside it and renamed by output_commit(), so it is there whole
 * or not at all; unless it was published before. A file that has the name already is kept
 * (naming.h). The first error sticks: later writes do nothing and every call returns it.
 */
#ifndef GECKOBPF_BASE_OUTPUT_H
#define GECKOBPF_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_rights.h"

struct output;
struct piece;

struct output_options {
	/* Asked before every write to the file; true: stop, with -EINTR. NULL: never. */
	bool (*is_cancelled)(void *context);
	void *context;
	struct file_rights rights;
	bool replaces; /* a file of the same name; otherwise that is kept, under another name (naming.h) */
};

/*
 * `path` ends in .json, .json.gz, .json.zst or .gbpf, or is "-" for stdout, or no file. 0, -EINVAL:
 * another suffix; -errno. `options` NULL: nobody cancels, the usual rights, and a file of that name is replaced.
 */
int output_open(struct output **out, const char *path, const struct output_options *options);

/* Adds `size` bytes. 0 or the error that stuck. */
int output_write(struct output *output, const void *data, size_t size);

/* Whether packed pieces may be part of it: it is a .json.gz. */
bool output_splices(const struct output *output);
/* A packed piece becomes part of the gzip member; -EINVAL: not of this output. */
int output_splice(struct output *output, const struct piece *piece);

/* Finishes the compression, flushes, renames. 0 or the error that stuck; the temporary is then gone. */
int output_commit(struct output *output);

/*
 * For a file that is of use before it is finished: what was written so far is in it, and it has its
 * rights and its name. Later writes are in it with the next output_flush(). When one fails, the file
 * is as the last flush left it, and no close removes it.
 */
int output_publish(struct output *output);
int output_flush(struct output *output);

/* What a file is called that had the name before; NULL: there was none. */
const char *output_kept(const struct output *output);

uint64_t output_bytes_in(const struct output *output); /* before compression */
uint64_t output_bytes_out(const struct output *output); /* written so far */
int output_error(const struct output *output);

/* Without a commit before it, removes the temporary. NULL is fine. */
void output_close(struct output *output);

/* Where the suffix of `path` begins; its end if it is none that we know. */
const char *output_suffix(const char *path);

/*
 * Whether `path` can be written: suffix known, directory there, a file can be created in it; or it is no file. Leaves nothing behind.
 * 0, -EINVAL (suffix), -errno.
 */
int output_check(const char *path);

#endif
