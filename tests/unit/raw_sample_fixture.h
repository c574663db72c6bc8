/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_sample_fixture.h - code whose functions have one rule each, stacks written word by word, and what the unwinder
 * makes of them. After cmocka.h.
 *
 *   FN(RSP32)      where the function with that rule begins; each is 16 bytes long
 *   AT(3)          the address of the stack's word 3; RSP is AT(0)
 *   leaf(FN(RSP8), 0);
 *   stack.words[0] = FN(END) + 1;
 *   unwind();
 *   assert_frames(GB_STACK_COMPLETE, 2, (struct unwound_frame[]){{FN(RSP8), AT(1)}, {FN(END) + 1, AT(2)}});
 */
#ifndef GECKOBPF_TESTS_RAW_SAMPLE_FIXTURE_H
#define GECKOBPF_TESTS_RAW_SAMPLE_FIXTURE_H

#include <errno.h>

#include "unwind/raw_sample.h"
#include "unwind/table.h"
#include "unwind/table_store.h"

/* ---- code --------------------------------------------------------------------------------------------- */

enum function {
	/* the first and the last are plain, so that an address beside the code is a function's as well */
	RSP8,
	RSP32,
	RBP16,
	SAVES_RBP,
	FP_IN_RBP,
	LOSES_RBP,
	FP_AT_SP,
	FP_UNREADABLE,
	PLT11,
	PLT10,
	RBP_DEREF,
	RSP_DEREF,
	REG_R10,
	REG_RBP,
	REG_RSP,
	REG_RBX,
	SP_INDEXED,
	SIGNAL,
	END,
	FRAME_POINTER,
	INVALID,
	UNKNOWN,
	VFORK,
	PUSHES_RBX,
	LOSES_RBX,
	HIDES_RBX,
	BELOW,
	EMPTY,
	FAR_LESS,
	FAR_JUST,
	OTHER_STACK,
	PREEMPTS,
	START,
	LAST_RSP8,
	FUNCTION_COUNT
};

static const struct gb_unwind_rule function_rules[FUNCTION_COUNT] = {
	[RSP8] = {.cfa = GB_CFA_SP, .cfa_off = 8},
	[RSP32] = {.cfa = GB_CFA_SP, .cfa_off = 32},
	[RBP16] = {.cfa = GB_CFA_FP, .cfa_off = 16, .fp = GB_FP_CFA, .fp_off = -16},
	[SAVES_RBP] = {.cfa = GB_CFA_SP, .cfa_off = 24, .fp = GB_FP_CFA, .fp_off = -16},
	[FP_IN_RBP] = {.cfa = GB_CFA_SP, .cfa_off = 8, .fp = GB_FP_FP, .fp_off = -8},
	[LOSES_RBP] = {.cfa = GB_CFA_SP, .cfa_off = 8, .fp = GB_FP_UNDEFINED},
	[FP_AT_SP] = {.cfa = GB_CFA_SP, .cfa_off = 24, .fp = GB_FP_SP, .fp_off = 8},
	[FP_UNREADABLE] = {.cfa = GB_CFA_SP, .cfa_off = 8, .fp = GB_FP_CFA, .fp_off = -(1 << 30)},
	[PLT11] = {.cfa = GB_CFA_PLT11},
	[PLT10] = {.cfa = GB_CFA_PLT10},
	[RBP_DEREF] = {.cfa = GB_CFA_FP_DEREF, .cfa_off = -8, .cfa_add = -16, .fp = GB_FP_FP},
	[RSP_DEREF] = {.cfa = GB_CFA_SP_DEREF, .cfa_off = 16, .cfa_add = 24},
	[REG_R10] = {.cfa = GB_CFA_REG, .reg = GB_REG_R10, .cfa_off = 8},
	[REG_RBP] = {.cfa = GB_CFA_REG, .reg = GB_REG_RBP, .cfa_off = 8},
	[REG_RSP] = {.cfa = GB_CFA_REG, .reg = GB_REG_RSP, .cfa_off = 8},
	[REG_RBX] = {.cfa = GB_CFA_REG, .reg = GB_REG_RBX, .cfa_off = 16},
	[SP_INDEXED] = {.cfa = GB_CFA_SP_INDEXED, .reg = GB_REG_R9, .cfa_off = 8, .cfa_add = 16},
	[SIGNAL] = {.cfa = GB_CFA_SIGNAL},
	[END] = {.cfa = GB_CFA_END},
	[START] = {.cfa = GB_CFA_END, .ra = GB_RA_INTERRUPTED},
	[FRAME_POINTER] = {.cfa = GB_CFA_FRAME_POINTER},
	[INVALID] = {.cfa = GB_CFA_INVALID},
	[UNKNOWN] = {.cfa = 200},
	[VFORK] = {.cfa = GB_CFA_SP, .ra = GB_RA_REG, .reg = GB_REG_RDI << 4},
	[PUSHES_RBX] = {.cfa = GB_CFA_SP, .cfa_off = 16, .tracked_off = -16},
	[LOSES_RBX] = {.cfa = GB_CFA_SP, .cfa_off = 8, .tracked_off = -32000},
	[HIDES_RBX] = {.cfa = GB_CFA_SP, .cfa_off = 8, .tracked_off = GB_TRACKED_LOST},
	[BELOW] = {.cfa = GB_CFA_SP, .cfa_off = -8},
	[EMPTY] = {.cfa = GB_CFA_SP, .cfa_off = 0},
	[FAR_LESS] = {.cfa = GB_CFA_SP, .cfa_off = 8 * ((int32_t)GB_FRAME_FAR - 1)},
	[FAR_JUST] = {.cfa = GB_CFA_SP, .cfa_off = 8 * (int32_t)GB_FRAME_FAR},
	[OTHER_STACK] = {.cfa = GB_CFA_FP,
			 .cfa_off = 16,
			 .fp = GB_FP_CFA,
			 .fp_off = -16,
			 .ra = GB_RA_OTHER_STACK},
	[PREEMPTS] = {.cfa = GB_CFA_SP, .cfa_off = 8, .ra = GB_RA_INTERRUPTED},
	[LAST_RSP8] = {.cfa = GB_CFA_SP, .cfa_off = 8},
};

/* The same file three times: as it is, with RBX tracked, and behind it code without a table. */
#define CODE 0x555500000000ULL
#define TRACKED 0x555500100000ULL
#define JIT 0x7f0000000000ULL
#define PAGE 4096ULL
#define FN(function) (CODE + 16 * (uint64_t)(function))
#define TRACKED_FN(function) (TRACKED + 16 * (uint64_t)(function))
#define FIRST_PAGE 3 /* of the file's virtual addresses */

static struct gb_mapping mappings[] = {
	{.begin = CODE, .end = CODE + 2 * PAGE, .bias = CODE - FIRST_PAGE * PAGE},
	{.begin = TRACKED,
	 .end = TRACKED + PAGE,
	 .bias = TRACKED - FIRST_PAGE * PAGE,
	 .flags = GB_MAPPING_TRACKS_REG},
	{.begin = JIT, .end = JIT + PAGE, .flags = GB_MAPPING_NO_TABLE},
};
#define MAPPING_COUNT (sizeof(mappings) / sizeof(mappings[0]))

static struct table_store *code_store;
static struct stored_table *code_table;
static struct gb_page *store_pages;
static struct gb_unwind_rule *store_rules;
static struct gb_chunk *store_chunks;

static inline int give_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	*chunks = store_chunks;
	return index ? -ENOSPC : 0;
}

/* One page of functions; the mapping's second page is not in the table. */
static inline int setup_code(void **state)
{
	struct unwind_page page = {.count = FUNCTION_COUNT};
	uint32_t rows[FUNCTION_COUNT], i;
	const struct unwind_table table = {.first_page = FIRST_PAGE,
					   .page_count = 1,
					   .row_count = FUNCTION_COUNT,
					   .rule_count = FUNCTION_COUNT,
					   .pages = &page,
					   .rows = rows,
					   .rules = (struct gb_unwind_rule *)function_rules};
	struct unwind_memory memory = {.add_pool = give_pool, .max_pools = 1};

	for (i = 0; i < FUNCTION_COUNT; i++)
		rows[i] = i << UNWIND_PAGE_BITS | 16 * i;
	memory.pages = store_pages = calloc(GB_MAX_PAGES, sizeof(*store_pages));
	memory.rules = store_rules = calloc(GB_MAX_RULES, sizeof(*store_rules));
	store_chunks = calloc(GB_POOL_CHUNKS, sizeof(*store_chunks));
	if (!store_pages || !store_rules || !store_chunks ||
	    table_store_open(&code_store, &memory) ||
	    table_store_add(code_store, &table, 1, &code_table))
		return -1;
	for (i = 0; i < 2; i++)
		mappings[i].page_offset = stored_page_offset(code_table);
	return 0;
}

static inline int teardown_code(void **state)
{
	table_store_remove(code_store, code_table, 1);
	table_store_close(code_store);
	free(store_pages);
	free(store_rules);
	free(store_chunks);
	return 0;
}

/* ---- stacks -------------------------------------------------------------------------------------------------- */

#define SP 0x7ffc12340000ULL
#define AT(word) (SP + 8 * (uint64_t)(word))
#define MAX_STACK_WORDS (140 * 1024)
#define GARBAGE 0x6b6b6b6b6b6b6b6bULL /* in registers and on the stack where nothing was written */

static struct {
	uint64_t regs[GB_RAW_REGS];
	uint64_t words[MAX_STACK_WORDS];
	size_t count;
	size_t mapping_count;
} stack;

static struct {
	uint64_t words[GB_MAX_USER_WORDS];
	uint32_t count;
	uint8_t end;
	int awaited; /* which of the mappings; -1: none */
} walk;

/* A stack of `count` words, in a function that has RBP at hand. */
static inline void leaf(uint64_t pc, uint64_t rbp)
{
	size_t i;

	for (i = 0; i < GB_RAW_REGS; i++)
		stack.regs[i] = GARBAGE;
	for (i = 0; i < 128; i++)
		stack.words[i] = GARBAGE;
	stack.count = 128;
	stack.mapping_count = MAPPING_COUNT;
	stack.regs[GB_REG_RIP] = pc;
	stack.regs[GB_REG_RSP] = SP;
	stack.regs[GB_REG_RBP] = rbp;
}

/* The copy of the stack is exactly as long as it says: a read beyond is found. */
static inline void unwind(void)
{
	uint64_t *exact = malloc(stack.count * sizeof(*exact) + !stack.count);
	const struct raw_sample sample = {stack.regs, exact, stack.count, mappings,
					  stack.mapping_count};
	const struct gb_mapping *awaited;

	assert_non_null(exact);
	memcpy(exact, stack.words, stack.count * sizeof(*exact));
	memset(&walk, 0xee, sizeof(walk));
	walk.count = raw_sample_unwind(code_store, &sample, walk.words, &walk.end, &awaited);
	walk.awaited = awaited ? (int)(awaited - mappings) : -1;
	free(exact);
}

/* ---- what came of them ----------------------------------------------------------------------------------------- */

/* What is not said of a frame is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct unwound_frame {
	uint64_t pc, cfa;
	uint64_t how; /* enum gb_frame_how */
};

/* Reads the frame at word `at`, whose RSP is *sp, which becomes its caller's. Returns where the next one is. */
static inline uint32_t decode(uint32_t at, uint64_t *sp, struct unwound_frame *frame)
{
	uint64_t word = walk.words[at++], size = GB_FRAME_SIZE(word);

	frame->pc = GB_FRAME_PC(word);
	frame->how = GB_FRAME_HOW(word);
	if (size == GB_FRAME_FAR) {
		assert_true(at < walk.count);
		frame->cfa = walk.words[at++];
	} else {
		frame->cfa = *sp + 8 * size;
	}
	*sp = frame->cfa;
	return at;
}

/* These frames, no others, and that end. */
static inline void assert_frames(uint8_t end, size_t count, const struct unwound_frame *expected)
{
	uint64_t sp = stack.regs[GB_REG_RSP];
	struct unwound_frame frame;
	uint32_t at = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		assert_true(at < walk.count);
		at = decode(at, &sp, &frame);
		assert_int_equal(frame.pc, expected[i].pc);
		assert_int_equal(frame.cfa, expected[i].cfa);
		assert_int_equal(frame.how,
				 i || expected[i].how ? expected[i].how : GB_FRAME_HOW_LEAF);
	}
	assert_int_equal(at, walk.count);
	assert_int_equal(walk.end, end);
	if (walk.count < GB_MAX_USER_WORDS)
		assert_true(walk.words[walk.count] == 0xeeeeeeeeeeeeeeee);
}

/* For the third member. */
#define SIGNALLED GB_FRAME_HOW_SIGNAL
#define INTERRUPTED GB_FRAME_HOW_INTERRUPTED

#define FRAMES(...)                                                                                \
	sizeof((struct unwound_frame[]){__VA_ARGS__}) / sizeof(struct unwound_frame),              \
		(struct unwound_frame[])                                                           \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#endif
