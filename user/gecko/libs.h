/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs.h - the files behind the mappings: one symbol_file for each object, and the libs of a
 * process.
 *
 *   start          the lib's entry covers the addresses [start, end)
 *   start - offset the lib's base: where its lowest page would be
 *   address - base the relative address, which symbol servers know
 */
#ifndef GECKOBPF_GECKO_LIBS_H
#define GECKOBPF_GECKO_LIBS_H

struct address_space;
struct json;
struct libs;
struct object;
struct symbol_file;
struct symbolizer;
struct unique_table;

/*
 * `symbolizer` is borrowed; NULL: one of its own, which reads headers and build ids only. 0 or
 * -ENOMEM.
 */
int libs_open(struct libs **out, struct symbolizer *symbolizer);
/* The symbolizer is not asked about the files any more. NULL is fine. */
void libs_close(struct libs *libs);

/* The file of an object, added to the symbolizer at first. 0, -ENOENT: it is no file; -ENOMEM. */
int libs_file(struct libs *libs, const struct object *object, struct symbol_file **out);

/*
 * Writes the array of libs, sorted by start, none overlapping: what was mapped at the end. `used`
 * holds the numbers of the objects to list. 0 or -ENOMEM.
 */
int libs_write(struct libs *libs, const struct address_space *space,
	       const struct unique_table *used, struct json *json);

#endif
