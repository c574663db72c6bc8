/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - see object.h.
 *
 * Two indexes lead to an object. `places` maps (device, inode, path) as /proc/PID/maps tells them;
 * `builds` maps a build id, which the kernel's mmap events carry instead of device and inode. A
 * file met by its place is entered in both, since opening it tells its build id. Many places may
 * lead to one object: a library copied into 50 containers. Places of containers that are gone are
 * not told from others, so when there are far more places than objects, those that can be found
 * again are forgotten.
 */
#include "target/object.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/number_pool.h"
#include "elf/elf_open.h"
#include "reader/late_devices.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

/* An item of an index: `key` is "device:inode:path" or the build id in hex. */
struct object_ref {
	struct object *object;
	bool out_of_memory;
	UT_hash_handle hh;
	char key[];
};

struct objects {
	struct object **items;
	size_t count, capacity;
	struct object_ref *places, *builds;
	size_t descriptor_budget;
	struct late_devices late;
	uint64_t late_count; /* files */
	struct number_pool numbers;
	uint32_t next_serial;
};

int objects_open(struct objects **out, size_t descriptor_budget)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	objects->descriptor_budget = descriptor_budget;
	*out = objects;
	return 0;
}

static void clear_index(struct object_ref **index)
{
	struct object_ref *ref, *next;

	HASH_ITER (hh, *index, ref, next) {
		HASH_DEL(*index, ref);
		free(ref);
	}
}

static void free_object(struct object *object)
{
	fd_close(&object->fd);
	free(object->path);
	free(object);
}

void objects_close(struct objects *objects)
{
	size_t i;

	if (!objects)
		return;
	clear_index(&objects->places);
	clear_index(&objects->builds);
	for (i = 0; i < objects->count; i++)
		free_object(objects->items[i]);
	number_pool_clear(&objects->numbers);
	free(objects->items);
	free(objects);
}

static struct object *index_find(struct object_ref *index, const char *key)
{
	struct object_ref *ref;

	HASH_FIND_STR(index, key, ref);
	return ref ? ref->object : NULL;
}

static int index_add(struct object_ref **index, const char *key, struct object *object)
{
	size_t size = strlen(key) + 1;
	struct object_ref *ref = calloc(1, sizeof(*ref) + size);

	if (!ref)
		return -ENOMEM;
	memcpy(ref->key, key, size);
	ref->object = object;
	HASH_ADD_STR(*index, key, ref);
	if (ref->out_of_memory) {
		free(ref);
		return -ENOMEM;
	}
	return 0;
}

static void build_key(const struct build_id *id, char key[2 * BUILD_ID_MAX_BYTES + 1])
{
	size_t i;

	key[0] = '\0';
	for (i = 0; i < id->size; i++)
		snprintf(key + 2 * i, 3, "%02x", id->bytes[i]);
}

static enum object_kind kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return OBJECT_VDSO;
	/* Files have absolute paths; "//anon", "[heap]", "anon_inode:..." and the empty name are memory. */
	return path[0] == '/' && path[1] != '/' ? OBJECT_FILE : OBJECT_ANONYMOUS;
}

/*
 * `fd` if it is open and of the file that was seen, else it is closed: by now another file may have the name, or the place
 * in the address space. -ENOENT: it is another; -ETIMEDOUT: it hangs; -ENOMEM.
 */
static int if_seen(const struct object_sighting *sighting, int fd)
{
	const bool has_id = sighting->build_id && sighting->build_id->size;
	struct build_id found = {0};
	int err = 0;

	if (fd < 0)
		return fd == -ETIMEDOUT ? fd : -ENOENT;
	if (has_id)
		err = build_id_read(fd, &found);
	if (!err && (!has_id || build_id_equal(sighting->build_id, &found)))
		return fd;
	fd_close(&fd);
	return err == -ENOMEM || err == -ETIMEDOUT ? err : -ENOENT;
}

/*
 * The mapping itself leads to the very file, whatever became of its name; else there is the name as
 * the process sees it, and as we see it, for a process that is gone.
 */
static int open_mapped_file(const struct object_sighting *sighting)
{
	const struct elf_place place = {sighting->device, sighting->inode};
	int fd = if_seen(sighting, elf_open_mapped(sighting->pid, sighting->start, sighting->end));

	if (fd == -ENOENT)
		fd = if_seen(sighting, elf_open_as_seen(sighting->pid, sighting->path, &place));
	if (fd == -ENOENT)
		fd = if_seen(sighting, elf_open_place(NULL, sighting->path, &place));
	return fd;
}

/* The path without the mark that the kernel puts behind the name of a deleted file. */
static char *clean_path(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), mark_length = sizeof(mark) - 1;

	if (length > mark_length && !strcmp(path + length - mark_length, mark))
		length -= mark_length;
	return strndup(path, length);
}

static int make_object(struct objects *objects, const struct object_sighting *sighting,
		       struct object **out)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->fd = -1;
	object->kind = kind_of(sighting->path);
	object->first_pid = sighting->pid;
	object->device = sighting->device;
	object->inode = sighting->inode;
	object->is_recorded = sighting->is_recorded;
	object->path = clean_path(sighting->path);
	if (!object->path || ARRAY_ROOM(objects)) {
		free_object(object);
		return -ENOMEM;
	}
	*out = object;
	return 0;
}

/* What hangs is not asked again: not this file, and others of its device after a while. */
static void note_late(struct objects *objects, const struct object *object, uint64_t device)
{
	objects->late_count++;
	if (device)
		late_devices_add(&objects->late, device, clock_now_ns());
	log_debug("%s: it could not be opened in time; it is left alone", object->path);
}

/*
 * Files open for the profile are those below `descriptor_budget`; others are opened again at the
 * end, if they are still there. 0 or -ENOMEM.
 */
static int learn_from_file(struct objects *objects, struct object *object,
			   const struct object_sighting *sighting)
{
	int fd, err = 0;

	if (sighting->build_id && sighting->build_id->size)
		object->build_id = *sighting->build_id;
	if (object->kind != OBJECT_FILE || object->is_recorded)
		return 0;
	object->is_shut = true;
	if (late_devices_has(&objects->late, sighting->device, clock_now_ns()))
		return 0;
	fd = open_mapped_file(sighting);
	if (fd >= 0 && !object->build_id.size)
		err = build_id_read(fd, &object->build_id);
	if (fd == -ETIMEDOUT || err == -ETIMEDOUT) {
		note_late(objects, object, sighting->device);
		fd_close(&fd);
		return 0;
	}
	object->is_shut = fd < 0 && !object->build_id.size;
	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	object->fd = fd;
	if (objects->count >= objects->descriptor_budget)
		fd_close(&object->fd);
	return err == -ENOMEM ? err : 0;
}

static int add_object(struct objects *objects, struct object *object)
{
	char key[2 * BUILD_ID_MAX_BYTES + 1];
	int err;

	build_key(&object->build_id, key);
	if (object->build_id.size) {
		err = index_add(&objects->builds, key, object);
		if (err)
			return err;
	}
	object->number = number_pool_take(&objects->numbers);
	object->serial = objects->next_serial++;
	objects->items[objects->count++] = object; /* room was made in make_object() */
	return 0;
}

/* The object was not known by its place: it may be known by its build id, or else it is new. */
static int meet_file(struct objects *objects, const struct object_sighting *sighting,
		     struct object **out)
{
	char key[2 * BUILD_ID_MAX_BYTES + 1];
	struct object *object, *known;
	int err;

	err = make_object(objects, sighting, &object);
	if (err)
		return err;
	err = learn_from_file(objects, object, sighting);
	if (err) {
		free_object(object);
		return err;
	}
	build_key(&object->build_id, key);
	known = object->build_id.size ? index_find(objects->builds, key) : NULL;
	if (!known) {
		err = add_object(objects, object);
		known = object;
	}
	if (known != object || err)
		free_object(object);
	if (!err)
		*out = known;
	return err;
}

static int get_by_build(struct objects *objects, const struct object_sighting *sighting,
			struct object **out)
{
	char key[2 * BUILD_ID_MAX_BYTES + 1];
	struct object *object;

	build_key(sighting->build_id, key);
	object = index_find(objects->builds, key);
	if (!object)
		return meet_file(objects, sighting, out);
	*out = object;
	return 0;
}

static int get_by_place(struct objects *objects, const struct object_sighting *sighting,
			struct object **out)
{
	struct object *object;
	char key[4200];
	int err;

	snprintf(key, sizeof(key), "%" PRIx64 ":%" PRIx64 ":%s", sighting->device, sighting->inode,
		 sighting->path);
	object = index_find(objects->places, key);
	if (!object) {
		err = meet_file(objects, sighting, &object);
		if (!err)
			err = index_add(&objects->places, key, object);
		if (err)
			return err;
	}
	*out = object;
	return 0;
}

/*
 * A build id says all: such a sighting has no device and inode, and one path may hold many files,
 * in time or in containers.
 */
int objects_get(struct objects *objects, const struct object_sighting *sighting,
		struct object **out)
{
	if (sighting->build_id && sighting->build_id->size)
		return get_by_build(objects, sighting, out);
	return get_by_place(objects, sighting, out);
}

uint64_t objects_late(const struct objects *objects)
{
	return objects->late_count;
}

size_t objects_count(const struct objects *objects)
{
	return objects->count;
}

struct object *objects_at(const struct objects *objects, size_t index)
{
	return objects->items[index];
}

/* ---- dropping ----------------------------------------------------------------- */

#define MIN_PLACES 1024 /* that are never too many */

static bool is_unused(const struct object_ref *ref)
{
	return !ref->object->is_used;
}

/* Opening the file again leads to the same object. */
static bool can_be_found_again(const struct object_ref *ref)
{
	return ref->object->build_id.size > 0;
}

static void sweep_index(struct object_ref **index, bool (*goes)(const struct object_ref *ref))
{
	struct object_ref *ref, *next;

	HASH_ITER (hh, *index, ref, next) {
		if (!goes(ref))
			continue;
		HASH_DEL(*index, ref);
		free(ref);
	}
}

static void drop_unused(struct objects *objects)
{
	size_t kept = 0, i;

	sweep_index(&objects->places, is_unused);
	sweep_index(&objects->builds, is_unused);
	for (i = 0; i < objects->count; i++) {
		struct object *object = objects->items[i];

		if (object->is_used) {
			objects->items[kept++] = object;
			continue;
		}
		number_pool_give(&objects->numbers, object->number);
		free_object(object);
	}
	objects->count = kept;
}

size_t objects_sweep(struct objects *objects,
		     bool (*goes)(void *context, const struct object *object), void *context)
{
	size_t before = objects->count, unused = 0, i;

	for (i = 0; i < before; i++) {
		struct object *object = objects->items[i];

		object->is_used = object->is_used || !goes(context, object);
		unused += !object->is_used;
	}
	if (unused)
		drop_unused(objects);
	if (HASH_COUNT(objects->places) > MIN_PLACES + 4 * objects->count)
		sweep_index(&objects->places, can_be_found_again);
	for (i = 0; i < objects->count; i++)
		objects->items[i]->is_used = false;
	return unused;
}

/* ---- memory ------------------------------------------------------------------- */

#define ALLOCATION_BYTES 16 /* what the allocator needs for itself, and rounds up to, on average */

static size_t index_bytes(const struct object_ref *index)
{
	const struct object_ref *ref;
	size_t bytes = index ? index->hh.tbl->num_buckets * sizeof(UT_hash_bucket) : 0;

	for (ref = index; ref; ref = ref->hh.next)
		bytes += sizeof(*ref) + ref->hh.keylen + ALLOCATION_BYTES;
	return bytes;
}

size_t objects_bytes(const struct objects *objects)
{
	size_t bytes = objects->capacity * sizeof(struct object *), i;

	for (i = 0; i < objects->count; i++)
		bytes += sizeof(struct object) + strlen(objects->items[i]->path) +
			 2 * ALLOCATION_BYTES;
	return bytes + index_bytes(objects->places) + index_bytes(objects->builds);
}
