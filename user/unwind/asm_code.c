/* SPDX-License-Identifier: BSD-2-Clause */
/* asm_code.c - see asm_code.h. */
#include "unwind/asm_code.h"
#include "base/array.h"
#include "base/clock.h"
#include "unwind/asm_entries.h"
#include "unwind/code_flow.h"
#include "unwind/code_returns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP_MIN_BYTES 16 /* less is padding */
#define ALL_MAX_BYTES                                                                              \
	(32u << 20) /* of gaps are looked at; programs with more are built with frame pointers */
#define WINDOW_APART_BYTES 2048 /* gaps so far apart are not of one window */
#define FRAMES_MIN 8 /* so many functions with frames tell whether a file keeps frame pointers */

int asm_code_add_gap(struct asm_code *asm_code, const struct elf_code *code, uint32_t start,
		     uint32_t end)
{
	uint64_t text = code->first_page << UNWIND_PAGE_BITS;
	int err;

	if (text + start < code->code_start)
		start = (uint32_t)(code->code_start - text);
	if (text + end > code->code_end)
		end = (uint32_t)(code->code_end - text);
	if (end < start || end - start < GAP_MIN_BYTES)
		return 0;
	err = array_reserve((void **)&asm_code->gaps, &asm_code->gap_capacity,
			    asm_code->gap_count + 1, sizeof(*asm_code->gaps));
	if (!err)
		asm_code->gaps[asm_code->gap_count++] = (struct asm_gap){start, end};
	return err;
}

void asm_code_close(struct asm_code *asm_code)
{
	free(asm_code->gaps);
	free(asm_code->rows);
	free(asm_code->entries);
	*asm_code = (struct asm_code){0};
}

/* ---- one window ---- */

/* Gaps [first, last) and all that is between them. */
struct window {
	const struct asm_code *gaps;
	size_t first, last;
	uint32_t start, end; /* offsets in the text */
	uint64_t text;
	struct code_returns *returns;
	struct code_flow flow;
};

/* Begins with the gap `first`; a gap that is too long is cut: its rest is *start. */
static void lay_window(struct window *window, const struct asm_code *asm_code, size_t first,
		       uint32_t start)
{
	uint32_t limit = start + CODE_FLOW_MAX_BYTES;
	size_t i;

	window->first = first;
	window->start = start;
	window->end = asm_code->gaps[first].end < limit ? asm_code->gaps[first].end : limit;
	for (i = first + 1; i < asm_code->gap_count; i++) {
		const struct asm_gap *gap = &asm_code->gaps[i];

		if (gap->end > limit || gap->start - window->end > WINDOW_APART_BYTES)
			break;
		window->end = gap->end;
	}
	window->last = i;
}

static int read_code(struct window *window, const struct elf_code *code)
{
	size_t i;

	for (i = window->first; i < window->last; i++) {
		const struct asm_gap *gap = &window->gaps->gaps[i];
		uint32_t start = gap->start > window->start ? gap->start : window->start;
		uint32_t end = gap->end < window->end ? gap->end : window->end;
		uint8_t *to = window->flow.code + (start - window->start);
		size_t got = elf_code_peek(code, window->text + start, to, end - start);

		memset(to + got, 0, end - start - got);
		code_flow_claim(&window->flow, start - window->start, end - window->start);
	}
	return 0;
}

/* Functions of the window; `first` is the first that can be, and becomes that of the next window. */
static int enter_all(struct window *window, const struct asm_code *asm_code, size_t *first)
{
	int err = 0;

	for (; *first < asm_code->entry_count && !err; (*first)++) {
		const struct asm_entry *entry = &asm_code->entries[*first];
		uint32_t at = entry->offset - window->start;

		if (entry->offset >= window->end)
			break;
		if (entry->offset < window->start)
			continue;
		if (entry->kind == ENTRY_POINTED)
			err = code_flow_point(&window->flow, at);
		else
			err = code_flow_enter(&window->flow, at, entry->kind == ENTRY_START);
	}
	return err;
}

static bool is_same(const struct asm_row *row, bool is_known, const struct cfa_state *state)
{
	return row->is_known == is_known && !memcmp(&row->state, state, sizeof(*state));
}

static int add_row(struct asm_code *asm_code, uint32_t offset, bool is_known,
		   const struct cfa_state *state)
{
	int err;

	if (asm_code->row_count == UNWIND_CODE_ROWS_MAX)
		return -EFBIG;
	err = array_reserve((void **)&asm_code->rows, &asm_code->row_capacity,
			    asm_code->row_count + 1, sizeof(*asm_code->rows));
	if (!err)
		asm_code->rows[asm_code->row_count++] = (struct asm_row){offset, is_known, *state};
	return err;
}

/* What is known of [start, end) of the window. */
static int take_rows(struct window *window, struct asm_code *asm_code, uint32_t start, uint32_t end)
{
	static const struct cfa_state none;
	struct cfa_state described;
	bool is_inside, is_known;
	uint32_t at, length;
	int err = 0;

	for (at = start; at < end && !err; at += length) {
		const struct frame_state *state = code_flow_at(&window->flow, at, &is_inside);

		if (!state && at > start && code_flow_is_padding(&window->flow, at, &length))
			continue;
		length = 1;
		if (is_inside)
			continue;
		is_known = state && frame_state_describe(state, &described);
		if (!is_known)
			described = none;
		if (at == start ||
		    !is_same(&asm_code->rows[asm_code->row_count - 1], is_known, &described))
			err = add_row(asm_code, window->start + at, is_known, &described);
	}
	return err;
}

static int take_all(struct window *window, struct asm_code *asm_code)
{
	size_t i;
	int err = 0;

	for (i = window->first; i < window->last && !err; i++) {
		const struct asm_gap *gap = &asm_code->gaps[i];
		uint32_t start = gap->start > window->start ? gap->start : window->start;
		uint32_t end = gap->end < window->end ? gap->end : window->end;

		err = take_rows(window, asm_code, start - window->start, end - window->start);
	}
	return err;
}

/* ---- all of them ---- */

/* How many functions make frames, and keep frame pointers. */
struct habits {
	uint64_t frames, with_fp;
};

static int analyze_window(struct window *window, struct asm_code *asm_code,
			  const struct elf_code *code, size_t *first_entry, struct habits *habits)
{
	int err = code_flow_open(&window->flow, window->text + window->start,
				 window->end - window->start);

	window->flow.may_return = code_returns_from;
	window->flow.context = window->returns;
	if (!err)
		err = read_code(window, code);
	if (!err)
		err = enter_all(window, asm_code, first_entry);
	if (!err)
		err = code_flow_run(&window->flow);
	if (!err)
		err = take_all(window, asm_code);
	if (!err)
		code_flow_count_frames(&window->flow, &habits->frames, &habits->with_fp);
	code_flow_close(&window->flow);
	return err;
}

static uint64_t sum_bytes(const struct asm_code *asm_code)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < asm_code->gap_count; i++)
		sum += asm_code->gaps[i].end - asm_code->gaps[i].start;
	return sum;
}

void asm_code_skip(struct asm_code *asm_code, enum unwind_limit limit)
{
	asm_code->skipped_bytes = sum_bytes(asm_code);
	if (asm_code->skipped_bytes)
		asm_code->limit = limit;
	asm_code->gap_count = 0;
	asm_code->row_count = 0;
}

static int analyze_all(struct asm_code *asm_code, const struct elf_code *code,
		       const struct eh_frame *frame, const uint64_t *order)
{
	struct code_returns returns = {code, frame, order, {0}};
	struct window window = {.gaps = asm_code, .text = frame->text, .returns = &returns};
	struct habits habits = {0};
	size_t i = 0, first_entry = 0;
	uint32_t start;
	int err = 0;

	asm_code->keeps_fp = true;
	err = asm_entries_find(asm_code, code, frame->text);
	start = asm_code->gap_count ? asm_code->gaps[0].start : 0;
	while (i < asm_code->gap_count && !err) {
		if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > asm_code->stop_cpu_ns) {
			err = -ETIME;
			break;
		}
		lay_window(&window, asm_code, i, start);
		err = analyze_window(&window, asm_code, code, &first_entry, &habits);
		start = window.end;
		i = window.last;
		if (start < asm_code->gaps[i - 1].end)
			i--;
		else if (i < asm_code->gap_count)
			start = asm_code->gaps[i].start;
	}
	code_returns_close(&returns);
	asm_code->keeps_fp = habits.frames < FRAMES_MIN || habits.with_fp * 2 > habits.frames;
	return err;
}

int asm_code_analyze(struct asm_code *asm_code, const struct elf_code *code,
		     const struct eh_frame *frame, const uint64_t *order)
{
	int err;

	if (sum_bytes(asm_code) > ALL_MAX_BYTES)
		asm_code_skip(asm_code, UNWIND_LIMIT_CODE);
	err = analyze_all(asm_code, code, frame, order);
	if (err != -EFBIG && err != -ETIME)
		return err;
	asm_code_skip(asm_code, err == -ETIME ? UNWIND_LIMIT_TIME : UNWIND_LIMIT_ROWS);
	return 0;
}

/* ---- rows ---- */

/* The last one that begins at or before `offset`. */
static size_t row_before(const struct asm_code *asm_code, uint32_t offset)
{
	size_t low = 0, high = asm_code->row_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (asm_code->rows[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int rule_number(const struct asm_code *asm_code, const struct asm_row *row, bool tracks_reg,
		       struct rule_set *rules, uint32_t *rule)
{
	struct cfa_state state = row->state;

	*rule = asm_code->keeps_fp ? RULE_FRAME_POINTER : RULE_INVALID;
	if (!row->is_known)
		return 0;
	state.tracked_off = tracks_reg && HOW_RA(state.how) == RA_IS_CFA ? TRACKED_STRANGE : 0;
	return rule_set_number(rules, cfa_key_of(&state), rule);
}

int asm_code_add(const struct asm_code *asm_code, uint32_t start, uint32_t end, bool tracks_reg,
		 struct row_builder *builder, struct rule_set *rules)
{
	size_t i = row_before(asm_code, start);
	uint32_t rule = RULE_FRAME_POINTER, offset;
	int err = row_builder_reserve(builder, 1, end);

	if (err)
		return err;
	if (i == asm_code->row_count || asm_code->rows[i].offset > start)
		row_builder_add(builder, start, rule);
	for (; i < asm_code->row_count && asm_code->rows[i].offset < end && !err; i++) {
		const struct asm_row *row = &asm_code->rows[i];

		offset = row->offset > start ? row->offset : start;
		err = rule_number(asm_code, row, tracks_reg, rules, &rule);
		if (!err)
			err = row_builder_reserve(builder, 1, end);
		if (!err)
			row_builder_add(builder, offset, rule);
	}
	return err;
}
