/* SPDX-License-Identifier: BSD-2-Clause */
/* go_code.c - see go_code.h. */
#include "unwind/go_code.h"
#include "elf/elf_file.h"
#include "unwind/cursor.h"
#include "unwind/limits.h"
#include "unwind/arch.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_1_18 0xfffffff0
#define MAGIC_1_20 0xfffffff1
#define MODULE_TEXT_AT (22 * 8) /* in struct moduledata, of all layouts that we read */
#define TABLE_ALIGN 8 /* at least, in memory and in the file */
#define STEPS_MAX (4 * UNWIND_ROWS_MAX) /* per table */
#define RELOCATIONS_AT_ONCE 1024
#define PEEKS_MAX 1024 /* per table: each is a system call */
#define CODE_MAX_BYTES 1024 /* of a function that changes stacks are looked at */
#define PADDING_MAX 31 /* bytes between functions */
#define SIGRETURN_MAX_BYTES 64 /* of code, with padding */

/* The last five are offsets in the table. */
struct go_header {
	uint32_t magic;
	uint8_t zero[2];
	uint8_t instruction_bytes; /* addresses count by these */
	uint8_t address_bytes;
	uint64_t function_count, file_count, text_start;
	uint64_t names, units, files, values, functions;
};

_Static_assert(sizeof(struct go_header) == 72, "as it is in the file");

/* In the list of functions, and in their descriptions. */
#define ENTRY_BYTES 8
#define NAME_AT 4
#define DEPTHS_AT 16
#define FLAGS_AT 37
#define LINE_BYTES 4 /* before the flags, from 1.20 on */

enum go_flag { GO_TOPFRAME = 1, GO_SPWRITE = 2 };

enum go_kind {
	GO_PLAIN,
	GO_OUTERMOST,
	GO_SIGRETURN,
	GO_PREEMPTS, /* a signal's handler made it look as if it were called */
	GO_CHANGES_STACK, /* and comes back */
	GO_STARTS_STACK, /* and does not */
};

struct go_function {
	uint32_t start, end; /* offsets in the text */
	uint32_t depths; /* offset in the values */
	uint32_t changes_at; /* offset in the text: from here on it may be on another stack */
	enum go_kind kind;
};

static uint32_t word_at(const struct go_code *go, size_t offset)
{
	uint32_t word;

	memcpy(&word, go->bytes + offset, sizeof(word));
	return word;
}

/* Where the `i`th function starts, as an offset in the text; that of function_count is the end of the last. */
static uint64_t start_of(const struct go_code *go, uint32_t i)
{
	return go->base + word_at(go, go->functions + (size_t)i * ENTRY_BYTES);
}

/* ---- the table ---------------------------------------------------------------------------- */

static bool makes_sense(const struct go_code *go, const struct go_header *header)
{
	uint64_t left;

	if ((header->magic != MAGIC_1_18 && header->magic != MAGIC_1_20) || header->zero[0] ||
	    header->zero[1] || header->instruction_bytes != MACHINE_INSTRUCTION_BYTES ||
	    header->address_bytes != MACHINE_ADDRESS_BYTES)
		return false;
	if (header->names >= go->size || header->values >= go->size ||
	    header->functions >= go->size)
		return false;
	/* After the last one there is its end alone. */
	left = go->size - header->functions;
	return header->function_count && left >= sizeof(uint32_t) &&
	       header->function_count <= (left - sizeof(uint32_t)) / ENTRY_BYTES;
}

/* Whether functions are in order, and all in the text. */
static bool are_sorted(const struct go_code *go, uint64_t text_bytes)
{
	uint32_t i;

	for (i = 0; i < go->function_count; i++)
		if (start_of(go, i) > start_of(go, i + 1))
			return false;
	return start_of(go, go->function_count) <= text_bytes;
}

/* Of what is not needed for rows and names: the table's end if it is not there. */
static uint32_t offset_of(const struct go_code *go, uint64_t offset)
{
	return (uint32_t)(offset < go->size ? offset : go->size);
}

/* Takes the table that is in `bytes`; false: it is none. */
static bool use_table(struct go_code *go, const struct go_header *header, uint64_t text_bytes)
{
	if (header->text_start < go->text || header->text_start - go->text >= text_bytes)
		return false;
	go->base = header->text_start - go->text;
	go->function_count = (uint32_t)header->function_count;
	go->names = (uint32_t)header->names;
	go->values = (uint32_t)header->values;
	go->units = offset_of(go, header->units);
	go->files = offset_of(go, header->files);
	go->functions = (uint32_t)header->functions;
	go->has_lines = header->magic == MAGIC_1_20;
	if (!are_sorted(go, text_bytes))
		return false;
	go->start = (uint32_t)start_of(go, 0);
	go->end = (uint32_t)start_of(go, go->function_count);
	return true;
}

/*
 * All of a part, the caller's to free; *bytes is NULL where it is empty, too large (*is_too_large) or
 * not in the file. 0; -ENOMEM; -errno.
 */
static int read_part(const struct elf_code *code, const struct elf_part *part, uint8_t **bytes,
		     bool *is_too_large)
{
	int err;

	*bytes = NULL;
	if (!part->bytes)
		return 0;
	err = elf_code_read_part(code, part, bytes);
	*is_too_large = err == -EFBIG;
	return elf_file_malformed(err) || err == -EFBIG ? 0 : err;
}

/* Where in some data the table begins, which then goes on to its end; `size`: nowhere. */
static size_t table_at(const uint8_t *bytes, size_t size)
{
	static const uint8_t rest[] = {0, 0, MACHINE_INSTRUCTION_BYTES, MACHINE_ADDRESS_BYTES};
	uint32_t magic;
	size_t at;

	for (at = 0; size - at >= sizeof(struct go_header); at += TABLE_ALIGN) {
		memcpy(&magic, bytes + at, sizeof(magic));
		if ((magic == MAGIC_1_18 || magic == MAGIC_1_20) &&
		    !memcmp(bytes + at + sizeof(magic), rest, sizeof(rest)))
			return at;
	}
	return size;
}

/* Go's linker gives the table a section; others put it among what is written to while the file is relocated. */
static int find_part(const struct elf_code *code, struct elf_part *part, bool *is_too_large)
{
	uint8_t *bytes;
	size_t at;
	int err;

	*part = code->go_functions;
	if (part->bytes || !code->go_build.bytes)
		return 0;
	err = read_part(code, &code->relocated, &bytes, is_too_large);
	if (err || !bytes)
		return err;
	at = table_at(bytes, code->relocated.bytes);
	free(bytes);
	*part = code->relocated;
	part->address += at;
	part->offset += at;
	part->bytes -= at;
	return 0;
}

/* What a relocation puts at `address`, into *value; unchanged if none does, or they cannot be read. */
static void read_relocated(const struct elf_code *code, uint64_t address, uint64_t *value)
{
	Elf64_Rela relocations[RELOCATIONS_AT_ONCE];
	uint64_t left = code->relocations.bytes, offset = code->relocations.offset;
	size_t count, i;

	if (left > UNWIND_READ_MAX_BYTES)
		left = UNWIND_READ_MAX_BYTES;
	for (left /= sizeof(relocations[0]); left; left -= count) {
		count = left < RELOCATIONS_AT_ONCE ? (size_t)left : RELOCATIONS_AT_ONCE;
		if (elf_file_read(code->file, offset, relocations, count * sizeof(relocations[0])))
			return;
		offset += count * sizeof(relocations[0]);
		for (i = 0; i < count; i++)
			if (relocations[i].r_offset == address)
				*value = (uint64_t)relocations[i].r_addend;
	}
}

/*
 * Where the text starts, if the header does not say: from Go 1.26 on the module does. Either may
 * leave it to a relocation.
 */
static void find_text(const struct go_code *go, struct go_header *header)
{
	uint64_t address = go->address + offsetof(struct go_header, text_start);
	const struct elf_part *module = &go->code->go_module;

	if (header->text_start)
		return;
	if (module->bytes >= MODULE_TEXT_AT + sizeof(header->text_start)) {
		address = module->address + MODULE_TEXT_AT;
		if (elf_file_read(go->code->file, module->offset + MODULE_TEXT_AT,
				  &header->text_start, sizeof(header->text_start)))
			return;
	}
	if (!header->text_start)
		read_relocated(go->code, address, &header->text_start);
}

/* The table, into `bytes`, and its header. *is_found: it is one. */
static int read_table(struct go_code *go, struct go_header *header, bool *is_found)
{
	struct elf_part part;
	int err = find_part(go->code, &part, &go->is_too_large);

	*is_found = false;
	if (!err)
		err = read_part(go->code, &part, &go->bytes, &go->is_too_large);
	if (err || !go->bytes || part.bytes < sizeof(*header))
		return err;
	go->size = part.bytes;
	go->address = part.address;
	memcpy(header, go->bytes, sizeof(*header));
	*is_found = makes_sense(go, header);
	if (*is_found)
		find_text(go, header);
	return 0;
}

int go_code_open(struct go_code *go, const struct elf_code *code, uint64_t text,
		 uint64_t text_bytes)
{
	struct go_header header;
	bool is_found, is_too_large;
	int err;

	*go = (struct go_code){.code = code, .text = text};
	err = read_table(go, &header, &is_found);
	if (!err && (!is_found || !use_table(go, &header, text_bytes))) {
		is_too_large = go->is_too_large;
		go_code_close(go);
		go->is_too_large = is_too_large;
	}
	return err;
}

void go_code_close(struct go_code *go)
{
	free(go->bytes);
	*go = (struct go_code){0};
}

void go_code_rewind(struct go_code *go, bool tracks_reg)
{
	go->tracks_reg = tracks_reg;
	go->rows_left = go->size;
	go->steps_left = STEPS_MAX;
	go->peeks_left = PEEKS_MAX;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* Whether the name that begins at `offset` in the names begins, or with its final zero is, `name`. */
static bool has_name(const struct go_code *go, uint32_t offset, const char *name, size_t size)
{
	size_t left = go->size - go->names;

	return offset < left && size <= left - offset &&
	       !memcmp(go->bytes + go->names + offset, name, size);
}

#define IS_NAMED(go, offset, name) has_name(go, offset, name, sizeof(name))
#define IS_NAMED_LIKE(go, offset, name) has_name(go, offset, name, sizeof(name) - 1)

static enum go_kind kind_of(const struct go_code *go, uint32_t name, uint8_t flags, uint32_t size)
{
	if (size <= SIGRETURN_MAX_BYTES && IS_NAMED_LIKE(go, name, "runtime.sigreturn"))
		return GO_SIGRETURN;
	/* A signal handler is on top only in Go's eyes. */
	if (flags & GO_TOPFRAME && !IS_NAMED(go, name, "runtime.sigtramp"))
		return GO_OUTERMOST;
	if (IS_NAMED(go, name, "runtime.mcall") || IS_NAMED(go, name, "runtime.morestack") ||
	    IS_NAMED(go, name, "runtime.clone"))
		return GO_STARTS_STACK;
	if (IS_NAMED(go, name, "runtime.asyncPreempt"))
		return GO_PREEMPTS;
	return flags & GO_SPWRITE ? GO_CHANGES_STACK : GO_PLAIN;
}

/* Where its code has first written the stack pointer. */
static uint32_t find_change(struct go_code *go, const struct go_function *function)
{
	uint8_t bytes[CODE_MAX_BYTES];
	size_t size = function->end - function->start;

	if (!go->peeks_left)
		return function->start;
	go->peeks_left--;
	size = elf_code_peek(go->code, go->text + function->start, bytes,
			     size < sizeof(bytes) ? size : sizeof(bytes));
	return function->start + (uint32_t)machine_find_stack_change(bytes, size);
}

size_t go_code_flags_at(const struct go_code *go)
{
	return FLAGS_AT + (go->has_lines ? LINE_BYTES : 0);
}

/* Where the description of the `i`th is, up to its flags; 0: it is not there. */
static size_t description_at(const struct go_code *go, uint32_t i)
{
	size_t at = word_at(go, go->functions + (size_t)i * ENTRY_BYTES + sizeof(uint32_t));
	size_t left = go->size - go->functions;

	return at < left && left - at > go_code_flags_at(go) ? go->functions + at : 0;
}

/* The `i`th; false: its description is not there. */
static bool read_function(struct go_code *go, uint32_t i, struct go_function *function)
{
	size_t at = description_at(go, i);

	*function = (struct go_function){.start = (uint32_t)start_of(go, i),
					 .end = (uint32_t)start_of(go, i + 1)};
	if (!at)
		return false;
	function->depths = word_at(go, at + DEPTHS_AT);
	function->kind =
		kind_of(go, word_at(go, at + NAME_AT), go->bytes[at + go_code_flags_at(go)],
			function->end - function->start);
	function->changes_at = function->end;
	if (function->kind == GO_CHANGES_STACK || function->kind == GO_STARTS_STACK)
		function->changes_at = find_change(go, function);
	return true;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Where rows go. */
struct go_rows {
	struct go_code *go;
	uint32_t start, end; /* what is wanted of the text */
	struct row_builder *builder;
	struct rule_set *rules;
};

/* `rule` holds from `offset` on. */
static int add_row(struct go_rows *rows, uint32_t offset, uint32_t rule)
{
	int err;

	if (offset >= rows->end)
		return 0;
	if (offset < rows->start)
		offset = rows->start;
	if (!rows->go->rows_left)
		rule = RULE_FRAME_POINTER;
	else
		rows->go->rows_left--;
	err = row_builder_reserve(rows->builder, 1, offset);
	if (!err)
		row_builder_add(rows->builder, offset, rule);
	return err;
}

/* The rule where the return address is `depth` bytes above SP. Where there is a frame, FP is saved right below. */
static int depth_rule(const struct go_rows *rows, enum go_kind kind, uint32_t depth, uint32_t *rule)
{
	struct cfa_state state = {
		.how = HOW_WITH_CFA(0, CFA_IS_REG, MACHINE_REG_SP),
		.cfa_off = (int32_t)depth - GB_RETURN_AT,
		.tracked_off = rows->go->tracks_reg ? TRACKED_STRANGE : 0,
	};

	if (kind == GO_PREEMPTS)
		state.how = HOW_WITH_RA(state.how, RA_IS_INTERRUPTED);
	if (depth) {
		state.how = HOW_WITH_FP(state.how, FP_IS_CFA);
		state.fp_off = 2 * GB_RETURN_AT;
	}
	return rule_set_number(rows->rules, cfa_key_of(&state), rule);
}

bool go_code_next_value(struct cursor *values, bool is_first, int64_t *value, uint64_t *bytes)
{
	uint64_t change;

	if (!cursor_uleb(values, &change) || (!change && !is_first) || change > UINT32_MAX ||
	    !cursor_uleb(values, bytes) || !*bytes || *bytes > UINT32_MAX)
		return false;
	*value += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
	return true;
}

/* Of one function. */
static bool next_depth(struct cursor *values, bool is_first, int64_t *depth, uint64_t *bytes)
{
	return go_code_next_value(values, is_first, depth, bytes) && *depth >= 0 &&
	       *depth < INT32_MAX / 2 && !(*depth & 7);
}

/* Whether the rest of the function, whose depths end at `offset`, needs no row of its own. */
static bool is_padding(const struct go_function *function, uint64_t offset)
{
	return offset > function->start && offset + PADDING_MAX >= function->changes_at;
}

/* Up to where the function changes to another stack. */
static int add_depths(struct go_rows *rows, const struct go_function *function)
{
	const struct go_code *go = rows->go;
	uint64_t offset = function->start, bytes = 0;
	struct cursor values;
	int64_t depth = -1;
	uint32_t rule;
	int err = 0;

	values = cursor_over(go->bytes + go->values, go->size - go->values);
	if (!cursor_skip(&values, function->depths))
		return add_row(rows, function->start, RULE_FRAME_POINTER);
	while (!err && offset < function->changes_at && rows->go->steps_left &&
	       next_depth(&values, offset == function->start, &depth, &bytes)) {
		rows->go->steps_left--;
		err = depth_rule(rows, function->kind, (uint32_t)depth, &rule);
		if (!err && offset + bytes > rows->start)
			err = add_row(rows, (uint32_t)offset, rule);
		offset += bytes;
	}
	if (err || offset >= rows->end || is_padding(function, offset))
		return err;
	/* The table makes no sense. */
	return add_row(rows, (uint32_t)offset, RULE_FRAME_POINTER);
}

static int add_function(struct go_rows *rows, const struct go_function *function)
{
	uint32_t after = function->kind == GO_STARTS_STACK ? RULE_END : RULE_OTHER_STACK;
	int err;

	switch (function->kind) {
	case GO_OUTERMOST:
		return add_row(rows, function->start, RULE_END);
	case GO_SIGRETURN: /* nothing calls it: see signal_code.h */
		return add_row(rows, function->start - (function->start > rows->start),
			       RULE_SIGNAL);
	default:
		err = add_depths(rows, function);
		if (!err && function->changes_at < function->end)
			err = add_row(rows, function->changes_at, after);
		return err;
	}
}

/* The last function that starts at `offset` or before. */
static uint32_t function_at(const struct go_code *go, uint32_t offset)
{
	uint32_t low = 0, high = go->function_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(go, middle) <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int go_code_add(struct go_code *go, uint32_t start, uint32_t end, struct row_builder *builder,
		struct rule_set *rules)
{
	struct go_rows rows = {go, start, end, builder, rules};
	struct go_function function;
	uint32_t i = function_at(go, start);
	int err = 0;

	for (; !err && i < go->function_count && start_of(go, i) < end; i++) {
		if (start_of(go, i) == start_of(go, i + 1))
			continue;
		if (read_function(go, i, &function))
			err = add_function(&rows, &function);
		else
			err = add_row(&rows, function.start, RULE_FRAME_POINTER);
	}
	return err;
}

/* ---- names -------------------------------------------------------------------------------- */

/* The text that begins at `offset` in the names; NULL: it is empty, or has no end. */
static const char *name_at(const struct go_code *go, uint32_t offset)
{
	size_t left = go->size - go->names;
	const char *name;

	if (offset >= left)
		return NULL;
	name = (const char *)go->bytes + go->names + offset;
	return *name && memchr(name, '\0', left - offset) ? name : NULL;
}

bool go_code_find(const struct go_code *go, uint64_t offset, struct go_function_name *out)
{
	uint32_t i;
	size_t at;

	if (offset < go->start || offset >= go->end)
		return false;
	i = function_at(go, (uint32_t)offset);
	at = description_at(go, i);
	*out = (struct go_function_name){.start = (uint32_t)start_of(go, i),
					 .end = (uint32_t)start_of(go, i + 1),
					 .described_at = at,
					 .name = at ? name_at(go, word_at(go, at + NAME_AT))
						    : NULL};
	return true;
}
