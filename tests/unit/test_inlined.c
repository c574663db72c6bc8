/* SPDX-License-Identifier: BSD-2-Clause */
/* A function with others inlined into it is as many frames of a stack, whoever knows of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buffer/profile_buffer.h"
#include "profile/frames.h"
#include "profile/redaction.h"
#include "profile/stacks.h"
#include "symbol/symbols.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

/* ---- who knows: this file instead of symbols.c ----------------------------------------------- */

/* At 0x10: inner, inlined into middle, into outer; at 0x20: middle and outer; at 0x30: outer. */
static const struct symbol_frame chain[] = {
	{.name = "inner", .file = "a.h", .line = 3, .column = 7},
	{.name = "middle", .file = "a.c", .line = 20},
	{.name = "outer", .file = "/src/b.c", .line = 100},
};

int symbols_open(struct symbols **out, const struct symbol_sources *sources)
{
	*out = NULL;
	return 0;
}

void symbols_close(struct symbols *symbols)
{
}

struct symbol_place symbols_place(const struct process *process, uint64_t address, uint64_t time_ns)
{
	return (struct symbol_place){.process = process, .address = address, .time_ns = time_ns};
}

int symbols_lookup(struct symbols *symbols, const struct symbol_place *place,
		   struct symbol_frames *frames)
{
	size_t skipped = place->address / 0x10 - 1;

	frames->count = 3 - skipped;
	memcpy(frames->items, chain + skipped, frames->count * sizeof(*chain));
	return 0;
}

/* ---- what becomes of it ------------------------------------------------------------------------ */

struct room {
	struct process process;
	struct frames *frames;
	struct stacks *stacks;
};

static int open_redacted(struct room *room, struct redaction *redaction)
{
	const struct stacks_limits limits = {0};
	struct frames_source source = {.symbols = (struct symbols *)room, .redaction = redaction};
	int err;

	memset(room, 0, sizeof(*room));
	source.process = &room->process;
	err = frames_open(&room->frames, &source);
	return err ? err : stacks_open(&room->stacks, room->frames, &limits);
}

static int open_room(struct room *room)
{
	return open_redacted(room, NULL);
}

static void close_room(struct room *room)
{
	stacks_close(room->stacks);
	frames_close(room->frames);
}

static int add_node(struct room *room, uint32_t number, uint32_t prefix, uint64_t address)
{
	const struct frame frame = {.value = address};

	return stacks_add_node(room->stacks, number, prefix, &frame);
}

static void expect_frame(const struct room *room, uint32_t *stack, const struct symbol_frame *known,
			 unsigned int depth)
{
	const struct profile_function *function;
	const struct profile_frame *frame;

	assert_int_not_equal(*stack, STACKS_NONE);
	frame = frames_at(room->frames, stacks_at(room->stacks, *stack).frame);
	function = frames_function(room->frames, frame->function);
	assert_string_equal(function->name, known->name);
	assert_string_equal(function->file, known->file);
	assert_int_equal(frame->line, known->line);
	assert_int_equal(frame->column, known->column);
	assert_int_equal(frame->inline_depth, depth);
	assert_int_equal(frame->inlined_into == FRAME_NONE, !depth);
	*stack = stacks_at(room->stacks, *stack).prefix;
}

/* A caller at 0x21, which is the call at 0x20, and a leaf at 0x10. */
static int find(struct room *room, uint32_t *stack)
{
	int err = add_node(room, 0, STACK_NODE_NONE, 0x21);

	if (!err)
		err = add_node(room, 1, 0, 0x10);
	return err ? err : stacks_find(room->stacks, 1, 1, true, stack);
}

static void a_stack_has_them_all(void **state)
{
	struct room room;
	uint32_t stack, leaf;
	const uint64_t *samples;
	size_t count, i;

	assert_int_equal(open_room(&room), 0);
	assert_int_equal(find(&room, &stack), 0);
	leaf = stacks_at(room.stacks, stack).frame;
	expect_frame(&room, &stack, &chain[0], 2);
	expect_frame(&room, &stack, &chain[1], 1);
	expect_frame(&room, &stack, &chain[2], 0);
	expect_frame(&room, &stack, &chain[1], 1);
	expect_frame(&room, &stack, &chain[2], 0);
	assert_int_equal(stack, STACKS_NONE);
	/* The same function is the same frame where as much of it is known; and once a function. */
	assert_int_equal(frames_count(room.frames), 3);
	for (i = 0; i < 3; i++)
		assert_in_range(frames_at(room.frames, (uint32_t)i)->function, 0, 2);
	/* The innermost is who ran. */
	samples = stacks_self_samples(room.stacks, &count);
	for (i = 0; i < count; i++)
		assert_int_equal(samples[i], i == leaf);
	close_room(&room);
}

static void the_function_itself_is_one_frame(void **state)
{
	struct room room;
	uint32_t stack;

	assert_int_equal(open_room(&room), 0);
	assert_int_equal(add_node(&room, 0, STACK_NODE_NONE, 0x30), 0);
	assert_int_equal(stacks_find(room.stacks, 0, 1, true, &stack), 0);
	expect_frame(&room, &stack, &chain[2], 0);
	assert_int_equal(stack, STACKS_NONE);
	close_room(&room);
}

static void directories_of_sources_are_left_out(void **state)
{
	const struct symbol_frame outer = {.name = "outer", .file = "b.c", .line = 100};
	struct redaction redaction = {0};
	struct room room;
	uint32_t stack;

	assert_int_equal(open_redacted(&room, &redaction), 0);
	assert_int_equal(add_node(&room, 0, STACK_NODE_NONE, 0x30), 0);
	assert_int_equal(stacks_find(room.stacks, 0, 1, true, &stack), 0);
	expect_frame(&room, &stack, &outer, 0);
	assert_int_equal(redaction.counts[REDACTED_SOURCES], 1);
	close_room(&room);
}

static int attempt(void *context)
{
	struct room room;
	uint32_t stack;
	int err = open_room(&room);

	if (!err)
		err = find(&room, &stack);
	close_room(&room);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_them_all),
		cmocka_unit_test(the_function_itself_is_one_frame),
		cmocka_unit_test(directories_of_sources_are_left_out),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
