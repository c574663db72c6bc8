/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs.c - see libs.h.
 *
 * What was mapped at the end is found by looking at each place where it can change: the starts
 * and ends of all mappings. Between two of them an address space is one mapping, or a hole.
 */
#include "profile/libs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/u64_map.h"
#include "profile/profile.h"
#include "profile/redaction.h"
#include "symbol/object_files.h"
#include "target/address_space.h"
#include "target/object.h"

/* An object with code that has no name. */
struct lib {
	const struct object *object; /* NULL: all of it has */
	uint64_t unnamed_samples; /* with a leaf there */
};

struct libs {
	const struct redaction *redaction; /* NULL: everything is said */
	struct object_files *files;
	struct lib *items; /* by object number */
	size_t count, capacity;
};

int libs_open(struct libs **out, struct symbol_files *symbol_files,
	      const struct redaction *redaction)
{
	struct libs *libs = calloc(1, sizeof(*libs));
	int err;

	if (!libs)
		return -ENOMEM;
	libs->redaction = redaction;
	err = object_files_open(&libs->files, symbol_files);
	if (err) {
		free(libs);
		return err;
	}
	*out = libs;
	return 0;
}

void libs_close(struct libs *libs)
{
	if (!libs)
		return;
	object_files_close(libs->files);
	free(libs->items);
	free(libs);
}

struct object_files *libs_files(struct libs *libs)
{
	return libs->files;
}

bool libs_hide_addresses(const struct libs *libs)
{
	return libs->redaction != NULL;
}

/* ---- what is known of a file ------------------------------------------------------- */

const char *libs_path(const struct libs *libs, const struct object *object)
{
	return redaction_path(libs->redaction, object->path);
}

int libs_build_id(struct libs *libs, const struct object *object, struct build_id *id)
{
	struct symbol_file *file;
	int err = object->build_id.size ? -ENOENT : object_files_get(libs->files, object, &file);

	*id = object->build_id;
	if (!err)
		id->size = (uint8_t)symbol_file_build_id(file, id->bytes, sizeof(id->bytes));
	if (id->size > sizeof(id->bytes))
		id->size = sizeof(id->bytes);
	return err == -ENOMEM ? err : 0;
}

/* Of 0 if the file does not tell. */
static int find_base(struct libs *libs, const struct object *object, uint64_t *base)
{
	struct symbol_file *file;
	int err = object_files_get(libs->files, object, &file);

	*base = 0;
	if (!err)
		err = symbol_file_base(file, base);
	return err == -ENOMEM ? err : 0;
}

int libs_address(struct libs *libs, const struct object *object, uint64_t offset, uint64_t *address)
{
	struct symbol_file *file;
	int err = object_files_get(libs->files, object, &file);

	*address = offset;
	if (!err)
		err = symbol_file_address(file, offset, address);
	return err == -ENOMEM ? err : 0;
}

int libs_relative_start(struct libs *libs, const struct object *object, uint64_t start,
			uint64_t *relative)
{
	uint64_t base;
	int err = find_base(libs, object, &base);

	if (!err)
		*relative = start < base ? start : start - base;
	return err;
}

int libs_relative_address(struct libs *libs, const struct object *object, uint64_t offset,
			  uint64_t *relative)
{
	uint64_t address;
	int err = libs_address(libs, object, offset, &address);

	return err ? err : libs_relative_start(libs, object, address, relative);
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

int libs_count_unnamed(struct libs *libs, const struct object *object, uint64_t samples)
{
	int err = make_item(libs, object->number);

	if (err)
		return err;
	libs->items[object->number].object = object;
	libs->items[object->number].unnamed_samples += samples;
	return 0;
}

static int list_file(const struct libs *libs, const struct lib *lib, struct profile_files *files)
{
	struct profile_file *file;

	if (ARRAY_ROOM(files))
		return -ENOMEM;
	file = &files->items[files->count];
	*file = (struct profile_file){.samples = lib->unnamed_samples,
				      .path = strdup(lib->object->path),
				      .wanted = lib->object->build_id};
	if (!file->path)
		return -ENOMEM;
	files->count++;
	file->trouble = object_files_trouble(libs->files, lib->object, &file->other);
	return 0;
}

int libs_list_unnamed(const struct libs *libs, struct profile_files *files)
{
	size_t i;
	int err = 0;

	for (i = 0; i < libs->count && !err; i++)
		if (libs->items[i].object && libs->items[i].object->kind == OBJECT_FILE)
			err = list_file(libs, &libs->items[i], files);
	return err;
}
