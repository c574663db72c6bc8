/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - see table.h.
 *
 *   file ──elf_code──> .eh_frame ──eh_frame──> functions ──fde_order──> by address
 *        ──cfa_program──> (offset, state) ──rule_set──> (offset, rule) ──row_builder──> rows and pages
 *
 * Functions are taken by rising start. Where two overlap the later one holds up to its end, and
 * what the earlier one has after that is lost: to come back to it would cost its program once per
 * interruption.
 */
#include "unwind/table.h"
#include "base/clock.h"
#include "unwind/asm_code.h"
#include "unwind/cfa_program.h"
#include "unwind/context_code.h"
#include "unwind/elf_code.h"
#include "unwind/fde_order.h"
#include "unwind/other_code.h"
#include "unwind/row_builder.h"
#include "unwind/signal_code.h"

#include <errno.h>
#include <stdlib.h>

#define ROW_BYTES_FEW 5 /* of .eh_frame; most files have more a row */
#define AHEAD 8 /* functions, whose programs are asked of the memory in time */
#define WORK_AT_ONCE                                                                               \
	(1u << 16) /* before the time is looked at: bytes of programs, and for each function */
#define WORK_OF_FUNCTION 64
#define PADDING_MAX 15 /* bytes between functions that are taken for padding, not for code */
#define SEARCH_BYTES (2u << 20) /* of code without a description are looked at */

struct compiler {
	struct elf_code code;
	uint8_t *bytes; /* .eh_frame */
	struct eh_frame frame;
	uint64_t *order;
	struct rule_set rules;
	struct cfa_machine machine;
	struct row_builder builder;
	struct signal_code_search search;
	struct other_code other;
	struct asm_code asm_code;
	uint32_t covered; /* the text up to here has rows */
	uint64_t special_rows;
	uint64_t stop_cpu_ns;
	uint32_t work; /* since the time was looked at */
	enum unwind_limit cut_limit; /* why the rows end early; UNWIND_LIMIT_NONE: they do not */
	uint64_t cut_bytes; /* of text behind them */
};

static uint64_t text_bytes(const struct compiler *compiler)
{
	return compiler->code.page_count << UNWIND_PAGE_BITS;
}

/* Code up to `end` by what it does. */
static int add_asm(struct compiler *compiler, uint32_t end)
{
	uint32_t start = compiler->covered;

	compiler->covered = end;
	return start < end
		       ? asm_code_add(&compiler->asm_code, start, end, compiler->machine.tracks_reg,
				      &compiler->builder, &compiler->rules)
		       : 0;
}

/* Code up to `end` that nobody has described: what it says itself, and in it what we know by sight. */
static int add_unknown(struct compiler *compiler, uint64_t end)
{
	uint32_t start = compiler->covered, limit = (uint32_t)end;
	struct known_code known;
	struct row_builder *builder = &compiler->builder;
	int err = 0;

	if (end <= (uint64_t)compiler->covered + PADDING_MAX)
		return 0;
	/* A large piece, such as all of a Go program, must not use up what finds the C library behind it. */
	compiler->search.kept = compiler->search.budget / 2;
	while (signal_code_find(&compiler->search, start, limit, &known)) {
		start = known.start;
		if (!known.is_outermost && start > compiler->covered)
			start--; /* nothing calls it */
		err = add_asm(compiler, start);
		if (!err)
			err = row_builder_reserve(builder, 1, end);
		if (err)
			return err;
		row_builder_add(builder, start, known.is_outermost ? RULE_END : RULE_SIGNAL);
		compiler->covered = start = known.stop;
	}
	return add_asm(compiler, limit);
}

/* Code up to `end` that .eh_frame does not describe. */
static int add_gap(struct compiler *compiler, uint64_t end)
{
	struct code_range range;
	int err;

	while (other_code_next(&compiler->other, compiler->covered, end, &range)) {
		err = add_unknown(compiler, range.start);
		if (!err)
			err = other_code_add(&compiler->other, &range, &compiler->builder,
					     &compiler->rules);
		if (err)
			return err;
		compiler->covered = range.end;
	}
	return add_unknown(compiler, end);
}

/* A function that one rule describes from its first byte to its last. */
static int add_special(struct compiler *compiler, const struct fde *fde, uint32_t rule)
{
	int err = add_gap(compiler, fde->start);

	if (!err)
		err = row_builder_reserve(&compiler->builder, 1, fde->start);
	if (err)
		return err;
	row_builder_add(&compiler->builder, fde->start, rule);
	compiler->special_rows++;
	return 0;
}

/* The rows that the machine has made, up to `limit`. */
static int add_rows(struct compiler *compiler, const struct fde *fde, uint32_t limit)
{
	const struct cfa_machine *machine = &compiler->machine;
	size_t count = machine->row_count;
	int err = row_builder_reserve(&compiler->builder, count, limit);

	if (err)
		return err;
	while (machine->rows[count - 1].offset >= limit - fde->start)
		count--;
	row_builder_add_rows(&compiler->builder, fde->start, machine->rows, count);
	return 0;
}

/* One function, whose rows hold up to `limit`. */
static int add_function(struct compiler *compiler, const struct fde *fde, uint32_t limit)
{
	int err;

	if (fde->is_signal || fde->is_outermost) {
		err = add_special(compiler, fde, fde->is_signal ? RULE_SIGNAL : RULE_START);
	} else {
		err = cfa_machine_run(&compiler->machine, fde);
		if (err || !compiler->machine.row_count)
			return err;
		err = add_gap(compiler, fde->start);
		if (!err)
			err = add_rows(compiler, fde, limit);
	}
	compiler->covered = limit;
	return err;
}

/* The `i`th by address. */
static const struct fde *fde_at(const struct compiler *compiler, size_t i)
{
	return &compiler->frame.fdes[fde_order_index(compiler->order[i])];
}

static bool is_too_late(struct compiler *compiler, const struct fde *fde)
{
	compiler->work += fde->program_bytes + WORK_OF_FUNCTION;
	if (compiler->work < WORK_AT_ONCE)
		return false;
	compiler->work = 0;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > compiler->stop_cpu_ns;
}

static int add_functions(struct compiler *compiler)
{
	const struct eh_frame *frame = &compiler->frame;
	size_t i;
	int err;

	for (i = 0; i < frame->fde_count; i++) {
		const struct fde *fde = fde_at(compiler, i);
		uint32_t limit = fde->start + fde->size;

		if (i + AHEAD < frame->fde_count)
			__builtin_prefetch(frame->bytes + fde_at(compiler, i + AHEAD)->program);
		if (i + 1 < frame->fde_count) {
			const struct fde *next = fde_at(compiler, i + 1);

			if (next->start < limit)
				limit = next->start;
		}
		if (limit == fde->start)
			continue;
		if (is_too_late(compiler, fde))
			return -ETIME;
		err = add_function(compiler, fde, limit);
		if (err)
			return err;
	}
	return 0;
}

static void close_build(struct compiler *compiler)
{
	row_builder_close(&compiler->builder);
	cfa_machine_close(&compiler->machine);
	rule_set_close(&compiler->rules);
}

/* Beyond a limit: what has no rows yet is left to frame pointers. */
static void cut(struct compiler *compiler, int err)
{
	const struct rule_set *rules = &compiler->rules;
	bool is_full = rules->count == UNWIND_RULES_MAX || rules->slot_count == UNWIND_STATES_MAX;

	compiler->cut_limit = is_full ? UNWIND_LIMIT_RULES : UNWIND_LIMIT_ROWS;
	if (err == -ETIME)
		compiler->cut_limit = UNWIND_LIMIT_TIME;
	compiler->cut_bytes = text_bytes(compiler) - compiler->covered;
	row_builder_cut(&compiler->builder, RULE_FRAME_POINTER);
}

static int add_all(struct compiler *compiler)
{
	int err = add_functions(compiler);

	if (!err)
		err = add_gap(compiler, text_bytes(compiler));
	if (err == -EFBIG || err == -ETIME) {
		cut(compiler, err);
		err = 0;
	}
	return err;
}

static int build(struct compiler *compiler, bool tracks_reg)
{
	int err;

	close_build(compiler);
	compiler->covered = 0;
	compiler->special_rows = 0;
	compiler->cut_limit = UNWIND_LIMIT_NONE;
	compiler->cut_bytes = 0;
	compiler->search =
		(struct signal_code_search){&compiler->code, compiler->frame.text, SEARCH_BYTES, 0};
	other_code_rewind(&compiler->other, tracks_reg);
	err = rule_set_open(&compiler->rules);
	if (!err)
		err = cfa_machine_open(&compiler->machine, &compiler->frame, &compiler->rules,
				       tracks_reg);
	if (!err)
		err = row_builder_open(&compiler->builder, (uint32_t)compiler->code.page_count,
				       compiler->code.page_count +
					       compiler->frame.size / ROW_BYTES_FEW,
				       RULE_FRAME_POINTER);
	if (!err)
		err = add_all(compiler);
	if (!err)
		err = row_builder_finish(&compiler->builder);
	return err;
}

static int scan(struct compiler *compiler)
{
	const struct elf_eh_frame *section = &compiler->code.eh_frame;
	struct eh_frame *frame = &compiler->frame;
	int err;

	frame->text = compiler->code.first_page << UNWIND_PAGE_BITS;
	frame->text_bytes = text_bytes(compiler);
	if (!section->bytes)
		return 0;
	err = elf_code_read_eh_frame(&compiler->code, &compiler->bytes);
	if (err)
		return err;
	frame->bytes = compiler->bytes;
	frame->size = section->bytes;
	frame->address = section->address;
	frame->is_open_ended = section->is_open_ended;
	err = eh_frame_scan(frame);
	if (!err)
		signal_code_mark(frame, &compiler->code);
	if (!err)
		context_code_mark(frame, &compiler->code);
	return err;
}

/* [start, end) has no description: what of it is not other code is to be looked at. */
static int find_gap(struct compiler *compiler, uint32_t start, uint64_t end)
{
	struct code_range range;
	int err = 0;

	while (!err && other_code_next(&compiler->other, start, end, &range)) {
		err = asm_code_add_gap(&compiler->asm_code, &compiler->code, start, range.start);
		start = range.end;
	}
	return err ? err
		   : asm_code_add_gap(&compiler->asm_code, &compiler->code, start, (uint32_t)end);
}

/* UNWIND_LIMIT_NONE: all of .eh_frame was read. */
static enum unwind_limit frames_limit(const struct compiler *compiler)
{
	if (compiler->code.eh_frame.is_cut)
		return UNWIND_LIMIT_EH_FRAME;
	return compiler->frame.is_cut ? UNWIND_LIMIT_FUNCTIONS : UNWIND_LIMIT_NONE;
}

/* The first that was met. */
static enum unwind_limit limit_met(const struct compiler *compiler)
{
	const enum unwind_limit limits[] = {
		frames_limit(compiler),
		compiler->other.go.is_too_large ? UNWIND_LIMIT_GO_TABLE : UNWIND_LIMIT_NONE,
		compiler->cut_limit,
		compiler->machine.too_long ? UNWIND_LIMIT_PROGRAM : UNWIND_LIMIT_NONE,
		compiler->asm_code.limit,
	};
	size_t i = 0;

	while (i < sizeof(limits) / sizeof(limits[0]) - 1 && !limits[i])
		i++;
	return limits[i];
}

static int look_at_gaps(struct compiler *compiler)
{
	uint32_t covered = 0;
	size_t i;
	int err = 0;

	compiler->asm_code.stop_cpu_ns = compiler->stop_cpu_ns;
	for (i = 0; i < compiler->frame.fde_count && !err; i++) {
		const struct fde *fde = fde_at(compiler, i);

		if (fde->start > covered + PADDING_MAX)
			err = find_gap(compiler, covered, fde->start);
		if (fde->start + fde->size > covered)
			covered = fde->start + fde->size;
	}
	if (!err && text_bytes(compiler) > covered)
		err = find_gap(compiler, covered, text_bytes(compiler));
	/* What is described beyond a limit is no gap. */
	if (frames_limit(compiler))
		asm_code_skip(&compiler->asm_code, frames_limit(compiler));
	return err ? err
		   : asm_code_analyze(&compiler->asm_code, &compiler->code, &compiler->frame,
				      compiler->order);
}

static struct unwind_table_stats stats_of(const struct compiler *compiler)
{
	return (struct unwind_table_stats){
		.fdes = compiler->frame.seen,
		.rows_in = compiler->machine.rows_in + compiler->special_rows,
		.unsupported = compiler->machine.unsupported,
		.dense_pages = compiler->builder.dense_pages,
		.bad_fdes = compiler->frame.bad + compiler->machine.bad,
		.skipped_bytes = compiler->asm_code.skipped_bytes + compiler->cut_bytes,
		.limit = limit_met(compiler),
	};
}

/* What has been built becomes the table's. */
static int take(struct compiler *compiler, struct unwind_table **out)
{
	struct unwind_table *table = calloc(1, sizeof(*table));
	struct gb_unwind_rule *rules;

	if (!table)
		return -ENOMEM;
	rules = realloc(compiler->rules.rules, compiler->rules.count * sizeof(*rules));
	if (!rules) {
		free(table);
		return -ENOMEM;
	}
	*table = (struct unwind_table){
		.first_page = compiler->code.first_page,
		.page_count = (uint32_t)compiler->code.page_count,
		.row_count = (uint32_t)compiler->builder.row_count,
		.rule_count = (uint32_t)compiler->rules.count,
		.pages = compiler->builder.pages,
		.rows = compiler->builder.rows,
		.rules = rules,
		.segments = compiler->code.segments,
		.segment_count = (uint32_t)compiler->code.segment_count,
		.tracks_reg = compiler->machine.tracks_reg,
		.has_no_eh_frame = !compiler->code.eh_frame.bytes,
		.stats = stats_of(compiler),
	};
	compiler->rules.rules = NULL;
	compiler->code.segments = NULL;
	compiler->builder.pages = NULL;
	compiler->builder.rows = NULL;
	*out = table;
	return 0;
}

static int compile(struct compiler *compiler, const struct unwind_source *source,
		   struct unwind_table **out)
{
	int err = elf_code_open(&compiler->code, source);

	if (!err)
		err = scan(compiler);
	if (!err)
		err = other_code_open(&compiler->other, &compiler->code, compiler->frame.text,
				      compiler->frame.text_bytes);
	if (!err)
		err = fde_order_make(&compiler->frame, &compiler->order);
	if (!err)
		err = look_at_gaps(compiler);
	if (!err)
		err = build(compiler, false);
	if (!err && rule_set_needs_tracked(&compiler->rules))
		err = build(compiler, true);
	return err ? err : take(compiler, out);
}

int unwind_table_compile(struct unwind_table **out, const struct unwind_source *source)
{
	struct compiler compiler = {.stop_cpu_ns =
					    clock_ns(CLOCK_THREAD_CPUTIME_ID) + UNWIND_CPU_MAX_NS};
	int err = compile(&compiler, source, out);

	close_build(&compiler);
	asm_code_close(&compiler.asm_code);
	other_code_close(&compiler.other);
	free(compiler.order);
	eh_frame_close(&compiler.frame);
	free(compiler.bytes);
	elf_code_close(&compiler.code);
	return err;
}

void unwind_table_close(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->pages);
	free(table->rows);
	free(table->rules);
	free(table->segments);
	free(table);
}
