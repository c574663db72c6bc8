/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk.c - the life of one chunk. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/chunk.h"
#include "dies.h"

static struct chunk *chunk_in_use(uint32_t bytes, uint32_t tail)
{
	struct chunk *chunk = chunk_create(bytes);

	assert_non_null(chunk);
	chunk_begin(chunk, 1001, tail);
	return chunk;
}

static void finish(struct chunk *chunk)
{
	chunk_mark_done(chunk);
	chunk_destroy(chunk);
}

static void header_has_no_padding(void **state)
{
	const struct chunk_header *header = NULL;
	size_t fields =
		sizeof(header->offset_first_block) + sizeof(header->offset_past_last_block) +
		sizeof(header->start_ns) + sizeof(header->done_ns) + sizeof(header->buffer_bytes) +
		sizeof(header->block_count) + sizeof(header->other_count) +
		sizeof(header->range_start) + sizeof(header->process_id) + sizeof(header->state) +
		sizeof(header->stored_bytes) + sizeof(header->flags);

	assert_int_equal(sizeof(struct chunk_header), fields);
}

static void assert_empty(const struct chunk *chunk, uint32_t bytes)
{
	const struct chunk_header empty = {
		.buffer_bytes = bytes, .stored_bytes = bytes, .state = CHUNK_EMPTY};

	assert_memory_equal(&chunk->header, &empty, sizeof(empty));
	assert_int_equal(chunk_remaining(chunk), bytes);
	assert_false(chunk_is_compressed(chunk));
}

static void a_new_chunk_is_empty(void **state)
{
	uint32_t bytes;

	for (bytes = 1; bytes <= 1000; bytes++) {
		struct chunk *chunk = chunk_create(bytes);

		assert_non_null(chunk);
		assert_empty(chunk, bytes);
		assert_null(chunk->owner);
		assert_int_equal(chunk->loan, CHUNK_LOAN_NONE);
		chunk_destroy(chunk);
	}
	chunk_destroy(NULL);
}

static void an_initial_tail_moves_both_offsets(void **state)
{
	struct chunk *chunk = chunk_create(100);
	struct chunk_span tail = chunk_begin(chunk, 77, 10);

	assert_ptr_equal(tail.bytes, chunk->bytes);
	assert_int_equal(tail.size, 10);
	assert_int_equal(chunk->header.range_start, 77);
	assert_int_equal(chunk->header.offset_first_block, 10);
	assert_int_equal(chunk->header.offset_past_last_block, 10);
	assert_int_equal(chunk->header.block_count, 0);
	assert_int_equal(chunk->header.state, CHUNK_IN_USE);
	assert_true(chunk->header.start_ns > 0);
	finish(chunk);
}

static void a_tail_may_fill_the_chunk(void **state)
{
	struct chunk *chunk = chunk_create(100);

	assert_int_equal(chunk_begin(chunk, 1, 100).size, 100);
	assert_int_equal(chunk_remaining(chunk), 0);
	finish(chunk);
}

static void a_block_follows_the_tail(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	struct chunk_span block = chunk_reserve_block(chunk, 20);

	assert_ptr_equal(block.bytes, chunk->bytes + 10);
	assert_int_equal(block.size, 20);
	assert_int_equal(chunk->header.offset_first_block, 10);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->header.block_count, 1);
	assert_int_equal(chunk_remaining(chunk), 70);
	finish(chunk);
}

static void an_overfilling_block_gets_what_remains(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	struct chunk_span block = chunk_reserve_block(chunk, 1000);

	assert_ptr_equal(block.bytes, chunk->bytes + 10);
	assert_int_equal(block.size, 90);
	assert_int_equal(chunk->header.offset_past_last_block, 100);
	assert_int_equal(chunk->header.block_count, 1);
	assert_int_equal(chunk_remaining(chunk), 0);
	finish(chunk);
}

static void an_exactly_fitting_block_fills_the_chunk(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 0);

	assert_int_equal(chunk_reserve_block(chunk, 99).size, 99);
	assert_int_equal(chunk_remaining(chunk), 1);
	assert_int_equal(chunk_reserve_block(chunk, 1).size, 1);
	assert_int_equal(chunk_remaining(chunk), 0);
	assert_int_equal(chunk_range_end(chunk), 1101);
	finish(chunk);
}

static void a_done_chunk_stays_readable(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);

	*chunk_reserve_block(chunk, 20).bytes = 0x5a;
	chunk->header.process_id = 42;
	chunk_mark_done(chunk);
	assert_int_equal(chunk->header.state, CHUNK_DONE);
	assert_true(chunk->header.done_ns >= chunk->header.start_ns);
	assert_int_equal(chunk->header.process_id, 42);
	assert_int_equal(chunk->header.range_start, 1001);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->bytes[10], 0x5a);
	chunk_destroy(chunk);
}

static void a_recycled_chunk_begins_anew_in_the_same_memory(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);

	chunk_reserve_block(chunk, 20);
	chunk->header.process_id = 42;
	chunk_mark_done(chunk);
	chunk_recycle(chunk);
	assert_empty(chunk, 100);
	assert_ptr_equal(chunk_begin(chunk, 5, 0).bytes, chunk->bytes);
	assert_int_equal(chunk->header.offset_first_block, 0);
	assert_int_equal(chunk->header.offset_past_last_block, 0);
	chunk_recycle(chunk); /* in use, and empty */
	chunk_recycle(chunk);
	assert_empty(chunk, 100);
	chunk_destroy(chunk);
}

static void reserve_a_block(void *chunk)
{
	chunk_reserve_block(chunk, 1);
}

static void reserve_no_bytes(void *chunk)
{
	chunk_reserve_block(chunk, 0);
}

static void begin(void *chunk)
{
	chunk_begin(chunk, 1, 0);
}

static void begin_nowhere(void *chunk)
{
	chunk_begin(chunk, 0, 0);
}

static void begin_with_a_long_tail(void *chunk)
{
	chunk_begin(chunk, 1, 101);
}

static void mark_done(void *chunk)
{
	chunk_mark_done(chunk);
}

static void recycle(void *chunk)
{
	chunk_recycle(chunk);
}

static void destroy(void *chunk)
{
	chunk_destroy(chunk);
}

static void shrink(void *chunk)
{
	chunk_shrink(chunk);
}

static void illegal_transitions_are_asserted(void **state)
{
	struct chunk *chunk = chunk_create(100);

	assert_dies(mark_done, chunk);
	assert_dies(reserve_a_block, chunk);
	assert_dies(shrink, chunk);
	assert_dies(begin_with_a_long_tail, chunk);
	assert_dies(begin_nowhere, chunk);
	chunk_begin(chunk, 1, 0);
	assert_dies(reserve_no_bytes, chunk);
	assert_dies(begin, chunk);
	assert_dies(destroy, chunk);
	assert_dies(shrink, chunk); /* to nothing */
	chunk_reserve_block(chunk, 100);
	assert_dies(reserve_a_block, chunk); /* it is full */
	chunk_mark_done(chunk);
	assert_dies(reserve_a_block, chunk);
	assert_dies(begin, chunk);
	assert_dies(mark_done, chunk);
	assert_dies(shrink, chunk);
	chunk->header.flags = CHUNK_COMPRESSED;
	assert_dies(recycle, chunk);
	chunk->header.flags = 0;
	chunk_recycle(chunk);
	assert_dies(reserve_a_block, chunk);
	assert_dies(mark_done, chunk);
	chunk_destroy(chunk);
}

static void a_shrunk_chunk_ends_where_its_last_block_does(void **state)
{
	struct chunk *chunk = chunk_in_use(100000, 10);
	size_t n;

	for (n = 0; n < 20; n++)
		*chunk_reserve_block(chunk, 1).bytes = (uint8_t)n;
	chunk = chunk_shrink(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 30);
	assert_int_equal(chunk->header.stored_bytes, 30);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->header.block_count, 20);
	assert_int_equal(chunk_range_end(chunk), 1031);
	assert_int_equal(chunk_remaining(chunk), 0);
	for (n = 0; n < 20; n++)
		assert_int_equal(chunk->bytes[10 + n], n);
	finish(chunk);
}

static void a_chunk_that_cannot_be_shrunk_stays_as_it_is(void **state)
{
	struct chunk *chunk = chunk_in_use(1000, 10);
	struct chunk *shrunk;

	alloc_fail_at(1);
	shrunk = chunk_shrink(chunk);
	assert_true(alloc_fail_stop());
	assert_ptr_equal(shrunk, chunk);
	assert_int_equal(chunk->header.buffer_bytes, 1000);
	finish(chunk);
}

static void no_memory_means_no_chunk(void **state)
{
	alloc_fail_at(1);
	assert_null(chunk_create(100));
	assert_true(alloc_fail_stop());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_has_no_padding),
		cmocka_unit_test(a_new_chunk_is_empty),
		cmocka_unit_test(an_initial_tail_moves_both_offsets),
		cmocka_unit_test(a_tail_may_fill_the_chunk),
		cmocka_unit_test(a_block_follows_the_tail),
		cmocka_unit_test(an_overfilling_block_gets_what_remains),
		cmocka_unit_test(an_exactly_fitting_block_fills_the_chunk),
		cmocka_unit_test(a_done_chunk_stays_readable),
		cmocka_unit_test(a_recycled_chunk_begins_anew_in_the_same_memory),
		cmocka_unit_test(illegal_transitions_are_asserted),
		cmocka_unit_test(a_shrunk_chunk_ends_where_its_last_block_does),
		cmocka_unit_test(a_chunk_that_cannot_be_shrunk_stays_as_it_is),
		cmocka_unit_test(no_memory_means_no_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
