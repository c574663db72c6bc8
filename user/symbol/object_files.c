/* SPDX-License-Identifier: BSD-2-Clause */
/* object_files.c - see object_files.h. */
#include "symbol/object_files.h"
#include "base/array.h"
#include "target/object.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define ROOT_BYTES sizeof("/proc/-2147483648/root")

struct object_file {
	struct named_file *file; /* NULL: not asked for so far */
	char *root; /* borrowed by the named files */
	bool is_other; /* what is at the path now is not what was mapped */
};

struct object_files {
	struct named_files *named_files;
	bool owns_symbol_files;
	struct object_file *items; /* by object number */
	size_t count, capacity;
};

int object_files_open(struct object_files **out, struct named_files *named_files)
{
	struct object_files *files = calloc(1, sizeof(*files));
	int err = 0;

	if (!files)
		return -ENOMEM;
	files->named_files = named_files;
	files->owns_symbol_files = !named_files;
	if (files->owns_symbol_files)
		err = named_files_open(&files->named_files, NULL);
	if (err) {
		free(files);
		return err;
	}
	*out = files;
	return 0;
}

void object_files_close(struct object_files *files)
{
	size_t i;

	if (!files)
		return;
	if (files->owns_symbol_files)
		named_files_close(files->named_files);
	for (i = 0; i < files->count; i++)
		free(files->items[i].root);
	free(files->items);
	free(files);
}

static int make_item(struct object_files *files, size_t number)
{
	int err = array_reserve((void **)&files->items, &files->capacity, number + 1,
				sizeof(*files->items));

	if (err)
		return err;
	while (files->count <= number)
		files->items[files->count++] = (struct object_file){0};
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

static int file_source(const struct object *object, struct object_file *item,
		       struct symbol_source *source)
{
	if (!item->root) {
		item->root = malloc(ROOT_BYTES);
		if (!item->root)
			return -ENOMEM;
		snprintf(item->root, ROOT_BYTES, "/proc/%d/root", (int)object->first_pid);
	}
	if (object->is_recorded) {
		source->build_id = object->build_id.bytes;
		source->build_id_bytes = object->build_id.size;
		source->code_offset = object->code_offset;
		source->code_bytes = object->code_bytes;
		return object->build_id.size ? 0 : -ENOENT;
	}
	if (object->is_shut)
		source->path = NULL; /* it is as if nothing was there */
	source->fd = object->fd;
	source->root = object->first_pid > 0 ? item->root : NULL;
	return 0;
}

/* The vDSO of a recording may be another kernel's. */
static int find_source(const struct object *object, struct object_file *item,
		       struct symbol_source *source)
{
	if (object->kind != OBJECT_VDSO)
		return file_source(object, item, source);
	return object->is_recorded ? -ENOENT : vdso_source(source);
}

/* *is_other: whether what lies at the object's path now is not what was mapped: another build. 0, -EINTR or -ENOMEM. */
static int compare_builds(const struct object *object, struct named_file *file, bool *is_other)
{
	struct build_id found = {0};
	uint64_t base;
	size_t size;
	int err;

	*is_other = false;
	if (!object->build_id.size)
		return 0; /* not known, so not worth reading the file for */
	err = named_file_base(file, &base);
	if (err)
		return err == -ENOMEM || err == -EINTR ? err : 0; /* nothing is there */
	err = named_file_build_id(file, found.bytes, sizeof(found.bytes), &size);
	found.size = (uint8_t)size;
	*is_other = !build_id_equal(&found, &object->build_id);
	return err;
}

static int add_file(struct object_files *files, const struct object *object,
		    struct object_file *item)
{
	struct symbol_source source = {.path = object->path, .fd = -1};
	struct named_file *file;
	int err = find_source(object, item, &source);

	if (!err)
		err = named_files_add(files->named_files, &source, &file);
	if (!err && source.fd < 0 && !source.image && !source.build_id)
		err = compare_builds(object, file, &item->is_other);
	if (!err)
		item->file = file;
	return err;
}

int object_files_get(struct object_files *files, const struct object *object,
		     struct named_file **out)
{
	struct object_file *item;
	int err = object->kind == OBJECT_ANONYMOUS ? -ENOENT : make_item(files, object->number);

	if (err)
		return err;
	item = &files->items[object->number];
	if (!item->file)
		err = add_file(files, object, item);
	if (err || item->is_other)
		return err ? err : -ENOENT;
	*out = item->file;
	return 0;
}

enum symbol_trouble object_files_trouble(const struct object_files *files,
					 const struct object *object, struct other_file *other)
{
	const struct object_file *item = NULL;

	if (object->number < files->count)
		item = &files->items[object->number];
	if (!item || !item->file)
		return SYMBOL_TROUBLE_NO_BUILD_ID;
	if (!item->is_other)
		return named_file_trouble(item->file, other);
	(void)named_file_build_id(item->file, other->build_id, sizeof(other->build_id),
				  &other->build_id_bytes);
	return SYMBOL_TROUBLE_OTHER_BUILD;
}
