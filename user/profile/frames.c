/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - see frames.h.
 *
 * An address is looked up once in each era. What is found has a number by its bytes: functions and frames
 * exist once, and texts, so that a function is known by where its texts are.
 */
#include "profile/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/u64_map.h"
#include "buffer/profile_buffer.h"
#include "symbol/symbols.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"

struct frames {
	struct frames_source source;
	struct intern *texts;
	struct intern *function_keys, *frame_keys;
	struct {
		struct profile_function *items;
		size_t count, capacity;
	} functions;
	struct {
		struct profile_frame *items;
		size_t count, capacity;
	} items;
	struct u64_map user, kernel; /* frames by address */
	struct u64_map objects; /* numbers of those that addresses were found in */
	uint64_t now_ns, era_from_ns, era_end_ns;
	uint64_t unnamed;
	uint32_t era;
};

int frames_open(struct frames **out, const struct frames_source *source)
{
	struct frames *frames = calloc(1, sizeof(*frames));
	int err;

	if (!frames)
		return -ENOMEM;
	frames->source = *source;
	err = intern_open(&frames->texts);
	if (!err)
		err = intern_open(&frames->function_keys);
	if (!err)
		err = intern_open(&frames->frame_keys);
	if (err) {
		frames_close(frames);
		return err;
	}
	*out = frames;
	return 0;
}

void frames_close(struct frames *frames)
{
	if (!frames)
		return;
	u64_map_clear(&frames->user);
	u64_map_clear(&frames->kernel);
	u64_map_clear(&frames->objects);
	intern_close(frames->frame_keys);
	intern_close(frames->function_keys);
	intern_close(frames->texts);
	free(frames->functions.items);
	free(frames->items.items);
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
	u64_map_reset(&frames->user);
	frames->era++;
}

uint32_t frames_era(const struct frames *frames)
{
	return frames->era;
}

/* ---- functions and frames -------------------------------------------------------------- */

/* *kept is the text's only copy. */
static int keep_text(struct frames *frames, const char *text, const char **kept)
{
	uint32_t id;
	int err = intern_add(frames->texts, text, strlen(text), &id);

	if (!err)
		*kept = intern_text(frames->texts, id, NULL);
	return err;
}

/* Its bytes are its key: they are all zero where nothing is said. */
static int add_function(struct frames *frames, const struct profile_function *function,
			uint32_t *id)
{
	int err = ARRAY_ROOM(&frames->functions);

	if (!err)
		err = intern_add(frames->function_keys, (const char *)function, sizeof(*function),
				 id);
	if (!err && *id == frames->functions.count)
		frames->functions.items[frames->functions.count++] = *function;
	return err;
}

static int add_frame(struct frames *frames, const struct profile_frame *frame, uint32_t *id)
{
	struct profile_frame key;
	int err = ARRAY_ROOM(&frames->items);

	memcpy(&key, frame, sizeof(key));
	if (frames->source.symbols)
		key.address = key.offset = key.symbol_start = key.symbol_bytes = 0;
	if (!err)
		err = intern_add(frames->frame_keys, (const char *)&key, sizeof(key), id);
	if (!err && *id == frames->items.count)
		frames->items.items[frames->items.count++] = *frame;
	return err;
}

/* ---- what code is ------------------------------------------------------------------------ */

/* What is known of code, as it is looked up. All bytes are zero at first. */
struct finding {
	struct profile_function function;
	struct profile_frame frame;
	struct symbol_frames symbols; /* empty: no provider knows a name */
};

static int set_lib(struct frames *frames, struct finding *found, const char *lib)
{
	return keep_text(frames, lib, &found->function.lib);
}

static int set_name(struct frames *frames, struct finding *found, const char *name, const char *lib)
{
	int err = keep_text(frames, name, &found->function.name);

	return err ? err : set_lib(frames, found, lib);
}

/* Fills found->symbols. */
static int look_up(struct frames *frames, const struct symbol_place *place, struct finding *found)
{
	int err = symbols_lookup(frames->source.symbols, place, &found->symbols);

	frames->unnamed += err == -ENOENT;
	return err == -ENOENT ? 0 : err;
}

/* The last part of a path; what is nowhere has another name. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return *name ? name : "[anon]";
}

/* The kernel calls a mapping without a file or name "//anon". */
static const char *lib_name(const struct object *object)
{
	if (object->kind == OBJECT_ANONYMOUS && object->path[0] != '[')
		return "[anon]";
	return base_name(object->path);
}

static int name_user(struct frames *frames, const struct object *object, struct finding *found)
{
	const char *lib = object ? lib_name(object) : "[unmapped]";

	if (found->symbols.count)
		return set_lib(frames, found, lib);
	if (!object)
		return set_name(frames, found, "[unknown]", lib);
	if (object->kind == OBJECT_ANONYMOUS)
		return set_name(frames, found, "[anonymous code]", lib);
	found->function.value = found->frame.offset;
	return set_lib(frames, found, lib);
}

static int find_user(struct frames *frames, struct finding *found)
{
	const struct symbol_place place =
		symbols_place(frames->source.process, found->frame.address, frames->now_ns);
	const struct object *object = place.mapping ? place.mapping->object : NULL;
	uint32_t number;
	int err = object ? u64_map_number(&frames->objects, object->number, &number) : 0;

	if (object && object->kind != OBJECT_ANONYMOUS) {
		found->function.object = object;
		found->frame.offset = place.offset;
	}
	if (!err && !frames->source.symbols) {
		found->function.value = place.address;
		return 0;
	}
	if (!err)
		err = look_up(frames, &place, found);
	return err ? err : name_user(frames, object, found);
}

static int find_in_kernel(struct frames *frames, struct finding *found)
{
	const struct symbol_place place = symbols_place(NULL, found->frame.address, frames->now_ns);
	int err;

	if (!frames->source.symbols || !frames->source.has_kernel) {
		found->function.value = place.address;
		return 0;
	}
	err = look_up(frames, &place, found);
	if (err || found->symbols.count)
		return err ? err : set_lib(frames, found, "[kernel]");
	return set_name(frames, found, "[unknown]", "[kernel]");
}

static int add_finding(struct frames *frames, struct finding *found, uint32_t *id)
{
	int err = add_function(frames, &found->function, &found->frame.function);

	return err ? err : add_frame(frames, &found->frame, id);
}

/* One of found->symbols; *id is the number of the one that it is inlined into, and becomes its own. */
static int add_symbol(struct frames *frames, const struct finding *found,
		      const struct symbol_frame *symbol, uint32_t *id)
{
	struct finding one;
	char lib[128];
	int err;

	memcpy(&one, found, sizeof(one));
	one.frame.inlined_into = *id;
	one.frame.inline_depth =
		(uint8_t)(found->symbols.count - 1 - (size_t)(symbol - found->symbols.items));
	one.frame.line = symbol->line;
	one.frame.column = symbol->column;
	one.frame.symbol_start = symbol->start;
	one.frame.symbol_bytes = symbol->size;
	err = keep_text(frames, symbol->name, &one.function.name);
	if (!err && symbol->file)
		err = keep_text(frames, symbol->file, &one.function.file);
	if (!err && symbol->module) {
		snprintf(lib, sizeof(lib), "[%s]", symbol->module);
		err = set_lib(frames, &one, lib);
	}
	return err ? err : add_finding(frames, &one, id);
}

/* The outermost first; *id is the number of the innermost. */
static int add_found(struct frames *frames, struct finding *found, uint32_t *id)
{
	size_t i = found->symbols.count;
	int err = 0;

	*id = found->frame.inlined_into = FRAME_NONE;
	if (!i)
		return add_finding(frames, found, id);
	while (i-- && !err)
		err = add_symbol(frames, found, &found->symbols.items[i], id);
	return err;
}

/* A kind of frames: one row each. */
struct frame_kind {
	enum profile_category_index category;
	/* Finds what the code at found->frame.address is. NULL: it is no code. */
	int (*find)(struct frames *frames, struct finding *found);
};

static const struct frame_kind kinds[GB_FRAME_KIND_COUNT] = {
	[GB_FRAME_USER] = {CATEGORY_USER, find_user},
	[GB_FRAME_KERNEL] = {CATEGORY_KERNEL, find_in_kernel},
	[GB_FRAME_TRUNCATED] = {CATEGORY_OTHER, NULL},
};

static const struct frame_kind later_kind = {CATEGORY_OTHER, NULL};

static const struct frame_kind *kind_of(const struct frame *frame)
{
	return frame->kind < GB_FRAME_KIND_COUNT ? &kinds[frame->kind] : &later_kind;
}

/* Code at an address, or what is no code and has that value. */
static int make_frame(struct frames *frames, const struct frame *frame, uint32_t *id)
{
	const struct frame_kind *kind = kind_of(frame);
	struct finding found;
	int err = 0;

	memset(&found, 0, sizeof(found));
	found.function.kind = frame->kind;
	found.frame.category = (uint8_t)kind->category;
	if (kind->find) {
		found.frame.address = frame->value;
		err = kind->find(frames, &found);
	} else {
		found.function.value = frame->value;
	}
	return err ? err : add_found(frames, &found, id);
}

/*
 * An address is entered into the cache after its frame is known, so that a failure leaves no
 * trace.
 */
static int fill_cache(struct frames *frames, struct u64_map *cache, const struct frame *frame,
		      uint32_t *id)
{
	int err = make_frame(frames, frame, id);

	return err ? err : u64_map_put(cache, frame->value, *id);
}

int frames_locate(struct frames *frames, const struct frame_node *node, bool is_leaf, uint32_t *id)
{
	bool is_kernel = frame_is(&node->frame, GB_FRAME_KERNEL);
	bool is_raw = is_kernel ? !frames->source.symbols || !frames->source.has_kernel
				: !frames->source.symbols && !frames->source.calls;
	struct u64_map *cache = is_kernel ? &frames->kernel : &frames->user;
	struct frame frame = node->frame;

	if (!kind_of(&frame)->find)
		return make_frame(frames, &frame, id);
	frame.value -= is_leaf || is_raw ? 0 : 1;
	*id = u64_map_get(cache, frame.value);
	return *id == U64_MAP_NONE ? fill_cache(frames, cache, &frame, id) : 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

size_t frames_count(const struct frames *frames)
{
	return frames->items.count;
}

const struct profile_frame *frames_at(const struct frames *frames, uint32_t id)
{
	return &frames->items.items[id];
}

const struct profile_function *frames_function(const struct frames *frames, uint32_t id)
{
	return &frames->functions.items[id];
}

uint64_t frames_unnamed(const struct frames *frames)
{
	return frames->unnamed;
}

const struct u64_map *frames_objects(const struct frames *frames)
{
	return &frames->objects;
}
