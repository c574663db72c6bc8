/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_asking.c - see name_asking.h.
 *
 *   nodes ──new addresses──> pending ──the next sample tells the time, and so the mapping──> offsets in each object
 *
 * An address is asked for where it is and one byte before: which of them is looked up depends on whether it is a leaf
 * (frames.h).
 */
#include "profile/name_asking.h"

#include "base/array.h"
#include "base/cancel.h"
#include "base/u64_map.h"
#include "buffer/profile_buffer.h"
#include "symbol/named_files.h"
#include "symbol/object_files.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>

#define MAX_ADDRESSES (1 << 20) /* of all processes; what is met later is asked for then */
#define IS_ENOUGH 1 /* ends the walk */
#define MAX_OFFSETS (1 << 16) /* of an object, that are asked for together */

struct offset_list {
	const struct object *object;
	uint64_t *items;
	size_t count, capacity;
};

struct name_asking {
	struct object_files *files;
	const struct process *process;
	struct cancel *cancel;
	struct u64_map met; /* addresses of the process; those from `placed` on are pending */
	size_t placed;
	size_t left; /* addresses that may be asked for */
	struct u64_map numbers; /* of objects: where in `lists` */
	struct {
		struct offset_list *items;
		size_t count, capacity;
	} lists;
};

static int on_restart(void *context)
{
	(void)context;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct name_asking *asking = context;
	uint32_t number;
	int err;

	(void)node;
	(void)prefix;
	if (asking->met.count >= asking->left)
		return IS_ENOUGH;
	if (!frame_is_user(frame) || !frame->value)
		return 0;
	err = u64_map_number(&asking->met, frame->value, &number);
	return err ? err : u64_map_number(&asking->met, frame->value - 1, &number);
}

static int ask(struct name_asking *asking, struct offset_list *list)
{
	struct named_file *file;
	int err = object_files_get(asking->files, list->object, &file);

	if (!err)
		err = named_file_ask(file, list->items, list->count);
	list->count = 0;
	return err == -ENOENT ? 0 : err;
}

static int find_list(struct name_asking *asking, const struct object *object,
		     struct offset_list **out)
{
	uint32_t number;
	int err = ARRAY_ROOM(&asking->lists);

	if (!err)
		err = u64_map_number(&asking->numbers, object->number, &number);
	if (err)
		return err;
	if (number == asking->lists.count)
		asking->lists.items[asking->lists.count++] = (struct offset_list){.object = object};
	*out = &asking->lists.items[number];
	return 0;
}

static int place(struct name_asking *asking, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping =
		address_space_find(&asking->process->space, address, time_ns);
	struct offset_list *list;
	int err;

	if (!mapping || mapping->object->kind == OBJECT_ANONYMOUS)
		return 0;
	err = find_list(asking, mapping->object, &list);
	if (!err)
		err = ARRAY_ROOM(list);
	if (err)
		return err;
	list->items[list->count++] = mapping->offset + (address - mapping->start);
	return list->count == MAX_OFFSETS ? ask(asking, list) : 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct name_asking *asking = context;
	int err = cancel_tick(asking->cancel) ? -EINTR : 0;

	for (; asking->placed < asking->met.count && !err; asking->placed++)
		err = place(asking, asking->met.keys[asking->placed], sample->time_ns);
	return err;
}

int name_asking_open(struct name_asking **out, struct object_files *files, size_t max_frames,
		     struct cancel *cancel)
{
	struct name_asking *asking = calloc(1, sizeof(*asking));

	if (!asking)
		return -ENOMEM;
	asking->files = files;
	asking->cancel = cancel;
	asking->left = max_frames && max_frames < MAX_ADDRESSES ? max_frames : MAX_ADDRESSES;
	*out = asking;
	return 0;
}

void name_asking_close(struct name_asking *asking)
{
	size_t i;

	if (!asking)
		return;
	for (i = 0; i < asking->lists.count; i++)
		free(asking->lists.items[i].items);
	free(asking->lists.items);
	u64_map_clear(&asking->numbers);
	u64_map_clear(&asking->met);
	free(asking);
}

int name_asking_add(struct name_asking *asking, struct process *process)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart,
		.node = on_node,
		.sample = on_sample,
	};
	int err = 0;

	asking->process = process;
	if (process->buffer && asking->left)
		err = profile_buffer_read(process->buffer, &visitor, asking);
	asking->left -= asking->met.count < asking->left ? asking->met.count : asking->left;
	asking->placed = 0;
	u64_map_reset(&asking->met);
	return err == IS_ENOUGH ? 0 : err;
}

int name_asking_finish(struct name_asking *asking)
{
	size_t i;
	int err = 0;

	for (i = 0; i < asking->lists.count && !err; i++)
		err = ask(asking, &asking->lists.items[i]);
	return err;
}
