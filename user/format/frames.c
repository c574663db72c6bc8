/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - see frames.h.
 *
 * A location is made once for each address and era (address_cache), and is one for each text and
 * category (keys).
 */
#include "format/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "buffer/profile_buffer.h"
#include "format/label.h"
#include "format/libs.h"
#include "format/unique.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"

#include "geckobpf_abi.h"

struct locations {
	struct location *items;
	size_t count, capacity;
};

/* Location by address: ids[number of the address]. */
struct address_cache {
	struct unique_table addresses;
	uint32_t *ids;
	size_t capacity;
};

struct frames {
	struct frames_source source;
	struct intern *texts;
	struct unique_table keys; /* text and category of each location */
	struct locations locations;
	struct address_cache user, kernel;
	struct unique_table objects;
	struct label label;
	uint64_t now_ns, era_from_ns, era_end_ns;
	uint64_t unnamed;
	uint32_t unnamed_in; /* of the location at hand */
	uint32_t epoch;
};

int frames_open(struct frames **out, const struct frames_source *source)
{
	struct frames *frames = calloc(1, sizeof(*frames));
	int err;

	if (!frames)
		return -ENOMEM;
	frames->source = *source;
	err = intern_open(&frames->texts);
	if (err) {
		frames_close(frames);
		return err;
	}
	*out = frames;
	return 0;
}

static void clear_cache(struct address_cache *cache)
{
	unique_clear(&cache->addresses);
	free(cache->ids);
}

void frames_close(struct frames *frames)
{
	if (!frames)
		return;
	clear_cache(&frames->user);
	clear_cache(&frames->kernel);
	unique_clear(&frames->keys);
	unique_clear(&frames->objects);
	label_clear(&frames->label);
	if (frames->texts)
		intern_close(frames->texts);
	free(frames->locations.items);
	free(frames);
}

/* ---- time ----------------------------------------------------------------------------- */

void frames_seek(struct frames *frames, uint64_t time_ns)
{
	uint64_t era_end_ns;

	frames->now_ns = time_ns;
	if (time_ns >= frames->era_from_ns && time_ns < frames->era_end_ns)
		return;
	era_end_ns = address_space_era_end(&frames->source.process->space, time_ns);
	if (era_end_ns == frames->era_end_ns) {
		/*
		 * Samples of several CPUs come a little out of order: the same era, met further
		 * back.
		 */
		if (time_ns < frames->era_from_ns)
			frames->era_from_ns = time_ns;
		return;
	}
	frames->era_from_ns = time_ns;
	frames->era_end_ns = era_end_ns;
	unique_reset(&frames->user.addresses);
	frames->epoch++;
}

uint32_t frames_epoch(const struct frames *frames)
{
	return frames->epoch;
}

/* ---- locations --------------------------------------------------------------------- */

/* The location whose text is in frames->label. */
static int add_location(struct frames *frames, enum frame_category category, uint32_t *id)
{
	uint32_t text, key;
	int err = intern_add(frames->texts, frames->label.items, frames->label.count, &text);

	if (!err)
		err = ARRAY_ROOM(&frames->locations);
	if (!err)
		err = unique_add(&frames->keys, (uint64_t)text << 8 | category, &key);
	if (err)
		return err;
	if (key == frames->locations.count)
		frames->locations.items[frames->locations.count++] =
			(struct location){text, (uint8_t)category, frames->unnamed_in};
	*id = key;
	return 0;
}

static int label_code(struct frames *frames, const struct mapping *mapping, uint64_t address)
{
	uint64_t offset = mapping->offset + (address - mapping->start);
	const char *path = mapping->object->path;
	struct symbol_file *file;
	struct symbol symbol;
	int err = libs_file(frames->source.libs, mapping->object, &file);

	if (!err)
		err = symbol_file_lookup(file, offset, &symbol);
	if (err == -ENOMEM)
		return err;
	if (!err)
		return label_function(&frames->label, symbol.name, path);
	frames->unnamed++;
	frames->unnamed_in = mapping->object->number + 1;
	return label_offset(&frames->label, path, offset);
}

static int label_user(struct frames *frames, uint64_t address)
{
	const struct mapping *mapping =
		address_space_find(&frames->source.process->space, address, frames->now_ns);
	uint32_t number;
	int err;

	if (mapping) {
		err = unique_add(&frames->objects, mapping->object->number, &number);
		if (err)
			return err;
	}
	if (frames->source.addresses)
		return label_address(&frames->label, address);
	if (mapping && mapping->object->kind != OBJECT_ANONYMOUS)
		return label_code(frames, mapping, address);
	frames->unnamed++;
	if (!mapping)
		return label_function(&frames->label, "[unknown]", "[unmapped]");
	/* The kernel calls a mapping without a file or name "//anon". */
	return label_function(&frames->label, "[anonymous code]",
			      mapping->object->path[0] == '[' ? mapping->object->path : NULL);
}

static int label_kernel_code(struct frames *frames, uint64_t address)
{
	const char *module = NULL, *name;

	if (frames->source.addresses || !frames->source.kernel)
		return label_address(&frames->label, address);
	name = kernel_symbols_lookup(frames->source.kernel, address, &module, NULL);
	if (name)
		return label_kernel(&frames->label, name, module);
	frames->unnamed++;
	return label_kernel(&frames->label, "[unknown]", NULL);
}

static int make_location(struct frames *frames, uint64_t address, bool is_kernel, uint32_t *id)
{
	enum frame_category category = is_kernel ? CATEGORY_KERNEL : CATEGORY_USER;
	int err;

	frames->unnamed_in = 0;
	if (is_kernel)
		err = label_kernel_code(frames, address);
	else
		err = label_user(frames, address);
	return err ? err : add_location(frames, category, id);
}

static int locate_truncated(struct frames *frames, const struct frame *frame, uint32_t *id)
{
	int err;

	frames->unnamed_in = 0;
	err = label_truncated(&frames->label, (unsigned int)frame->value);

	return err ? err : add_location(frames, CATEGORY_OTHER, id);
}

/*
 * An address is entered into the cache after its location is known, so that a failure leaves no
 * trace.
 */
static int fill_cache(struct frames *frames, struct address_cache *cache, uint64_t address,
		      bool is_kernel, uint32_t *id)
{
	size_t need = cache->addresses.count + 1;
	uint32_t number;
	int err = array_reserve((void **)&cache->ids, &cache->capacity, need, sizeof(*cache->ids));

	if (!err)
		err = make_location(frames, address, is_kernel, id);
	if (!err)
		err = unique_add(&cache->addresses, address, &number);
	if (!err)
		cache->ids[number] = *id;
	return err;
}

int frames_locate(struct frames *frames, const struct frame_node *node, bool is_leaf, uint32_t *id)
{
	const struct frame *frame = &node->frame;
	bool is_kernel = frame_is(frame, GB_FRAME_KERNEL);
	struct address_cache *cache = is_kernel ? &frames->kernel : &frames->user;
	bool is_raw = frames->source.addresses || (is_kernel && !frames->source.kernel);
	uint64_t address = frame->value - (is_leaf || is_raw ? 0 : 1);
	uint32_t number;

	if (frame_is(frame, GB_FRAME_TRUNCATED))
		return locate_truncated(frames, frame, id);
	if (unique_find(&cache->addresses, address, &number)) {
		*id = cache->ids[number];
		return 0;
	}
	return fill_cache(frames, cache, address, is_kernel, id);
}

const struct location *frames_location(const struct frames *frames, uint32_t id)
{
	return &frames->locations.items[id];
}

const char *frames_text(const struct frames *frames, uint32_t text, size_t *length)
{
	return intern_text(frames->texts, text, length);
}

uint64_t frames_unnamed(const struct frames *frames)
{
	return frames->unnamed;
}

const struct unique_table *frames_objects(const struct frames *frames)
{
	return &frames->objects;
}
