/* SPDX-License-Identifier: BSD-2-Clause */
/* user_frames.c - code of the process: by what is mapped at its address, and the symbols of that. */
#include "profile/frame_kind.h"

#include <errno.h>

#include "profile/frames.h"
#include "profile/lib_name.h"
#include "profile/libs.h"
#include "profile/redaction.h"
#include "symbol/symbols.h"
#include "target/address_space.h"
#include "target/object.h"

/* The kernel calls a mapping without a file or name "//anon". */
static const char *name_of_place(const struct process *process, const struct object *object,
				 char *text)
{
	if (!object)
		return "[unmapped]";
	if (object->kind == OBJECT_ANONYMOUS && object->path[0] != '[')
		return "[anon]";
	return lib_name(process, object, text, FRAME_TEXT_BYTES);
}

/* Where it starts says which function it is. */
static void use_start(const struct symbol_frame *symbol, struct frame_finding *found)
{
	found->function.value = found->frame.symbol_start = symbol->start;
	found->function.is_start = true;
	found->frame.symbol_bytes = symbol->size;
	found->symbols->count = 0;
}

/* No symbol covers it: of a file, an address in the file's own numbering says what it is. */
static int name_unknown(struct libs *libs, const struct object *object, struct frame_finding *found)
{
	found->is_unnamed = true;
	if (!object)
		found->function.name = "[unknown]";
	else if (object->kind == OBJECT_ANONYMOUS)
		found->function.name = "[anonymous code]";
	else if (found->symbols->count)
		use_start(found->symbols->items, found);
	else
		return libs_address(libs, object, found->frame.offset, &found->function.value);
	return 0;
}

/* No names are wanted, and no address is to be said: of a file, the place in it is left. */
static int name_place(const struct frames_source *source, const struct object *object,
		      struct frame_finding *found)
{
	int err = name_unknown(source->libs, object, found);

	found->is_unnamed = false;
	if (!found->function.object)
		found->function.lib = name_of_place(source->process, object, found->text);
	return err;
}

static int find_user(const struct frame_query *query, struct frame_finding *found)
{
	const struct frames_source *source = query->source;
	const struct symbol_place place =
		symbols_place(source->process, query->value, query->time_ns);
	const struct object *object = place.mapping ? place.mapping->object : NULL;
	int err;

	if (object && object->kind != OBJECT_ANONYMOUS) {
		found->function.object = object;
		found->frame.offset = place.offset;
	}
	if (source->redaction)
		redaction_add(source->redaction, REDACTED_ADDRESSES);
	else
		found->frame.address = query->value;
	if (!source->symbols && source->redaction)
		return name_place(source, object, found);
	if (!source->symbols) {
		found->function.value = query->value;
		return 0;
	}
	found->function.lib = name_of_place(source->process, object, found->text);
	err = symbols_lookup(source->symbols, &place, found->symbols);
	if (err ? err != -ENOENT : found->symbols->items[0].name != NULL)
		return err;
	return name_unknown(source->libs, object, found);
}

static int caller_shift(const struct frames_source *source)
{
	return source->symbols || source->addresses == ADDRESSES_OF_CALLS ? -1 : 0;
}

const struct frame_kind user_frames = {
	.kind = GB_FRAME_USER,
	.category = CATEGORY_USER,
	.is_mapped = true,
	.caller_shift = caller_shift,
	.find = find_user,
};
