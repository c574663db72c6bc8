/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs.h - the files behind the mappings: what they are known by, and where the code of each was at the end.
 *
 *   address ──mapping──> offset in the file ──program headers──> virtual address ──> relative address
 *
 * A virtual address is one of the file's own numbering, as addr2line and objdump have it. The relative address, which
 * symbol servers know, is 0 where the file's lowest page would be.
 */
#ifndef GECKOBPF_PROFILE_LIBS_H
#define GECKOBPF_PROFILE_LIBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/build_id.h"

struct address_space;
struct libs;
struct object;
struct object_files;
struct profile_files;
struct redaction;
struct named_files;
struct u64_map;

/*
 * `named_files` is borrowed; NULL: some of its own, of which headers and build ids are read only. `redaction`, borrowed,
 * NULL: everything is said. 0 or -ENOMEM.
 */
int libs_open(struct libs **out, struct named_files *named_files,
	      const struct redaction *redaction);
/* The symbol files are not asked any more. NULL is fine. */
void libs_close(struct libs *libs);

/* The files that symbols are read from; borrowed. */
struct object_files *libs_files(struct libs *libs);

/* Whether where things were mapped is not to be said. */
bool libs_hide_addresses(const struct libs *libs);
/* Where the object lies, as far as it is to be said; lives as long as the object. */
const char *libs_path(const struct libs *libs, const struct object *object);

/* *id: that of an object; empty: it has none, or cannot be read. 0 or -ENOMEM. */
int libs_build_id(struct libs *libs, const struct object *object, struct build_id *id);
/*
 * *address: the virtual address of the code at an offset in the object's file; the offset itself if the file does not
 * tell. 0 or -ENOMEM.
 */
int libs_address(struct libs *libs, const struct object *object, uint64_t offset,
		 uint64_t *address);

/* The same as a relative address. */
int libs_relative_address(struct libs *libs, const struct object *object, uint64_t offset,
			  uint64_t *relative);

/* The same of a virtual address, as that where a symbol starts. */
int libs_relative_start(struct libs *libs, const struct object *object, uint64_t start,
			uint64_t *relative);

/* Addresses [start, end) are code of a file. */
struct profile_lib {
	uint64_t start, end;
	uint64_t offset; /* of `start` in the file */
	const struct object *object;
};

/* Zero-initialised is empty. */
struct profile_libs {
	struct profile_lib *items;
	size_t count, capacity;
};

/*
 * What was mapped at the end, sorted by start, none overlapping. `used` holds the numbers of the objects to list. The
 * caller frees libs->items. 0 or -ENOMEM.
 */
int libs_list(const struct address_space *space, const struct u64_map *used,
	      struct profile_libs *out);

/* `samples` more have a leaf in the object, which is borrowed, for which there was no name. 0 or -ENOMEM. */
int libs_count_unnamed(struct libs *libs, const struct object *object, uint64_t samples);
/* Adds those that were counted so, but for the vDSO, to `files`. 0 or -ENOMEM. */
int libs_list_unnamed(const struct libs *libs, struct profile_files *files);

#endif
