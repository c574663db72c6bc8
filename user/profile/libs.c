/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs.c - see libs.h.
 *
 * What was mapped at the end is found by looking at each place where it can change: the starts
 * and ends of all mappings. Between two of them an address space is one mapping, or a hole.
 */
#include "profile/libs.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "base/u64_map.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"
#include "target/address_space.h"
#include "target/object.h"

#define ROOT_BYTES sizeof("/proc/-2147483648/root")

struct lib {
	struct symbol_file *file; /* NULL: not asked for so far */
	char *root; /* borrowed by the symbolizer */
	bool is_other; /* what is at the path now is not what was mapped */
	const struct object *object; /* NULL: not asked for so far */
	uint64_t unnamed_samples; /* with a leaf in it that has no name */
};

struct libs {
	struct symbolizer *symbolizer;
	bool owns_symbolizer;
	struct lib *items; /* by object number */
	size_t count, capacity;
};

int libs_open(struct libs **out, struct symbolizer *symbolizer)
{
	struct libs *libs = calloc(1, sizeof(*libs));
	int err = 0;

	if (!libs)
		return -ENOMEM;
	libs->symbolizer = symbolizer;
	libs->owns_symbolizer = !symbolizer;
	if (libs->owns_symbolizer)
		err = symbolizer_open(&libs->symbolizer, NULL);
	if (err) {
		free(libs);
		return err;
	}
	*out = libs;
	return 0;
}

void libs_close(struct libs *libs)
{
	size_t i;

	if (!libs)
		return;
	if (libs->owns_symbolizer)
		symbolizer_close(libs->symbolizer);
	for (i = 0; i < libs->count; i++)
		free(libs->items[i].root);
	free(libs->items);
	free(libs);
}

/* ---- symbol files -------------------------------------------------------------- */

static int make_item(struct libs *libs, size_t number)
{
	int err = array_reserve((void **)&libs->items, &libs->capacity, number + 1,
				sizeof(*libs->items));

	if (err)
		return err;
	while (libs->count <= number)
		libs->items[libs->count++] = (struct lib){0};
	return 0;
}

/* The vDSO is the same file in all processes: read ours. Its section headers are its last part. */
static int vdso_source(struct symbol_source *source)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!header)
		return -ENOENT;
	source->image = header;
	source->image_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	return source->image_bytes > sizeof(*header) ? 0 : -ENOENT;
}

static int file_source(const struct object *object, struct lib *lib, struct symbol_source *source)
{
	if (!lib->root) {
		lib->root = malloc(ROOT_BYTES);
		if (!lib->root)
			return -ENOMEM;
		snprintf(lib->root, ROOT_BYTES, "/proc/%d/root", (int)object->first_pid);
	}
	if (object->is_recorded) {
		source->build_id = object->build_id.bytes;
		source->build_id_bytes = object->build_id.size;
		source->code_offset = object->code_offset;
		source->code_bytes = object->code_bytes;
		return object->build_id.size ? 0 : -ENOENT;
	}
	source->fd = object->fd;
	source->root = object->first_pid > 0 ? lib->root : NULL;
	return 0;
}

/* Whether what lies at the object's path now is not what was mapped: another build. */
static bool is_other_file(const struct object *object, struct symbol_file *file)
{
	struct build_id found = {0};
	uint64_t base;

	if (!object->build_id.size)
		return false; /* not known, so not worth reading the file for */
	if (symbol_file_base(file, &base))
		return false; /* nothing is there */
	found.size = (uint8_t)symbol_file_build_id(file, found.bytes, sizeof(found.bytes));
	return !build_id_equal(&found, &object->build_id);
}

/* The vDSO of a recording may be another kernel's. */
static int find_source(const struct object *object, struct lib *lib, struct symbol_source *source)
{
	if (object->kind != OBJECT_VDSO)
		return file_source(object, lib, source);
	return object->is_recorded ? -ENOENT : vdso_source(source);
}

int libs_file(struct libs *libs, const struct object *object, struct symbol_file **out)
{
	struct symbol_source source = {.path = object->path, .fd = -1};
	struct lib *lib;
	int err = object->kind == OBJECT_ANONYMOUS ? -ENOENT : make_item(libs, object->number);

	if (err)
		return err;
	lib = &libs->items[object->number];
	lib->object = object;
	if (!lib->file) {
		err = find_source(object, lib, &source);
		if (!err)
			err = symbolizer_add_file(libs->symbolizer, &source, &lib->file);
		if (err)
			return err;
		lib->is_other = source.fd < 0 && !source.image && !source.build_id &&
				is_other_file(object, lib->file);
	}
	if (lib->is_other)
		return -ENOENT;
	*out = lib->file;
	return 0;
}

int libs_build_id(struct libs *libs, const struct object *object, struct build_id *id)
{
	struct symbol_file *file;
	int err = object->build_id.size ? -ENOENT : libs_file(libs, object, &file);

	*id = object->build_id;
	if (!err)
		id->size = (uint8_t)symbol_file_build_id(file, id->bytes, sizeof(id->bytes));
	if (id->size > sizeof(id->bytes))
		id->size = sizeof(id->bytes);
	return err == -ENOMEM ? err : 0;
}

int libs_relative_address(struct libs *libs, const struct object *object, uint64_t offset,
			  uint64_t *relative)
{
	uint64_t address = 0, base = 0;
	struct symbol_file *file;
	int err = libs_file(libs, object, &file);

	if (!err)
		err = symbol_file_address(file, offset, &address);
	if (!err)
		err = symbol_file_base(file, &base);
	if (err == -ENOMEM)
		return err;
	*relative = err || address < base ? offset : address - base;
	return 0;
}

/* ---- what was mapped at the end ----------------------------------------------------- */

struct points {
	uint64_t *items;
	size_t count, capacity;
};

static int compare_points(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Where what is mapped can change: the starts and ends of all mappings. */
static int collect_points(struct points *points, const struct address_space *space)
{
	size_t i;

	for (i = 0; i < space->count; i++) {
		int err = array_reserve((void **)&points->items, &points->capacity,
					points->count + 2, sizeof(*points->items));

		if (err)
			return err;
		points->items[points->count++] = space->items[i].start;
		points->items[points->count++] = space->items[i].end;
	}
	if (points->count)
		qsort(points->items, points->count, sizeof(*points->items), compare_points);
	return 0;
}

static int add_lib(struct profile_libs *out, const struct mapping *mapping, uint64_t start,
		   uint64_t end)
{
	int err = ARRAY_ROOM(out);

	if (!err)
		out->items[out->count++] = (struct profile_lib){
			.start = start,
			.end = end,
			.offset = mapping->offset + (start - mapping->start),
			.object = mapping->object,
		};
	return err;
}

static bool is_listed(const struct mapping *mapping, const struct u64_map *used)
{
	return mapping && mapping->object->kind != OBJECT_ANONYMOUS &&
	       u64_map_get(used, mapping->object->number) != U64_MAP_NONE;
}

int libs_list(const struct address_space *space, const struct u64_map *used,
	      struct profile_libs *out)
{
	const struct mapping *current = NULL, *next;
	struct points points = {0};
	uint64_t start = 0;
	size_t i;
	int err = collect_points(&points, space);

	for (i = 0; i < points.count && !err; i++) {
		next = address_space_find(space, points.items[i], UINT64_MAX);
		if (next == current)
			continue;
		if (is_listed(current, used))
			err = add_lib(out, current, start, points.items[i]);
		current = next;
		start = points.items[i];
	}
	free(points.items);
	return err;
}

/* ---- code without names ------------------------------------------------------------ */

void libs_count_unnamed(struct libs *libs, uint32_t object_number, uint64_t samples)
{
	if (object_number < libs->count)
		libs->items[object_number].unnamed_samples += samples;
}

static int list_file(const struct lib *lib, struct profile_files *files)
{
	struct profile_file *file;
	struct symbol_other other = {.is_there = false};

	if (ARRAY_ROOM(files))
		return -ENOMEM;
	file = &files->items[files->count];
	*file = (struct profile_file){.samples = lib->unnamed_samples,
				      .path = strdup(lib->object->path),
				      .wanted = lib->object->build_id};
	if (!file->path)
		return -ENOMEM;
	files->count++;
	if (lib->is_other) {
		file->trouble = SYMBOL_TROUBLE_OTHER_BUILD;
		other.build_id_bytes =
			symbol_file_build_id(lib->file, other.build_id, sizeof(other.build_id));
	} else if (lib->file) {
		file->trouble = symbol_file_trouble(lib->file, &other);
	} else {
		file->trouble = SYMBOL_TROUBLE_NO_BUILD_ID;
	}
	file->other = other;
	return 0;
}

int libs_list_unnamed(const struct libs *libs, struct profile_files *files)
{
	size_t i;
	int err = 0;

	for (i = 0; i < libs->count && !err; i++)
		if (libs->items[i].unnamed_samples && libs->items[i].object->kind == OBJECT_FILE)
			err = list_file(&libs->items[i], files);
	return err;
}
