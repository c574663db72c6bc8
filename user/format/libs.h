/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs.h - the files behind the mappings: one symbol_file for each object, and the libs of a
 * process.
 *
 *   start          the lib's entry covers the addresses [start, end)
 *   start - offset the lib's base: where its lowest page would be
 *   address - base the relative address, which symbol servers know
 */
#ifndef GECKOBPF_FORMAT_LIBS_H
#define GECKOBPF_FORMAT_LIBS_H

#include <stdint.h>

struct address_space;
struct json;
struct libs;
struct object;
struct symbol_file;
struct symbolizer;
struct profile_files;
struct unique_table;

/*
 * `symbolizer` is borrowed; NULL: one of its own, which reads headers and build ids only. 0 or
 * -ENOMEM.
 */
int libs_open(struct libs **out, struct symbolizer *symbolizer);
/* The symbolizer is not asked about the files any more. NULL is fine. */
void libs_close(struct libs *libs);

/* The file of an object, added to the symbolizer at first. 0, -ENOENT: it is no file, or not to be known; -ENOMEM. */
int libs_file(struct libs *libs, const struct object *object, struct symbol_file **out);

/*
 * Writes the array of libs, sorted by start, none overlapping: what was mapped at the end. `used`
 * holds the numbers of the objects to list. 0 or -ENOMEM.
 */
int libs_write(struct libs *libs, const struct address_space *space,
	       const struct unique_table *used, struct json *json);

/* `samples` more have a leaf in the object for which there was no name. */
void libs_count_unnamed(struct libs *libs, uint32_t object_number, uint64_t samples);
/* Adds the files that were counted so, but for the vDSO, to `files`. 0 or -ENOMEM. */
int libs_list_unnamed(const struct libs *libs, struct profile_files *files);

#endif
