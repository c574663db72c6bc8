/* SPDX-License-Identifier: BSD-2-Clause */
/* object_files.h - which of the named files belongs to each object that processes map. */
#ifndef GECKOBPF_SYMBOL_OBJECT_FILES_H
#define GECKOBPF_SYMBOL_OBJECT_FILES_H

#include "symbol/named_files.h"

struct object;
struct object_files;

/*
 * `named_files` is borrowed; NULL: some of its own, of which headers and build ids are read only.
 * 0 or -ENOMEM.
 */
int object_files_open(struct object_files **out, struct named_files *named_files);
/* The symbol files are not asked any more. */
void object_files_close(struct object_files *files);

/*
 * The file of an object, added to the named files at first; the object is borrowed. 0; -ENOENT: it
 * is no file, or not to be known; -ENOMEM.
 */
int object_files_get(struct object_files *files, const struct object *object,
		     struct named_file **out);

/*
 * Why code of an object that was asked for has no name. *other: the file that was met instead, for
 * SYMBOL_TROUBLE_OTHER_BUILD.
 */
enum symbol_trouble object_files_trouble(const struct object_files *files,
					 const struct object *object, struct other_file *other);

#endif
