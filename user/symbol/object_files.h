/* SPDX-License-Identifier: BSD-2-Clause */
/* object_files.h - the file that a symbolizer reads for each object that processes map. */
#ifndef GECKOBPF_SYMBOL_OBJECT_FILES_H
#define GECKOBPF_SYMBOL_OBJECT_FILES_H

#include "symbol/symbolizer.h"

struct object;
struct object_files;

/*
 * `symbolizer` is borrowed; NULL: one of its own, which reads headers and build ids only. 0 or
 * -ENOMEM.
 */
int object_files_open(struct object_files **out, struct symbolizer *symbolizer);
/* The symbolizer is not asked about the files any more. */
void object_files_close(struct object_files *files);

/*
 * The file of an object, added to the symbolizer at first; the object is borrowed. 0; -ENOENT: it
 * is no file, or not to be known; -ENOMEM.
 */
int object_files_get(struct object_files *files, const struct object *object,
		     struct symbol_file **out);

/*
 * Why code of an object that was asked for has no name. *other: the file that was met instead, for
 * SYMBOL_TROUBLE_OTHER_BUILD.
 */
enum symbol_trouble object_files_trouble(const struct object_files *files,
					 const struct object *object, struct symbol_other *other);

#endif
