/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_process.c - see processed_process.h.
 *
 * A stack of the process is looked up once, when a row has it that none had before (stacks_user); so is a frame, and a
 * function.
 */
#include "format/processed_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/id_map.h"
#include "base/number.h"
#include "elf/build_id.h"
#include "format/display_name.h"
#include "format/json.h"
#include "format/meta.h"
#include "format/pid_text.h"
#include "format/processed_code.h"
#include "format/processed_stacks.h"
#include "format/processed_thread.h"
#include "format/thread_json.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "profile/marker.h"
#include "profile/model.h"
#include "profile/stacks.h"
#include "target/object.h"
#include "target/process.h"

/* By number of the process: the row that all share. */
struct rows {
	uint32_t *items; /* PROCESSED_NONE: not asked for so far */
	size_t count, capacity;
};

struct processed_process {
	struct stacks_user stacks; /* the first member */
	const struct profile_process *process;
	struct processed_tables tables;
	struct rows frames, functions;
	struct id_map libs; /* by number of the object */
	struct display_name display_name;
	struct {
		struct processed_thread **items;
		size_t count, capacity;
	} threads;
};

static int add_stack(struct stacks_user *user, uint32_t prefix, uint32_t frame, uint32_t *id);

int processed_process_open(struct processed_process **out, struct profile_process *process,
			   const struct processed_tables *tables)
{
	struct processed_process *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return -ENOMEM;
	opened->process = process;
	opened->tables = *tables;
	opened->stacks.add = add_stack;
	stacks_join(process->stacks, &opened->stacks);
	process->of_sink = opened;
	*out = opened;
	return 0;
}

void processed_process_close(struct processed_process *process)
{
	size_t i;

	if (!process)
		return;
	for (i = 0; i < process->threads.count; i++)
		processed_thread_close(process->threads.items[i]);
	free(process->threads.items);
	stacks_leave(&process->stacks);
	free(process->frames.items);
	free(process->functions.items);
	id_map_clear(&process->libs);
	display_name_clear(&process->display_name);
	free(process);
}

/* ---- functions ----------------------------------------------------------------------------- */

/* The row of a number, to be filled in if it is PROCESSED_NONE. 0 or -ENOMEM. */
static int need_row(struct rows *rows, uint32_t number, uint32_t **row)
{
	int err = array_reserve((void **)&rows->items, &rows->capacity, (size_t)number + 1,
				sizeof(*rows->items));

	if (err)
		return err;
	while (rows->count <= number)
		rows->items[rows->count++] = PROCESSED_NONE;
	*row = &rows->items[number];
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* No names are wanted: the address in the file stands for one. */
static int add_address(struct processed_process *process, const struct profile_function *function,
		       uint64_t relative, uint32_t *row)
{
	char text[NUMBER_MAX_BYTES];
	size_t length = (size_t)(number_put_hex(text, relative) - text);
	uint32_t name;
	int err = processed_code_string(process->tables.code, text, length, &name);

	return err ? err
		   : processed_code_function(process->tables.code, name,
					     base_name(function->object->path), NULL, row);
}

/* What a function is called, without its lib. */
static int add_name(struct processed_process *process, const struct profile_function *function,
		    uint32_t *name)
{
	struct display_name *display_name = &process->display_name;
	int err = display_name_set(display_name, function);

	return err ? err
		   : processed_code_string(process->tables.code, display_name->items,
					   display_name->name_count, name);
}

static int add_function(struct processed_process *process, const struct profile_function *function,
			uint64_t relative, uint32_t *row)
{
	uint32_t name;
	int err;

	if (function->object && !function->lib)
		return add_address(process, function, relative, row);
	err = add_name(process, function, &name);
	return err ? err
		   : processed_code_function(process->tables.code, name, function->lib,
					     function->file, row);
}

static int find_function(struct processed_process *process, uint32_t number, uint64_t relative,
			 uint32_t *row)
{
	uint32_t *known;
	int err = need_row(&process->functions, number, &known);

	if (!err && *known == PROCESSED_NONE)
		err = add_function(process, frames_function(process->process->frames, number),
				   relative, known);
	if (!err)
		*row = *known;
	return err;
}

/* ---- libs ------------------------------------------------------------------------------------ */

static int find_lib(struct processed_process *process, const struct object *object, uint32_t *row)
{
	struct build_id id;
	int err;

	*row = id_map_get(&process->libs, object->number);
	if (*row != ID_NONE)
		return 0;
	err = libs_build_id(process->process->libs, object, &id);
	if (!err)
		err = processed_code_lib(process->tables.code,
					 libs_path(process->process->libs, object), &id, row);
	return err ? err : id_map_put(&process->libs, object->number, *row);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Frames of a function that is known are of any address in it. What is inlined is part of the symbol of what it is
 * inlined into.
 */
static int add_symbol(struct processed_process *process, const struct profile_frame *frame,
		      struct processed_frame *row)
{
	const struct frames *frames = process->process->frames;
	const struct profile_function *function;
	struct processed_symbol symbol;
	int err;

	while (frame->inlined_into != FRAME_NONE)
		frame = frames_at(frames, frame->inlined_into);
	function = frames_function(frames, frame->function);
	memset(&symbol, 0, sizeof(symbol));
	symbol.size = frame->symbol_bytes;
	symbol.lib = row->lib;
	row->address = 0;
	row->lib = PROCESSED_NONE;
	if (!frame->symbol_start)
		return 0;
	err = libs_relative_start(process->process->libs, function->object, frame->symbol_start,
				  &symbol.address);
	if (!err)
		err = add_name(process, function, &symbol.name);
	return err ? err : processed_code_symbol(process->tables.code, &symbol, &row->symbol);
}

/*
 * Where in its file it is. That is asked for first: if the file cannot be read, nothing is said of a build id that is
 * not known.
 */
static int place_frame(struct processed_process *process, const struct profile_frame *frame,
		       const struct profile_function *function, struct processed_frame *row)
{
	int err = libs_relative_address(process->process->libs, function->object, frame->offset,
					&row->address);

	if (!err)
		err = find_lib(process, function->object, &row->lib);
	if (!err)
		err = find_function(process, frame->function, row->address, &row->function);
	if (err || (!function->name && !function->is_start))
		return err;
	return add_symbol(process, frame, row);
}

static int add_frame(struct processed_process *process, const struct profile_frame *frame,
		     uint32_t *id)
{
	const struct profile_function *function =
		frames_function(process->process->frames, frame->function);
	struct processed_frame row;
	int err;

	memset(&row, 0, sizeof(row));
	row.lib = row.symbol = PROCESSED_NONE;
	row.line = frame->line;
	row.column = frame->column;
	row.category = frame->category;
	row.subcategory = frame->subcategory;
	row.inline_depth = frame->inline_depth;
	if (function->object)
		err = place_frame(process, frame, function, &row);
	else
		err = find_function(process, frame->function, 0, &row.function);
	return err ? err : processed_code_frame(process->tables.code, &row, id);
}

static int find_frame(struct processed_process *process, uint32_t number, uint32_t *row)
{
	uint32_t *known;
	int err = need_row(&process->frames, number, &known);

	if (!err && *known == PROCESSED_NONE)
		err = add_frame(process, frames_at(process->process->frames, number), known);
	if (!err)
		*row = *known;
	return err;
}

static int add_stack(struct stacks_user *user, uint32_t prefix, uint32_t frame, uint32_t *id)
{
	struct processed_process *process = (struct processed_process *)user;
	uint32_t row;
	int err = find_frame(process, frame, &row);

	_Static_assert(ID_NONE == PROCESSED_NONE, "a root is a root");
	return err ? err : processed_stacks_add(process->tables.stacks, prefix, row, id);
}

/* ---- threads ----------------------------------------------------------------------------------- */

int processed_process_thread(struct processed_process *process, struct profile_thread *thread)
{
	struct processed_thread *opened;
	int err = ARRAY_ROOM(&process->threads);

	if (!err)
		err = processed_thread_open(&opened, process->tables.pool);
	if (err)
		return err;
	process->threads.items[process->threads.count++] = opened;
	thread->of_sink = opened;
	return 0;
}

int processed_process_row(struct processed_process *process, struct profile_thread *thread,
			  const struct profile_row *row)
{
	uint32_t stack = PROCESSED_NONE;
	int err = 0;

	if (row->stack != PROFILE_NO_STACK && row->stack != PROFILE_SAME_STACK)
		err = stacks_id(process->process->stacks, &process->stacks, row->stack, &stack);
	return err ? err : processed_thread_row(thread->of_sink, row, stack);
}

int processed_process_marker(struct processed_process *process, struct profile_thread *thread,
			     const struct profile_marker *marker)
{
	uint32_t name;
	int err = processed_code_string(process->tables.code, marker->name, marker->name_length,
					&name);

	return err ? err
		   : processed_thread_marker(thread->of_sink, marker, name,
					     process->tables.marker_text);
}

uint64_t processed_process_bytes(const struct processed_process *process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		bytes += processed_thread_bytes(process->threads.items[i]);
	return bytes;
}

uint64_t processed_process_cpu_ns(const struct profile_thread *thread)
{
	return processed_thread_cpu_ns(thread->of_sink);
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* A process that ended is one that all its threads ended with. */
static void write_times(const struct profile_thread *thread, struct json *json)
{
	const struct profile_process *of = thread->process;
	const struct process *process = of->process;

	json_key_time_ms(json, "processStartupTime",
			 (int64_t)profile_time_ns(of->facts, process->born_ns));
	json_key(json, "processShutdownTime");
	if (process->died_ns)
		json_time_ms(json, (int64_t)profile_time_ns(of->facts, process->died_ns));
	else
		json_none(json);
	thread_json_life(json, thread);
}

static void write_names(const struct profile_thread *thread, struct json *json)
{
	char pid[PID_TEXT_BYTES];

	thread_json_name(json, thread);
	json_key(json, "isMainThread");
	json_bool(json, profile_is_main(thread));
	thread_json_process(json, thread->process);
	json_key_string(json, "pid", pid_text(pid, thread->process->process));
	json_key_u64(json, "tid", thread->thread->tid);
}

int processed_process_write_thread(const struct profile_thread *thread, struct json *json)
{
	int err;

	json_object_begin(json);
	write_names(thread, json);
	write_times(thread, json);
	meta_write_pauses(json, thread->process->facts);
	json_key(json, "samples");
	err = processed_thread_write(thread->of_sink, json);
	if (!err)
		err = processed_thread_write_markers(thread->of_sink, json);
	json_object_end(json);
	return err ? err : json_error(json);
}
