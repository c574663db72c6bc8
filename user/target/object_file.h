/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_file.h - the file of an object: found, opened, known again, and let go.
 *
 * A descriptor of it keeps its file system from being unmounted, and its space when it is deleted. So it is
 *
 *   open         while there is work to do on it: until object_end_work()
 *   kept open    on the mount of our own root directory, which we keep busy anyway, until it is deleted
 *   copied       else: of what names need (elf/elf_parts.h), at most OBJECT_COPY_MAX_BYTES
 *
 * and opened again when it is needed later, if it is still there.
 */
#ifndef GECKOBPF_TARGET_OBJECT_FILE_H
#define GECKOBPF_TARGET_OBJECT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/object.h"

#define OBJECT_COPY_MAX_BYTES (4u << 20)

/* What is mapped under that path. */
enum object_kind object_kind_of(const char *path);
/* The path without the mark that the kernel puts behind the name of a deleted file, the caller's; NULL: no memory. */
char *object_clean_path(const char *path);

/*
 * Opens the file that was seen for work on it, and finds out what it is; its build id is read if it is not known. 0: also
 * if it cannot be opened, which object->is_shut says; -ETIMEDOUT: it hangs; -ENOMEM.
 */
int object_file_meet(struct object *object, const struct object_sighting *sighting);

/* What is needed of it when it is closed is put by, if `may_keep`. */
void object_file_keep(struct object *object, bool may_keep);

/* Closes what was opened for work. */
void object_file_end_work(struct object *object);

/* One that is kept open, and was deleted meanwhile, is copied and closed. True: it was. */
bool object_file_let_go(struct object *object);

/* A descriptor of the very file, the caller's, opened again where it is not open; -ENOENT: it is gone; -errno. */
int object_file_open(const struct object *object);

void object_file_close(struct object *object);

#endif
