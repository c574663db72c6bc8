/* SPDX-License-Identifier: BSD-2-Clause */
/* lib_name.h - what the files that a process runs code of are called. */
#ifndef GECKOBPF_PROFILE_LIB_NAME_H
#define GECKOBPF_PROFILE_LIB_NAME_H

#include <stddef.h>

struct object;
struct process;

/*
 * The last part of the object's path; of the program itself, the name that it was started under, as redis-server, which
 * is a link to redis-check-rdb. It is the object's, or in `text`, of `size` bytes.
 */
const char *lib_name(const struct process *process, const struct object *object, char *text,
		     size_t size);

#endif
