/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * named_files.c - see named_files.h.
 *
 *   offset --known--> function, or that nothing is known: one for all offsets of an answer's span
 */
#include "symbol/named_files.h"

#include "base/array.h"
#include "base/cancel.h"
#include "base/intern.h"
#include "base/printable.h"
#include "base/u64_map.h"
#include "elf/elf_file.h"
#include "elf/name_budget.h"
#include "symbol/answering.h"
#include "symbol/name_answer.h"
#include "symbol/name_question.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 2048 /* offsets that are asked for together */
#define NAMES_MAX_BYTES (64ULL << 20) /* of all files */

struct known_code {
	struct named_code code;
	bool is_function; /* or nothing is known */
};

struct named_file {
	struct named_file *next;
	struct named_files *files;
	struct symbol_source source;
	uint32_t number;
	bool is_asked, has_failed; /* it cannot be had */
	int layout_err;
	struct elf_layout layout;
	enum symbol_trouble trouble;
	struct other_file other;
	struct known_code *items;
	size_t count, capacity;
	struct u64_map known; /* by offset: which of them */
	uint64_t name_bytes;
};

struct named_files {
	uint64_t asker;
	struct named_file *first; /* a list */
	uint32_t file_count;
	struct named_options options;
	struct file_search search;
	struct intern *names;
	uint64_t name_bytes_left;
	struct answering *answering; /* what is asked of this process itself; NULL: nothing was */
};

static const struct name_door *door;

void names_ask_through(const struct name_door *other)
{
	door = other;
}

const struct name_door *name_door(void)
{
	return door;
}

int named_files_open(struct named_files **out, const struct named_options *options)
{
	static uint64_t askers;
	struct named_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->asker = ++askers;
	files->name_bytes_left = NAMES_MAX_BYTES;
	if (options)
		files->options = *options;
	if (files->options.search)
		files->search = *files->options.search;
	err = intern_open(&files->names);
	if (err) {
		free(files);
		return err;
	}
	*out = files;
	return 0;
}

void named_files_close(struct named_files *files)
{
	if (!files)
		return;
	while (files->first) {
		struct named_file *next = files->first->next;

		elf_layout_free(&files->first->layout);
		free(files->first->items);
		u64_map_clear(&files->first->known);
		free(files->first);
		files->first = next;
	}
	answering_close(files->answering);
	intern_close(files->names);
	free(files);
}

int named_files_add(struct named_files *files, const struct symbol_source *source,
		    struct named_file **out)
{
	struct named_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->files = files;
	file->source = *source;
	file->number = files->file_count++;
	file->next = files->first;
	files->first = file;
	*out = file;
	return 0;
}

/* ---- taking answers in ----------------------------------------------------------------- */

/* *kept: a text of the answer; NULL: there is none, or names have no room any more. */
static int keep_text(struct named_file *file, char *text, const char **kept)
{
	struct named_files *files = file->files;
	const uint32_t before = intern_count(files->names);
	const size_t length = strlen(text);
	uint32_t number;
	int err;

	*kept = NULL;
	if (file->name_bytes + length >
	    name_budget_share(files->name_bytes_left + file->name_bytes, UINT64_MAX)) {
		file->trouble = SYMBOL_TROUBLE_TOO_LARGE;
		return 0;
	}
	if (!length)
		return 0;
	printable_clean(text, length);
	err = intern_add(files->names, text, length, &number);
	if (err)
		return err;
	if (intern_count(files->names) > before) {
		file->name_bytes += length;
		name_budget_spend(&files->name_bytes_left, length);
	}
	*kept = intern_text(files->names, number, NULL);
	return 0;
}

static int take_span(struct named_file *file, const struct name_answer *answer,
		     const struct name_span *span)
{
	struct known_code known = {
		.code = {.start = span->start, .size = span->size, .line = span->line},
		.is_function = span->is_function,
	};
	int err = ARRAY_ROOM(file);

	if (!err && span->name != NAME_TEXT_NONE)
		err = keep_text(file, answer->texts + span->name, &known.code.name);
	if (!err && span->source != NAME_TEXT_NONE)
		err = keep_text(file, answer->texts + span->source, &known.code.source);
	if (!err)
		file->items[file->count++] = known;
	return err;
}

static int take_layout(struct named_file *file, const struct name_answer *answer)
{
	const size_t bytes = answer->layout.segment_count * sizeof(*answer->layout.segments);
	struct elf_segment *segments = bytes ? malloc(bytes) : NULL;

	if (bytes && !segments)
		return -ENOMEM;
	if (bytes)
		memcpy(segments, answer->layout.segments, bytes);
	file->layout = answer->layout;
	file->layout.segments = segments;
	file->layout_err = answer->layout_error;
	file->is_asked = true;
	return 0;
}

static int take_answer(struct named_file *file, const struct name_question *question,
		       const struct name_answer *answer)
{
	size_t i, at = 0;
	int err = file->is_asked ? 0 : take_layout(file, answer);

	if (file->trouble != SYMBOL_TROUBLE_TOO_LARGE)
		file->trouble = answer->trouble;
	file->other = answer->other;
	for (i = 0; i < answer->span_count && !err; i++) {
		err = take_span(file, answer, &answer->spans[i]);
		for (; !err && at < question->count && question->offsets[at] < answer->spans[i].end;
		     at++)
			err = u64_map_put(&file->known, question->offsets[at],
					  (uint32_t)file->count - 1);
	}
	return err;
}

/* ---- asking -------------------------------------------------------------------------- */

static int ask_here(struct named_files *files, const struct name_question *question,
		    struct name_answer *out)
{
	int err = files->answering ? 0 : answering_open(&files->answering);

	if (!err)
		err = answering_answer(files->answering, question, &out->bytes, &out->size);
	return err ? err : name_answer_read(out, question);
}

/* What is ours is nobody's to make. */
static int ask_somebody(struct named_files *files, const struct name_question *question,
			struct name_answer *out)
{
	if (cancel_look(files->options.cancel))
		return -EINTR;
	return door && !question->source.image ? door->ask(door->context, question, out)
					       : ask_here(files, question, out);
}

static void give_up(struct named_file *file, int err)
{
	file->has_failed = true;
	file->trouble = err == -ETIMEDOUT ? SYMBOL_TROUBLE_LATE
			: err == -E2BIG   ? SYMBOL_TROUBLE_TOO_LARGE
					  : SYMBOL_TROUBLE_DIED;
}

/* Of `offsets`, rising, nothing is known. -ENOENT: the file cannot be had. */
static int ask(struct named_file *file, const uint64_t *offsets, size_t count)
{
	struct named_files *files = file->files;
	const struct name_question question = {
		.asker = files->asker,
		.number = file->number,
		.wants_layout = !file->is_asked,
		.source = file->source,
		.debug_dir = files->options.debug_dir,
		.search = &files->search,
		.cancel = files->options.cancel,
		.offsets = offsets,
		.count = count,
	};
	struct name_answer answer = {0};
	int err;

	if (file->has_failed)
		return -ENOENT;
	err = ask_somebody(files, &question, &answer);
	if (!err)
		err = take_answer(file, &question, &answer);
	else if (err != -ENOMEM && err != -EINTR)
		give_up(file, err);
	free(answer.bytes);
	return file->has_failed ? -ENOENT : err;
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Those that are left, each once. */
static size_t drop_known(const struct named_file *file, uint64_t *offsets, size_t count)
{
	size_t kept = 0, i;

	for (i = 0; i < count; i++)
		if ((!kept || offsets[kept - 1] != offsets[i]) &&
		    u64_map_get(&file->known, offsets[i]) == U64_MAP_NONE)
			offsets[kept++] = offsets[i];
	return kept;
}

int named_file_ask(struct named_file *file, uint64_t *offsets, size_t count)
{
	size_t i, take;
	int err = 0;

	qsort(offsets, count, sizeof(*offsets), compare_offsets);
	count = drop_known(file, offsets, count);
	for (i = 0; i < count && !err; i += take) {
		take = count - i < AT_ONCE ? count - i : AT_ONCE;
		err = ask(file, offsets + i, take);
	}
	return err == -ENOENT ? 0 : err;
}

/* ---- answering ------------------------------------------------------------------------- */

static int need_layout(struct named_file *file)
{
	int err = file->is_asked ? 0 : ask(file, NULL, 0);

	return err ? err : file->layout_err;
}

int named_file_find(struct named_file *file, uint64_t offset, struct named_code *out)
{
	uint32_t number = u64_map_get(&file->known, offset);
	int err = number == U64_MAP_NONE ? ask(file, &offset, 1) : 0;

	if (err)
		return err;
	number = u64_map_get(&file->known, offset);
	if (number == U64_MAP_NONE || !file->items[number].is_function)
		return -ENOENT;
	*out = file->items[number].code;
	return 0;
}

enum symbol_trouble named_file_trouble(const struct named_file *file, struct other_file *other)
{
	*other = file->other;
	return file->trouble;
}

int named_file_build_id(struct named_file *file, uint8_t *bytes, size_t capacity, size_t *size)
{
	int err = need_layout(file);

	*size = err ? 0 : file->layout.build_id_bytes;
	if (*size > capacity)
		*size = capacity;
	memcpy(bytes, file->layout.build_id, *size);
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

int named_file_address(struct named_file *file, uint64_t offset, uint64_t *address)
{
	int err = need_layout(file);

	return err ? err : elf_layout_address(&file->layout, offset, address);
}

int named_file_base(struct named_file *file, uint64_t *base)
{
	int err = need_layout(file);

	if (!err)
		*base = file->layout.base;
	return err;
}
