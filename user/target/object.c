/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - see object.h.
 *
 *   places   (device, inode, path), as /proc/PID/maps tells them          ─┐
 *   claims   (build id, who sees what, path), as the kernel's mmap events  ├─> object
 *   files    (device, inode, size, last change), as it was opened         ─┘
 *   builds   build id ──> all objects that have it
 *
 * Many places and claims may lead to one object: a library copied into 50 containers. Those of containers that are gone are
 * not told from others, so when there are far more of them than objects, those that can be found again are forgotten.
 */
#include "target/object.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/number_pool.h"
#include "target/object_file.h"
#include "target/object_index.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct objects {
	struct object **items;
	size_t count, capacity;
	struct object_index places, claims, files, builds;
	size_t descriptor_budget;
	struct objects_stats stats;
	struct elf_digest_key key;
	uint64_t copy_bytes, looked_ns;
	size_t work_at; /* from that index on they may be open for work */
	struct {
		pid_t pid;
		struct object_view view;
	} looked_at; /* last */
	struct number_pool numbers;
	uint32_t next_serial;
};

int objects_open(struct objects **out, size_t descriptor_budget)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	objects->descriptor_budget = descriptor_budget;
	/* Without that it is not secret, and as good as a sum can be. */
	if (getrandom(&objects->key, sizeof(objects->key), GRND_NONBLOCK) < 0)
		objects->key.words[0] = clock_now_ns();
	*out = objects;
	return 0;
}

static void free_object(struct object *object)
{
	object_file_close(object);
	free(object->path);
	free(object);
}

void objects_close(struct objects *objects)
{
	size_t i;

	if (!objects)
		return;
	object_index_clear(&objects->places);
	object_index_clear(&objects->claims);
	object_index_clear(&objects->files);
	object_index_clear(&objects->builds);
	for (i = 0; i < objects->count; i++)
		free_object(objects->items[i]);
	number_pool_clear(&objects->numbers);
	free(objects->items);
	free(objects);
}

static void build_key(struct object_key *key, const struct build_id *id)
{
	key->bytes = 0;
	object_key_add(key, &id->size, sizeof(id->size));
	object_key_add(key, id->bytes, id->size);
}

/* ---- build ids ---------------------------------------------------------------- */

static struct object *first_of_build(const struct objects *objects, const struct build_id *id)
{
	struct object_key key;

	build_key(&key, id);
	return id->size ? object_index_find(&objects->builds, &key) : NULL;
}

static int join_build(struct objects *objects, struct object *object)
{
	struct object *first = first_of_build(objects, &object->build_id);
	struct object_key key;

	if (!object->build_id.size)
		return 0;
	if (!first) {
		build_key(&key, &object->build_id);
		return object_index_add(&objects->builds, &key, object);
	}
	object->previous_build = first;
	object->next_build = first->next_build;
	if (object->next_build)
		object->next_build->previous_build = object;
	first->next_build = object;
	return 0;
}

static void leave_build(struct objects *objects, struct object *object)
{
	struct object_key key;

	if (object->next_build)
		object->next_build->previous_build = object->previous_build;
	if (object->previous_build) {
		object->previous_build->next_build = object->next_build;
	} else if (object->build_id.size) {
		build_key(&key, &object->build_id);
		object_index_set(&objects->builds, &key, object->next_build);
	}
}

/* The one to believe without a look at the file that says so: ours, or else the only one that was looked at. */
static struct object *believed(const struct objects *objects, const struct build_id *id)
{
	struct object *first = first_of_build(objects, id), *found = NULL, *object;
	size_t opened = 0;

	for (object = first; object; object = object->next_build) {
		if (object->is_ours)
			return object;
		opened += object->file.inode != 0;
		found = object->file.inode ? object : found;
	}
	return opened == 1 ? found : opened ? NULL : first;
}

static int make_object(struct objects *objects, const struct object_sighting *sighting,
		       struct object **out)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->fd = object->work_fd = -1;
	object->kind = object_kind_of(sighting->path);
	object->first_pid = sighting->pid;
	object->device = sighting->device;
	object->inode = sighting->inode;
	object->is_recorded = sighting->is_recorded;
	if (sighting->build_id)
		object->build_id = *sighting->build_id;
	object->path = object_clean_path(sighting->path);
	if (!object->path || ARRAY_ROOM(objects)) {
		free_object(object);
		return -ENOMEM;
	}
	*out = object;
	return 0;
}

/* ---- equal files ---------------------------------------------------------------- */

#define COMPARED_MAX 4 /* files of one build id: to look at one takes some milliseconds */

static bool need_digest(struct objects *objects, struct object *object)
{
	int fd = object->has_digest ? -1 : object_file_open(object);

	if (fd < 0)
		return object->has_digest;
	object->has_digest = !elf_digest_read(fd, &objects->key, &object->digest);
	fd_close(&fd);
	return object->has_digest;
}

static struct object *find_equal(struct objects *objects, struct object *object)
{
	struct object *other = first_of_build(objects, &object->build_id);
	size_t left = COMPARED_MAX;

	if (!other || !need_digest(objects, object))
		return NULL;
	for (; other && left; other = other->next_build, left--)
		if (other->file.inode && need_digest(objects, other) &&
		    elf_digest_equal(&object->digest, &other->digest))
			return other;
	return NULL;
}

static void file_key(struct object_key *key, const struct object *object)
{
	const uint64_t numbers[] = {object->file.device, object->file.inode, object->file.bytes,
				    object->file.changed_ns};

	key->bytes = 0;
	object_key_add(key, numbers, sizeof(numbers));
	object_key_add(key, object->build_id.bytes, object->build_id.size);
}

/* Who sees other files under the same paths cannot say where more of it is. */
static void note_viewer(struct object *object, const struct object_view *view)
{
	if (!view->mounts || !memcmp(view, &object->view, sizeof(*view)))
		return;
	object->is_shared = true;
	if (!object_view_same_files(view, &object->view))
		object->first_pid = 0;
}

static void keep_file(struct objects *objects, struct object *object);

/* `object` goes, and what it has of the file is better. */
static void adopt(struct objects *objects, struct object *known, struct object *object)
{
	char *path = known->path;
	struct object_key key;

	objects->copy_bytes -= known->copy_bytes;
	object_file_close(known);
	known->path = object->path;
	object->path = path;
	known->file = object->file;
	known->view = object->view;
	known->first_pid = object->first_pid;
	known->is_ours = object->is_ours;
	known->is_shut = false;
	known->work_fd = object->work_fd;
	object->work_fd = -1;
	objects->work_at = 0;
	file_key(&key, known);
	/* If not, it is met again. */
	(void)object_index_add(&objects->files, &key, known);
	keep_file(objects, known);
}

#define AT_WORK_MAX 64

/* ---- meeting ---------------------------------------------------------------------- */

static void drop_copies(struct objects *objects, const struct object *kept)
{
	size_t i;

	for (i = 0; i < objects->count && objects->copy_bytes > OBJECTS_COPIES_MAX_BYTES; i++) {
		struct object *object = objects->items[i];

		if (object == kept || !object->copy_bytes)
			continue;
		objects->copy_bytes -= object->copy_bytes;
		objects->stats.copies_dropped++;
		object->copy_bytes = 0;
		fd_close(&object->fd);
	}
}

static void keep_file(struct objects *objects, struct object *object)
{
	object_file_keep(object, objects->count <= objects->descriptor_budget);
	objects->copy_bytes += object->copy_bytes;
	drop_copies(objects, object);
	while (objects->count - objects->work_at > AT_WORK_MAX)
		object_file_end_work(objects->items[objects->work_at++]);
}

static int add_object(struct objects *objects, struct object *object)
{
	struct object_key key;
	int err = join_build(objects, object);

	if (err)
		return err;
	file_key(&key, object);
	if (object->file.inode)
		err = object_index_add(&objects->files, &key, object);
	if (err) {
		leave_build(objects, object);
		return err;
	}
	object->number = number_pool_take(&objects->numbers);
	object->serial = objects->next_serial++;
	objects->items[objects->count++] = object; /* room was made in make_object() */
	keep_file(objects, object);
	return 0;
}

/* One that nobody could look at: there is nothing that speaks against it. */
static struct object *find_unseen(const struct objects *objects, const struct build_id *id)
{
	struct object *object = first_of_build(objects, id);

	while (object && object->file.inode)
		object = object->next_build;
	return object;
}

/* It is known already, under another name or as another inode; NULL: it is not. */
static struct object *find_known(struct objects *objects, struct object *object)
{
	struct object *known;
	struct object_key key;

	if (!object->file.inode)
		return believed(objects, &object->build_id);
	file_key(&key, object);
	known = object_index_find(&objects->files, &key);
	if (known)
		return known;
	known = find_equal(objects, object);
	if (!known)
		known = find_unseen(objects, &object->build_id);
	if (known && (!known->file.inode || (object->is_ours && !known->is_ours)))
		adopt(objects, known, object);
	if (!known && first_of_build(objects, &object->build_id))
		objects->stats.impostors++;
	return known;
}

/* What it says of itself is not looked at for raw captures. */
static int learn(struct objects *objects, struct object *object,
		 const struct object_sighting *sighting)
{
	int err;

	if (object->kind != OBJECT_FILE || object->is_recorded)
		return 0;
	err = object_file_meet(object, sighting);
	if (err == -ETIMEDOUT) {
		objects->stats.late++;
		log_debug("%s: it could not be opened in time; it is left alone", object->path);
		object_file_close(object);
		object->file = (struct file_status){0};
		object->is_shut = true;
	}
	/* To be looked for by its build id. */
	object->is_shut = object->is_shut && !object->build_id.size;
	if (!object->device && !object->inode) {
		object->device = object->file.device;
		object->inode = object->file.inode;
	}
	return err == -ENOMEM ? err : 0;
}

static int meet_file(struct objects *objects, const struct object_sighting *sighting,
		     const struct object_view *view, struct object **out)
{
	struct object *object, *known = NULL;
	int err;

	err = make_object(objects, sighting, &object);
	if (err)
		return err;
	object->view = *view;
	if (!view->mounts && object->kind == OBJECT_FILE)
		object->first_pid = 0;
	err = learn(objects, object, sighting);
	if (!err && object->kind == OBJECT_FILE && !object->is_recorded)
		known = find_known(objects, object);
	if (!err && !known) {
		err = add_object(objects, object);
		known = object;
	}
	if (known != object || err)
		free_object(object);
	if (!err)
		*out = known;
	return err;
}

static const struct object_view *view_of(struct objects *objects, pid_t pid)
{
	if (objects->looked_at.pid != pid || !pid)
		objects->looked_at.view = object_view_of(pid);
	objects->looked_at.pid = pid;
	return &objects->looked_at.view;
}

static int get(struct objects *objects, struct object_index *index, const struct object_key *key,
	       const struct object_sighting *sighting, const struct object_view *view,
	       struct object **out)
{
	struct object *object = object_index_find(index, key);
	int err = 0;

	if (!object) {
		err = meet_file(objects, sighting, view, &object);
		if (!err)
			err = object_index_add(index, key, object);
	}
	if (err)
		return err;
	note_viewer(object, view);
	object->seen.pid = sighting->pid;
	object->seen.start = sighting->start;
	object->seen.end = sighting->end;
	*out = object;
	return 0;
}

/* Such a sighting has no device and inode, and one path may hold many files, in time or in containers. */
static int get_by_build(struct objects *objects, const struct object_sighting *sighting,
			struct object **out)
{
	const struct object_view *view = view_of(objects, sighting->pid);
	struct object_key key;

	*out = view->mounts ? NULL : believed(objects, sighting->build_id);
	if (*out)
		return 0;
	build_key(&key, sighting->build_id);
	object_key_add(&key, view, sizeof(*view));
	object_key_add(&key, sighting->path, strlen(sighting->path) + 1);
	return get(objects, &objects->claims, &key, sighting, view, out);
}

/* Of raw captures: as they tell files apart. */
static int get_by_place(struct objects *objects, const struct object_sighting *sighting,
			struct object **out)
{
	const uint64_t numbers[] = {sighting->device, sighting->inode};
	static const struct object_view nobody;
	struct object_key key;

	build_key(&key, sighting->build_id ? sighting->build_id : &(struct build_id){0});
	object_key_add(&key, numbers, sizeof(numbers));
	object_key_add(&key, sighting->path, strlen(sighting->path) + 1);
	return get(objects, &objects->places, &key, sighting,
		   sighting->is_recorded ? &nobody : view_of(objects, sighting->pid), out);
}

int objects_get(struct objects *objects, const struct object_sighting *sighting,
		struct object **out)
{
	if (sighting->build_id && sighting->build_id->size && !sighting->is_recorded)
		return get_by_build(objects, sighting, out);
	return get_by_place(objects, sighting, out);
}

struct objects_stats objects_get_stats(const struct objects *objects)
{
	return objects->stats;
}

size_t objects_count(const struct objects *objects)
{
	return objects->count;
}

struct object *objects_at(const struct objects *objects, size_t index)
{
	return objects->items[index];
}

/* ---- what is open -------------------------------------------------------------- */

int objects_open_file(const struct object *object)
{
	return object_file_open(object);
}

void objects_tend(struct objects *objects, uint64_t now_ns)
{
	size_t i;

	objects->looked_at.pid = 0;
	while (objects->work_at < objects->count)
		object_file_end_work(objects->items[objects->work_at++]);
	if (now_ns < objects->looked_ns + NS_PER_SEC)
		return;
	objects->looked_ns = now_ns;
	for (i = 0; i < objects->count; i++)
		if (object_file_let_go(objects->items[i]))
			objects->copy_bytes += objects->items[i]->copy_bytes;
	drop_copies(objects, NULL);
}

static void check_viewer(struct object *object)
{
	const struct object_view now = object_view_of(object->first_pid);

	if (!object_view_same_files(&now, &object->view))
		object->first_pid = 0;
}

void objects_open_for_names(struct objects *objects)
{
	size_t i;

	for (i = 0; i < objects->count; i++) {
		struct object *object = objects->items[i];

		if (object->kind == OBJECT_FILE && !object->is_recorded)
			check_viewer(object);
		if (object->fd >= 0 || !object->file.inode)
			continue;
		object->fd = i < objects->descriptor_budget ? object_file_open(object) : -1;
		if (object->fd >= 0)
			continue;
		objects->stats.late += object->fd == -ETIMEDOUT;
		object->fd = -1;
		objects->stats.gone++;
		/* By now it may be anything, and others would believe it. */
		object->is_shut = object->is_shared || !object->build_id.size;
	}
}

/* ---- dropping ----------------------------------------------------------------- */

#define MIN_PLACES 1024 /* that are never too many */

static bool is_unused(const struct object *object)
{
	return !object->is_used;
}

/* Opening the file again leads to the same object. */
static bool can_be_found_again(const struct object *object)
{
	return object->build_id.size > 0;
}

static void drop_unused(struct objects *objects)
{
	size_t kept = 0, i;

	object_index_sweep(&objects->places, is_unused);
	object_index_sweep(&objects->claims, is_unused);
	object_index_sweep(&objects->files, is_unused);
	for (i = 0; i < objects->count; i++) {
		struct object *object = objects->items[i];

		if (object->is_used) {
			objects->items[kept++] = object;
			continue;
		}
		leave_build(objects, object);
		objects->copy_bytes -= object->copy_bytes;
		number_pool_give(&objects->numbers, object->number);
		free_object(object);
	}
	objects->count = kept;
	objects->work_at = 0;
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
	if (objects->places.count > MIN_PLACES + 4 * objects->count)
		object_index_sweep(&objects->places, can_be_found_again);
	if (objects->claims.count > MIN_PLACES + 4 * objects->count)
		object_index_sweep(&objects->claims, can_be_found_again);
	for (i = 0; i < objects->count; i++)
		objects->items[i]->is_used = false;
	return unused;
}

/* ---- memory ------------------------------------------------------------------- */

#define ALLOCATION_BYTES 16 /* what the allocator needs for itself, and rounds up to, on average */

size_t objects_bytes(const struct objects *objects)
{
	size_t bytes = objects->capacity * sizeof(struct object *), i;

	for (i = 0; i < objects->count; i++)
		bytes += sizeof(struct object) + strlen(objects->items[i]->path) +
			 2 * ALLOCATION_BYTES;
	return bytes + objects->copy_bytes + object_index_bytes(&objects->places) +
	       object_index_bytes(&objects->claims) + object_index_bytes(&objects->files) +
	       object_index_bytes(&objects->builds);
}
