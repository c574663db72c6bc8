/* SPDX-License-Identifier: BSD-2-Clause */
/* libs.c - see libs.h. */
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

int libs_open(struct libs **out, struct named_files *named_files, const struct redaction *redaction)
{
	struct libs *libs = calloc(1, sizeof(*libs));
	int err;

	if (!libs)
		return -ENOMEM;
	libs->redaction = redaction;
	err = object_files_open(&libs->files, named_files);
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
	struct named_file *file;
	size_t size = 0;
	int err = object->build_id.size ? -ENOENT : object_files_get(libs->files, object, &file);

	*id = object->build_id;
	if (!err)
		err = named_file_build_id(file, id->bytes, sizeof(id->bytes), &size);
	if (!err)
		id->size = (uint8_t)size;
	return err == -ENOMEM ? err : 0;
}

/* Of 0 if the file does not tell. */
static int find_base(struct libs *libs, const struct object *object, uint64_t *base)
{
	struct named_file *file;
	int err = object_files_get(libs->files, object, &file);

	*base = 0;
	if (!err)
		err = named_file_base(file, base);
	return err == -ENOMEM ? err : 0;
}

int libs_address(struct libs *libs, const struct object *object, uint64_t offset, uint64_t *address)
{
	struct named_file *file;
	int err = object_files_get(libs->files, object, &file);

	*address = offset;
	if (!err)
		err = named_file_address(file, offset, address);
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

struct lib_list {
	const struct u64_map *used;
	struct profile_libs *out;
};

static int list_mapping(void *context, const struct mapping *mapping)
{
	const struct lib_list *list = context;
	struct profile_libs *out = list->out;
	int err;

	if (mapping->object->kind == OBJECT_ANONYMOUS ||
	    u64_map_get(list->used, mapping->object->number) == U64_MAP_NONE)
		return 0;
	err = ARRAY_ROOM(out);
	if (!err)
		out->items[out->count++] = (struct profile_lib){
			.start = mapping->start,
			.end = mapping->end,
			.offset = mapping->offset,
			.object = mapping->object,
		};
	return err;
}

int libs_list(const struct address_space *space, const struct u64_map *used,
	      struct profile_libs *out)
{
	struct lib_list list = {.used = used, .out = out};

	return address_space_now(space, list_mapping, &list);
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
