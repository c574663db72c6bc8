/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - see frames.h.
 *
 * A value is looked up once; one that depends on what is mapped, once in each era. What is found has a number by its
 * bytes: functions and frames exist once, and texts, so that a function is known by where its texts are.
 */
#include "profile/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/u64_map.h"
#include "profile/categories.h"
#include "profile/frame_kind.h"
#include "profile/redaction.h"
#include "symbol/symbols.h"
#include "target/address_space.h"
#include "target/object.h"
#include "target/process.h"

struct frames_of_kind {
	const struct frame_kind *row;
	uint64_t caller_shift; /* is added to the value of a frame that has callees */
	struct u64_map found; /* frames by value */
};

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
	struct frames_of_kind kinds[FRAME_KINDS_MAX];
	struct u64_map by_name; /* a frame of each name of a provider, by where the name is */
	struct u64_map heirs; /* by frame and subcategory of its caller: the frame that has that */
	struct u64_map objects; /* numbers of those that addresses were found in */
	struct symbol_frames symbols; /* room for a finding, and for its text */
	char text[FRAME_TEXT_BYTES];
	uint64_t now_ns, era_from_ns, era_end_ns;
	uint64_t unnamed;
	uint32_t era;
};

static void open_kinds(struct frames *frames)
{
	const struct frame_kind *const *row = frames->source.kinds;
	size_t i;

	for (i = 0; i < FRAME_KINDS_MAX; i++)
		frames->kinds[i].row = &unknown_frames;
	for (row = row ? row : frame_table; *row; row++) {
		frames->kinds[(*row)->kind].row = *row;
		if ((*row)->caller_shift)
			frames->kinds[(*row)->kind].caller_shift =
				(uint64_t)(*row)->caller_shift(&frames->source);
	}
}

int frames_open(struct frames **out, const struct frames_source *source)
{
	struct frames *frames = calloc(1, sizeof(*frames));
	int err;

	if (!frames)
		return -ENOMEM;
	frames->source = *source;
	open_kinds(frames);
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
	size_t i;

	if (!frames)
		return;
	for (i = 0; i < FRAME_KINDS_MAX; i++)
		u64_map_clear(&frames->kinds[i].found);
	u64_map_clear(&frames->by_name);
	u64_map_clear(&frames->heirs);
	u64_map_clear(&frames->objects);
	intern_close(frames->frame_keys);
	intern_close(frames->function_keys);
	intern_close(frames->texts);
	free(frames->functions.items);
	free(frames->items.items);
	free(frames);
}

/* ---- time ----------------------------------------------------------------------------- */

static void forget_mapped(struct frames *frames)
{
	size_t i;

	for (i = 0; i < FRAME_KINDS_MAX; i++)
		if (frames->kinds[i].row->is_mapped)
			u64_map_reset(&frames->kinds[i].found);
}

void frames_move(struct frames *frames, const struct process *process)
{
	if (frames->source.process == process)
		return;
	frames->source.process = process;
	frames->era_from_ns = frames->era_end_ns = 0; /* no time is in it */
	forget_mapped(frames);
	frames->era++;
}

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
	forget_mapped(frames);
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

/* The same of the path of a source. */
static int keep_source(struct frames *frames, const char *path, const char **kept)
{
	const char *shown = redaction_path(frames->source.redaction, path);

	if (shown != path)
		redaction_add(frames->source.redaction, REDACTED_SOURCES);
	return keep_text(frames, shown, kept);
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
	if (!err && *id == frames->items.count && *id == frames->source.max_count && *id)
		return -E2BIG;
	if (!err && *id == frames->items.count)
		frames->items.items[frames->items.count++] = *frame;
	return err;
}

/* ---- what was found ----------------------------------------------------------------------- */

static int add_finding(struct frames *frames, struct frame_finding *found, uint32_t *id)
{
	int err = add_function(frames, &found->function, &found->frame.function);

	categories_decide(&found->function, found->is_unnamed, &found->frame);
	return err ? err : add_frame(frames, &found->frame, id);
}

/* One of found->symbols; *id is the number of the one that it is inlined into, and becomes its own. */
static int add_symbol(struct frames *frames, const struct frame_finding *found,
		      const struct symbol_frame *symbol, uint32_t *id)
{
	struct frame_finding one;
	char lib[128];
	int err;

	memcpy(&one, found, sizeof(one));
	one.frame.inlined_into = *id;
	one.frame.inline_depth =
		(uint8_t)(found->symbols->count - 1 - (size_t)(symbol - found->symbols->items));
	one.frame.line = symbol->line;
	one.frame.column = symbol->column;
	one.frame.symbol_start = symbol->start;
	one.frame.symbol_bytes = symbol->size;
	err = keep_text(frames, symbol->name, &one.function.name);
	if (!err && symbol->file)
		err = keep_source(frames, symbol->file, &one.function.file);
	if (!err && symbol->module) {
		snprintf(lib, sizeof(lib), "[%s]", symbol->module);
		err = keep_text(frames, lib, &one.function.lib);
	}
	return err ? err : add_finding(frames, &one, id);
}

/* The outermost first; *id is the number of the innermost. */
static int add_found(struct frames *frames, struct frame_finding *found, uint32_t *id)
{
	size_t i = found->symbols->count;
	int err = 0;

	*id = found->frame.inlined_into = FRAME_NONE;
	if (!i)
		return add_finding(frames, found, id);
	while (i-- && !err)
		err = add_symbol(frames, found, &found->symbols->items[i], id);
	return err;
}

/* The function's texts become the frames' own. */
static int keep_texts(struct frames *frames, struct profile_function *function)
{
	int err = function->name ? keep_text(frames, function->name, &function->name) : 0;

	if (!err && function->lib)
		err = keep_text(frames, function->lib, &function->lib);
	if (!err && function->file)
		err = keep_source(frames, function->file, &function->file);
	return err;
}

/* Its code was met; NULL: of no object. */
static int number_object(struct frames *frames, const struct object *object)
{
	uint32_t number;

	return object ? u64_map_number(&frames->objects, object->number, &number) : 0;
}

/* ---- functions that were met before ------------------------------------------------------------ */

/* One function, of which nothing is known but its name and place. */
static bool is_plain(const struct symbol_frames *symbols)
{
	const struct symbol_frame *symbol = symbols->items;

	return symbols->count == 1 && !symbol->module && !symbol->file && !symbol->line &&
	       !symbol->column;
}

static bool is_same_lib(const char *one, const char *other)
{
	return one == other || (one && other && !strcmp(one, other));
}

static bool is_same_place(const struct frames *frames, uint32_t id,
			  const struct frame_finding *found)
{
	const struct profile_frame *frame = frames_at(frames, id);
	const struct profile_function *function = frames_function(frames, frame->function);

	return function->kind == found->function.kind &&
	       function->object == found->function.object &&
	       is_same_lib(function->lib, found->function.lib);
}

/*
 * Most addresses that are new are in a function that is not: its name is at the same place then. FRAME_NONE: it may be
 * new.
 */
static uint32_t find_plain(const struct frames *frames, const struct frame_finding *found)
{
	uint32_t id = u64_map_get(&frames->by_name, (uintptr_t)found->symbols->items[0].name);

	return id != U64_MAP_NONE && is_same_place(frames, id, found) ? id : FRAME_NONE;
}

static int add_plain(struct frames *frames, struct frame_finding *found, uint32_t *id)
{
	uint64_t name = (uintptr_t)found->symbols->items[0].name;
	int err = add_found(frames, found, id);

	if (err || u64_map_get(&frames->by_name, name) != U64_MAP_NONE)
		return err;
	return u64_map_put(&frames->by_name, name, *id);
}

/* ---- frames of all kinds --------------------------------------------------------------------- */

/* What its kind knows of a value. */
static int look_up(struct frames *frames, const struct frame *frame, struct frame_finding *found)
{
	const struct frame_kind *kind = frames->kinds[frame->kind].row;
	const struct frame_query query = {&frames->source, frame->value, frames->now_ns};

	memset(found, 0, sizeof(*found));
	found->function.kind = frame->kind;
	found->frame.category = (uint8_t)kind->category;
	found->symbols = &frames->symbols;
	found->symbols->count = 0;
	found->text = frames->text;
	return kind->find(&query, found);
}

static int make_frame(struct frames *frames, const struct frame *frame, uint32_t *id)
{
	struct frame_finding found;
	int err = look_up(frames, frame, &found);

	bool has_plain = !err && is_plain(found.symbols);

	frames->unnamed += found.is_unnamed;
	*id = has_plain ? find_plain(frames, &found) : FRAME_NONE;
	if (err || *id != FRAME_NONE)
		return err;
	err = number_object(frames, found.function.object);
	if (!err)
		err = keep_texts(frames, &found.function);
	if (err)
		return err;
	return has_plain ? add_plain(frames, &found, id) : add_found(frames, &found, id);
}

/*
 * A value is entered into the cache after its frame is known, so that a failure leaves no
 * trace.
 */
static int fill_cache(struct frames *frames, const struct frame *frame, uint32_t *id)
{
	int err = make_frame(frames, frame, id);

	return err ? err : u64_map_put(&frames->kinds[frame->kind].found, frame->value, *id);
}

/* Looked up where it is, code is the same whether it was interrupted or is a leaf. */
static uint8_t located_kind(const struct frames *frames, const struct frame *frame)
{
	bool is_leaf = frame_is(frame, GB_FRAME_INTERRUPTED) &&
		       !frames->kinds[GB_FRAME_INTERRUPTED].caller_shift;

	return is_leaf ? GB_FRAME_USER : frame->kind;
}

int frames_locate(struct frames *frames, const struct frame *frame, bool is_leaf, uint32_t *id)
{
	struct frame place = *frame;

	place.kind = located_kind(frames, frame);
	place.value += is_leaf ? 0 : frames->kinds[frame->kind].caller_shift;
	*id = u64_map_get(&frames->kinds[place.kind].found, place.value);
	return *id == U64_MAP_NONE ? fill_cache(frames, &place, id) : 0;
}

/* ---- what callers tell --------------------------------------------------------------------- */

static int add_heir(struct frames *frames, const struct profile_frame *caller, uint64_t key,
		    uint32_t *id)
{
	struct profile_frame heir;
	int err;

	memcpy(&heir, frames_at(frames, *id), sizeof(heir));
	heir.subcategory = caller->subcategory;
	heir.inherits = 0;
	err = add_frame(frames, &heir, id);
	return err ? err : u64_map_put(&frames->heirs, key, *id);
}

int frames_inherit(struct frames *frames, uint32_t caller, uint32_t *id)
{
	const struct profile_frame *from = frames_at(frames, caller), *to = frames_at(frames, *id);
	uint64_t key = (uint64_t)*id << 8 | from->subcategory;
	uint32_t known;

	if (to->category != from->category || !(to->inherits >> from->subcategory & 1))
		return 0;
	known = u64_map_get(&frames->heirs, key);
	if (known == U64_MAP_NONE)
		return add_heir(frames, from, key, id);
	*id = known;
	return 0;
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
