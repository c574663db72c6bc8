/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_libs.c - see gecko_libs.h. */
#include "format/gecko_libs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/u64_map.h"
#include "format/json.h"
#include "format/lib_json.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"

/* Far above what a process can map, and below the kernel. */
#define MOVED_BASE (1ULL << 52)
#define MOVED_BYTES (1ULL << 32)

static int write_lib(struct libs *libs, const struct profile_lib *lib, struct json *json)
{
	struct build_id id;
	uint64_t relative = 0;
	int err = 0;

	if (lib->start < MOVED_BASE)
		err = libs_relative_address(libs, lib->object, lib->offset, &relative);
	if (!err)
		err = libs_build_id(libs, lib->object, &id);
	if (err)
		return err;
	json_object_begin(json);
	json_key_u64(json, "start", lib->start);
	json_key_u64(json, "end", lib->end);
	json_key_u64(json, "offset", relative);
	lib_json_write(json, libs_path(libs, lib->object), &id);
	json_object_end(json);
	return 0;
}

/* ---- code that is not there at the end, or whose place is not to be said --------------------------------------------------------- */

static uint64_t moved_base(const struct object *object)
{
	return MOVED_BASE + object->serial * MOVED_BYTES;
}

static bool is_moved(const struct profile_process *process, const struct profile_frame *frame)
{
	const struct object *object = frames_function(process->frames, frame->function)->object;
	const struct mapping *mapping =
		address_space_find(&process->process->space, frame->address, UINT64_MAX);

	return object &&
	       (libs_hide_addresses(process->libs) || !mapping || mapping->object != object ||
		mapping->offset + (frame->address - mapping->start) != frame->offset);
}

int gecko_libs_address(const struct profile_process *process, const struct profile_frame *frame,
		       uint64_t *address)
{
	const struct object *object = frames_function(process->frames, frame->function)->object;
	uint64_t relative;
	int err;

	*address = frame->address;
	if (!is_moved(process, frame))
		return 0;
	err = libs_relative_address(process->libs, object, frame->offset, &relative);
	if (!err && relative < MOVED_BYTES)
		*address = moved_base(object) + relative;
	return err;
}

static int compare_libs(const void *a, const void *b)
{
	const struct profile_lib *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Adds the place of each object that has such code: without names, or if no address is to be said. 0 or -ENOMEM. */
static int list_moved(const struct profile_process *process, struct profile_libs *list)
{
	size_t count = frames_count(process->frames), i, before = list->count;
	struct u64_map seen = {0};
	uint32_t number;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		const struct profile_frame *frame = frames_at(process->frames, (uint32_t)i);
		const struct profile_function *function =
			frames_function(process->frames, frame->function);

		if ((function->lib && !libs_hide_addresses(process->libs)) ||
		    !is_moved(process, frame))
			continue;
		err = u64_map_number(&seen, function->object->number, &number);
		if (!err && number == list->count - before)
			err = ARRAY_ROOM(list);
		if (!err && number == list->count - before)
			list->items[list->count++] = (struct profile_lib){
				.start = moved_base(function->object),
				.end = moved_base(function->object) + MOVED_BYTES,
				.object = function->object,
			};
	}
	u64_map_clear(&seen);
	if (list->count > before)
		qsort(list->items + before, list->count - before, sizeof(*list->items),
		      compare_libs);
	return err;
}

/* ---- which are listed -------------------------------------------------------------- */

/* A process that maps more has mapped some files again and again. */
#define USUAL_LIBS 256

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* The addresses of all frames, ascending; NULL: no memory. */
static uint64_t *sort_addresses(const struct profile_process *process, size_t *count)
{
	uint64_t *addresses;
	size_t i;

	*count = frames_count(process->frames);
	addresses = malloc((*count + 1) * sizeof(*addresses));
	if (!addresses)
		return NULL;
	for (i = 0; i < *count; i++)
		addresses[i] = frames_at(process->frames, (uint32_t)i)->address;
	qsort(addresses, *count, sizeof(*addresses), compare_addresses);
	return addresses;
}

/* Of many, those with a frame stay: a fork of a process with 60,000 has each of them, too. 0 or -ENOMEM. */
static int keep_needed(const struct profile_process *process, struct profile_libs *list)
{
	size_t count, kept = 0, at = 0, i;
	uint64_t *addresses;

	if (list->count <= USUAL_LIBS)
		return 0;
	addresses = sort_addresses(process, &count);
	if (!addresses)
		return -ENOMEM;
	for (i = 0; i < list->count; i++) {
		while (at < count && addresses[at] < list->items[i].start)
			at++;
		if (at < count && addresses[at] < list->items[i].end)
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
	free(addresses);
	return 0;
}

int gecko_libs_write(const struct profile_process *process, struct json *json)
{
	struct profile_libs list = {0};
	size_t i;
	int err = 0;

	if (!libs_hide_addresses(process->libs))
		err = libs_list(&process->process->space, frames_objects(process->frames), &list);
	if (!err)
		err = keep_needed(process, &list);
	if (!err)
		err = list_moved(process, &list);
	json_array_begin(json);
	for (i = 0; i < list.count && !err; i++)
		err = write_lib(process->libs, &list.items[i], json);
	json_array_end(json);
	free(list.items);
	return err;
}
