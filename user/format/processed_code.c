/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_code.c - see processed_code.h.
 *
 * A row is known by its bytes, so the tables of rows are tables of texts: what is written is read from there.
 */
#include "format/processed_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "elf/build_id.h"
#include "format/column.h"
#include "format/json.h"
#include "format/lib_json.h"

_Static_assert(sizeof(struct processed_frame) == 32,
	       "no padding: rows are compared by their bytes");
_Static_assert(sizeof(struct processed_symbol) == 24,
	       "no padding: rows are compared by their bytes");

#define RESOURCE_LIBRARY "1"

struct function {
	uint32_t name, resource, source; /* PROCESSED_NONE: none */
};

union row {
	struct processed_frame frame;
	struct processed_symbol symbol;
	struct function function;
	uint32_t string;
};

struct processed_code {
	struct intern *strings;
	struct intern *libs; /* the path with its NUL, then the bytes of the build id */
	struct intern *resources, *sources; /* each the number of a string */
	struct intern *functions, *symbols, *frames;
	size_t max_frames; /* 0: any number */
};

int processed_code_open(struct processed_code **out, size_t max_frames)
{
	struct processed_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	code->max_frames = max_frames;
	err = intern_open(&code->strings);
	if (!err)
		err = intern_open(&code->libs);
	if (!err)
		err = intern_open(&code->resources);
	if (!err)
		err = intern_open(&code->sources);
	if (!err)
		err = intern_open(&code->functions);
	if (!err)
		err = intern_open(&code->symbols);
	if (!err)
		err = intern_open(&code->frames);
	if (err) {
		processed_code_close(code);
		return err;
	}
	*out = code;
	return 0;
}

void processed_code_close(struct processed_code *code)
{
	if (!code)
		return;
	intern_close(code->strings);
	intern_close(code->libs);
	intern_close(code->resources);
	intern_close(code->sources);
	intern_close(code->functions);
	intern_close(code->symbols);
	intern_close(code->frames);
	free(code);
}

/* ---- adding ------------------------------------------------------------------------------ */

int processed_code_string(struct processed_code *code, const char *text, size_t length,
			  uint32_t *id)
{
	return intern_add(code->strings, text, length, id);
}

int processed_code_lib(struct processed_code *code, const char *path,
		       const struct build_id *build_id, uint32_t *id)
{
	size_t path_bytes = strlen(path) + 1;
	char *row = malloc(path_bytes + build_id->size);
	int err;

	if (!row)
		return -ENOMEM;
	memcpy(row, path, path_bytes);
	memcpy(row + path_bytes, build_id->bytes, build_id->size);
	err = intern_add(code->libs, row, path_bytes + build_id->size, id);
	free(row);
	return err;
}

/* The row of a table of names; NULL has none. */
static int add_name(struct processed_code *code, struct intern *names, const char *text,
		    uint32_t *id)
{
	uint32_t string;
	int err;

	*id = PROCESSED_NONE;
	if (!text)
		return 0;
	err = intern_add(code->strings, text, strlen(text), &string);
	return err ? err : intern_add(names, (const char *)&string, sizeof(string), id);
}

int processed_code_function(struct processed_code *code, uint32_t name, const char *resource,
			    const char *source, uint32_t *id)
{
	struct function row = {.name = name};
	int err = add_name(code, code->resources, resource, &row.resource);

	if (!err)
		err = add_name(code, code->sources, source, &row.source);
	return err ? err : intern_add(code->functions, (const char *)&row, sizeof(row), id);
}

int processed_code_symbol(struct processed_code *code, const struct processed_symbol *symbol,
			  uint32_t *id)
{
	return intern_add(code->symbols, (const char *)symbol, sizeof(*symbol), id);
}

int processed_code_frame(struct processed_code *code, const struct processed_frame *frame,
			 uint32_t *id)
{
	int err = intern_add(code->frames, (const char *)frame, sizeof(*frame), id);

	return !err && code->max_frames && *id >= code->max_frames ? -E2BIG : err;
}

/* ---- columns ----------------------------------------------------------------------------- */

#define NOTHING INT64_MIN /* in a column: null */

/* A column of a table, from what the table's rows are. */
struct column {
	const char *key;
	int64_t (*value)(const union row *row);
};

static void write_column(struct json *json, const struct intern *rows, const struct column *column)
{
	uint32_t count = intern_count(rows), i;

	json_key(json, column->key);
	json_array_begin(json);
	for (i = 0; i < count; i++) {
		size_t length;
		const char *bytes = intern_text(rows, i, &length);
		union row row; /* texts lie anywhere */
		int64_t value;

		memcpy(&row, bytes, length);
		value = column->value(&row);
		if (value == NOTHING)
			json_none(json);
		else
			json_i64(json, value);
	}
	json_array_end(json);
}

/* `columns` end with one that has no key. The object is left open, for what is the same in all rows. */
static void begin_table(struct json *json, const char *name, const struct intern *rows,
			const struct column *columns)
{
	json_key(json, name);
	json_object_begin(json);
	for (; columns->key; columns++)
		write_column(json, rows, columns);
	json_key_u64(json, "length", intern_count(rows));
}

/* -1: there is none. */
static int64_t number_or_minus_one(uint32_t number)
{
	return number == PROCESSED_NONE ? -1 : (int64_t)number;
}

/* ---- frames ------------------------------------------------------------------------------ */

static int64_t frame_address(const union row *row)
{
	return row->frame.lib == PROCESSED_NONE ? -1 : (int64_t)row->frame.address;
}

static int64_t frame_lib(const union row *row)
{
	return number_or_minus_one(row->frame.lib);
}

static int64_t frame_inline_depth(const union row *row)
{
	return row->frame.inline_depth;
}

static int64_t frame_category(const union row *row)
{
	return row->frame.category;
}

static int64_t frame_subcategory(const union row *row)
{
	return row->frame.subcategory;
}

static int64_t frame_function(const union row *row)
{
	return row->frame.function;
}

static int64_t frame_symbol(const union row *row)
{
	uint32_t symbol = row->frame.symbol;

	return symbol == PROCESSED_NONE ? NOTHING : (int64_t)symbol;
}

static int64_t frame_line(const union row *row)
{
	uint32_t line = row->frame.line;

	return line ? (int64_t)line : NOTHING;
}

static int64_t frame_column(const union row *row)
{
	uint32_t column = row->frame.column;

	return column ? (int64_t)column : NOTHING;
}

static void write_frames(const struct processed_code *code, struct json *json)
{
	static const struct column columns[] = {
		{"address", frame_address},
		{"lib", frame_lib},
		{"inlineDepth", frame_inline_depth},
		{"category", frame_category},
		{"subcategory", frame_subcategory},
		{"func", frame_function},
		{"nativeSymbol", frame_symbol},
		{"line", frame_line},
		{"column", frame_column},
		{NULL, NULL},
	};
	uint32_t count = intern_count(code->frames);

	begin_table(json, "frameTable", code->frames, columns);
	column_write_constant(json, "innerWindowID", "null", count);
	column_write_constant(json, "originalLocation", "null", count);
	json_object_end(json);
}

/* ---- functions, resources, symbols -------------------------------------------------------- */

static int64_t function_name(const union row *row)
{
	return row->function.name;
}

static int64_t function_resource(const union row *row)
{
	return number_or_minus_one(row->function.resource);
}

static int64_t function_source(const union row *row)
{
	return row->function.source == PROCESSED_NONE ? NOTHING : (int64_t)row->function.source;
}

/* JavaScript has what the columns are for that are all the same. */
static void write_functions(const struct processed_code *code, struct json *json)
{
	static const char *const nulls[] = {"lineNumber", "columnNumber", "originalLocation"};
	static const struct column columns[] = {
		{"name", function_name},
		{"resource", function_resource},
		{"source", function_source},
		{NULL, NULL},
	};
	uint32_t count = intern_count(code->functions);
	size_t i;

	begin_table(json, "funcTable", code->functions, columns);
	column_write_constant(json, "isJS", "false", count);
	column_write_constant(json, "relevantForJS", "false", count);
	for (i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		column_write_constant(json, nulls[i], "null", count);
	json_object_end(json);
}

static int64_t string_of(const union row *row)
{
	return row->string;
}

static void write_resources(const struct processed_code *code, struct json *json)
{
	static const struct column columns[] = {{"name", string_of}, {NULL, NULL}};
	uint32_t count = intern_count(code->resources);

	begin_table(json, "resourceTable", code->resources, columns);
	column_write_constant(json, "host", "null", count);
	column_write_constant(json, "type", RESOURCE_LIBRARY, count);
	json_object_end(json);
}

static int64_t symbol_lib(const union row *row)
{
	return row->symbol.lib;
}

static int64_t symbol_address(const union row *row)
{
	return (int64_t)row->symbol.address;
}

static int64_t symbol_name(const union row *row)
{
	return row->symbol.name;
}

static int64_t symbol_size(const union row *row)
{
	uint64_t size = row->symbol.size;

	return size ? (int64_t)size : NOTHING;
}

static void write_symbols(const struct processed_code *code, struct json *json)
{
	static const struct column columns[] = {
		{"libIndex", symbol_lib},
		{"address", symbol_address},
		{"name", symbol_name},
		{"functionSize", symbol_size},
		{NULL, NULL},
	};

	begin_table(json, "nativeSymbols", code->symbols, columns);
	json_object_end(json);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_strings(const struct processed_code *code, struct json *json)
{
	uint32_t count = intern_count(code->strings), i;
	size_t length;

	json_key(json, "stringArray");
	json_array_begin(json);
	for (i = 0; i < count; i++) {
		const char *text = intern_text(code->strings, i, &length);

		json_text_bytes(json, text, length);
	}
	json_array_end(json);
}

/* The front-end wants both tables; JavaScript has what the second one is for, and most columns of the first. */
static void write_sources(const struct processed_code *code, struct json *json)
{
	static const struct column columns[] = {{"filename", string_of}, {NULL, NULL}};
	uint32_t count = intern_count(code->sources);

	begin_table(json, "sources", code->sources, columns);
	column_write_constant(json, "id", "null", count);
	column_write_constant(json, "startLine", "1", count);
	column_write_constant(json, "startColumn", "1", count);
	column_write_constant(json, "sourceMapURL", "null", count);
	column_write_constant(json, "content", "null", count);
	json_object_end(json);
	json_key_literal(json, "sourceLocationTable",
			 "{\"source\":[],\"line\":[],\"column\":[],\"length\":0}");
}

void processed_code_write(const struct processed_code *code, struct json *json)
{
	write_frames(code, json);
	write_functions(code, json);
	write_resources(code, json);
	write_symbols(code, json);
	write_sources(code, json);
	write_strings(code, json);
}

void processed_code_write_libs(const struct processed_code *code, struct json *json)
{
	uint32_t count = intern_count(code->libs), i;

	json_array_begin(json);
	for (i = 0; i < count; i++) {
		size_t length, path_bytes;
		const char *path = intern_text(code->libs, i, &length);
		struct build_id id = {0};

		path_bytes = strlen(path) + 1;
		id.size = (uint8_t)(length - path_bytes);
		memcpy(id.bytes, path + path_bytes, id.size);
		json_object_begin(json);
		lib_json_write(json, path, &id);
		json_object_end(json);
	}
	json_array_end(json);
}
