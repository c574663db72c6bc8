/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.h - the files that processes map: what the profile calls libs.
 *
 * One object per distinct file, however many processes map it, under whatever path. A descriptor is kept while the
 * budget lasts, so that a file which is deleted, or whose container is gone, can still be read at the end.
 */
#ifndef GECKOBPF_TARGET_OBJECT_H
#define GECKOBPF_TARGET_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/build_id.h"

enum object_kind {
	OBJECT_FILE,
	OBJECT_VDSO, /* the kernel's code in every process; `path` is "[vdso]" */
	/* no file: JIT code and the like; `path` is "//anon" or a name such as "[heap]" */
	OBJECT_ANONYMOUS,
};

struct object {
	uint32_t number; /* unique and small; used again when the object is dropped */
	uint32_t serial; /* unique for ever; rises in the order of first appearance */
	enum object_kind kind;
	uint64_t device, inode; /* 0, 0 when not known */
	struct build_id build_id;
	char *path; /* as the first process saw it, " (deleted)" cut off */
	pid_t first_pid; /* that mapped it first: /proc/PID/root is where its path holds */
	int fd; /* open for reading, or -1 */
	/* It hangs, or is not there and has no build id to know it by: what lies at its path is not looked at. */
	bool is_shut;
	bool is_recorded; /* of a raw capture: what lies at the path now may be anything */
	/* Of a raw capture, the largest range of it that was mapped as code; 0 bytes: none. */
	uint64_t code_offset, code_bytes;
	bool is_used; /* a mark for objects_sweep() */
};

struct objects;

/* 0 or -ENOMEM. `descriptor_budget`: how many files may be kept open. */
int objects_open(struct objects **out, size_t descriptor_budget);
void objects_close(struct objects *objects);

/*
 * The object for a mapped file, made at first sight: equal build ids, or else equal device, inode and path, are one
 * object. `start`..`end` is where `pid` maps it, so that it can be opened through /proc/PID/map_files even if
 * it was deleted. `build_id` may be NULL. 0 or -ENOMEM; a file that cannot be opened is an object with fd -1.
 */
struct object_sighting {
	pid_t pid;
	uint64_t start, end;
	uint64_t device, inode;
	const char *path;
	const struct build_id *build_id;
	/* It hangs, or is not there and has no build id to know it by: what lies at its path is not looked at. */
	bool is_shut;
	bool is_recorded; /* not seen here and now: nothing is looked for */
};
int objects_get(struct objects *objects, const struct object_sighting *sighting,
		struct object **out);

/* Files that could not be opened in time: elf_open_path() was -ETIMEDOUT. */
uint64_t objects_late(const struct objects *objects);

/* Objects in order of first appearance: `index` is not their number. */
size_t objects_count(const struct objects *objects);
struct object *objects_at(const struct objects *objects, size_t index);

/*
 * Drops the objects that are not marked and for which `goes` returns true, and takes the marks off
 * the others. Returns how many went.
 */
size_t objects_sweep(struct objects *objects,
		     bool (*goes)(void *context, const struct object *object), void *context);

/* Memory of all that is here, about. Looks at every object. */
size_t objects_bytes(const struct objects *objects);

#endif
