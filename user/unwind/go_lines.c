/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * go_lines.c - see go_lines.h.
 *
 * Where a call was inlined, file and line are those of what was called. What that is called, and where the call is, is
 * said elsewhere; so such code has the file of the function that it is part of, and no line.
 */
#include "unwind/go_lines.h"
#include "unwind/arch.h"
#include "unwind/cursor.h"
#include "unwind/go_code.h"

#include <string.h>

/* In descriptions; numbered values begin REST_BYTES after the flags. */
#define FILES_AT 20
#define LINES_AT 24
#define NUMBERED_AT 28
#define UNIT_AT 32
#define REST_BYTES 3
#define INLINED_CALLS 2

#define NOT_INLINED (-1)
#define STEPS_MAX                                                                                  \
	(1 << 14) /* a function with more of them has no lines, lest one look-up take long */

/* One function, and the offsets of its values. */
struct function_lines {
	const struct go_code *go;
	uint32_t files, lines, unit;
	uint32_t calls; /* 0: nothing was inlined into it */
};

static bool word_at(const struct go_code *go, uint64_t at, uint32_t *word)
{
	if (at > go->size || go->size - at < sizeof(*word))
		return false;
	memcpy(word, go->bytes + at, sizeof(*word));
	return true;
}

static bool read_description(const struct go_code *go, size_t at, struct function_lines *out)
{
	uint64_t numbered = at + go_code_flags_at(go) + REST_BYTES;
	uint32_t count;

	*out = (struct function_lines){.go = go};
	if (!word_at(go, at + FILES_AT, &out->files) || !word_at(go, at + LINES_AT, &out->lines) ||
	    !word_at(go, at + NUMBERED_AT, &count) || !word_at(go, at + UNIT_AT, &out->unit))
		return false;
	return count <= INLINED_CALLS ||
	       word_at(go, numbered + INLINED_CALLS * sizeof(uint32_t), &out->calls);
}

/*
 * Goes through values up to the one that holds `target` bytes into the function, or, if that is UINT64_MAX, the first
 * that is `wanted`. *value: that one; *start: from where on it holds. False: there is none.
 */
static bool walk(const struct go_code *go, uint32_t values_at, uint64_t target, int64_t wanted,
		 int64_t *value, uint64_t *start)
{
	struct cursor values = cursor_over(go->bytes + go->values, go->size - go->values);
	uint64_t bytes;
	unsigned int step;

	*value = -1;
	*start = 0;
	if (!values_at || !cursor_skip(&values, values_at))
		return false;
	for (step = 0; step < STEPS_MAX; step++) {
		if (!go_code_next_value(&values, !step, value, &bytes))
			return false;
		if (target == UINT64_MAX ? *value == wanted : target - *start < bytes)
			return true;
		*start += bytes;
	}
	return false;
}

static bool value_at(const struct go_code *go, uint32_t values_at, uint64_t target, int64_t *value)
{
	uint64_t start;

	return walk(go, values_at, target, 0, value, &start) && *value >= NOT_INLINED;
}

/* The first code that is the function's own. */
static bool find_own(const struct function_lines *function, uint64_t *at)
{
	int64_t value;

	*at = 0;
	return !function->calls ||
	       walk(function->go, function->calls, UINT64_MAX, NOT_INLINED, &value, at);
}

static bool is_inlined(const struct function_lines *function, uint64_t target)
{
	int64_t call;

	return function->calls &&
	       (!value_at(function->go, function->calls, target, &call) || call != NOT_INLINED);
}

/* The name of a file that is `number` in the list of the function's unit; NULL: there is none. */
static const char *file_name(const struct function_lines *function, int64_t number)
{
	const struct go_code *go = function->go;
	uint64_t at = go->units + ((uint64_t)function->unit + (uint64_t)number) * sizeof(uint32_t);
	const char *name;
	uint32_t offset;

	if (number < 0 || !word_at(go, at, &offset) || offset >= go->size - go->files)
		return NULL;
	name = (const char *)go->bytes + go->files + offset;
	return *name && memchr(name, '\0', go->size - go->files - offset) ? name : NULL;
}

bool go_line_find(const struct go_code *go, uint64_t offset, struct go_line *out)
{
	struct function_lines function;
	struct go_function_name found;
	int64_t file, here, line;
	uint64_t own_at;

	if (!go_code_find(go, offset, &found) || !found.described_at ||
	    !read_description(go, found.described_at, &function) || !find_own(&function, &own_at) ||
	    !value_at(go, function.files, own_at, &file))
		return false;
	*out = (struct go_line){.file = file_name(&function, file)};
	offset -= found.start;
	if (out->file && !is_inlined(&function, offset) &&
	    value_at(go, function.files, offset, &here) && here == file &&
	    value_at(go, function.lines, offset, &line) && line > 0 && line <= UINT32_MAX)
		out->line = (uint32_t)line;
	return out->file != NULL;
}
