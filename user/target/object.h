/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.h - the files that processes map: what the profile calls libs.
 *
 * One object per distinct file, however many processes map it, under whatever path. Files are one if they are the same inode,
 * unchanged, or have the same build id and what is used of them is equal, by a digest with a key that nobody knows: a build id
 * is what a file says of itself. Only for a process that is gone, whose file cannot be looked at, is it believed: if all files
 * that say so are equal, or one of them is ours, which root alone can write to.
 *
 * What is kept open, and for how long: object_file.h.
 */
#ifndef GECKOBPF_TARGET_OBJECT_H
#define GECKOBPF_TARGET_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/build_id.h"
#include "elf/elf_open.h"
#include "elf/elf_parts.h"
#include "target/object_view.h"

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
	/* That mapped it first: /proc/PID/root is where its path holds, and its debug file. 0: others see it elsewhere. */
	pid_t first_pid;
	int fd; /* for names: the file open for reading, or a copy of what they need of it; or -1 */
	/* It hangs, or is not there and has no build id to know it by: what lies at its path is not looked at. */
	bool is_shut;
	bool is_recorded; /* of a raw capture: what lies at the path now may be anything */
	/* Of a raw capture, the largest range of it that was mapped as code; 0 bytes: none. */
	uint64_t code_offset, code_bytes;
	bool is_used; /* a mark for objects_sweep() */

	/* The rest is for object.c and object_file.c alone. */
	int work_fd; /* or -1 */
	struct file_status file; /* as it was opened; inode 0: it never was */
	uint64_t copy_bytes; /* 0: `fd` is of the file itself */
	bool is_ours; /* our own mounts lead to it, and root alone can write to it */
	bool is_shared; /* with processes that may not trust each other */
	bool has_digest;
	struct elf_digest digest;
	struct object_view view; /* of who mapped it first */
	struct {
		pid_t pid;
		uint64_t start, end;
	} seen; /* last */
	struct object *next_build, *previous_build; /* others with its build id */
};

struct objects;

#define OBJECTS_COPIES_MAX_BYTES (32u << 20) /* of files that are not kept open: the oldest go */

/* 0 or -ENOMEM. `descriptor_budget`: how many files and copies may be kept open. */
int objects_open(struct objects **out, size_t descriptor_budget);
void objects_close(struct objects *objects);

/*
 * The object for a mapped file, made at first sight. `start`..`end` is where `pid` maps it, so that it can be opened through
 * /proc/PID/map_files even if it was deleted. `build_id` may be NULL. 0 or -ENOMEM; a file that cannot be opened is an
 * object with fd -1.
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

/* A descriptor of the object's file for work on it, the caller's; -ENOENT: it is gone; -errno. */
int objects_open_file(const struct object *object);

/* What was opened is closed, unless it may be kept: to be called often. */
void objects_tend(struct objects *objects, uint64_t now_ns);

/* Opens what is still there again: names are about to be read. */
void objects_open_for_names(struct objects *objects);

struct objects_stats {
	uint64_t late; /* files that could not be opened in time: elf_open_path() was -ETIMEDOUT */
	uint64_t gone; /* that names were to be read from, and were gone */
	uint64_t copies_dropped;
	uint64_t impostors; /* files with the build id of another that they are not equal to */
};
struct objects_stats objects_get_stats(const struct objects *objects);

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
