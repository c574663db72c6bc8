/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk.c - the life of one chunk, and lists of them. */
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
	chunk_reserve_initial_tail(chunk, tail);
	chunk->header.range_start = 1001;
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
	size_t fields = sizeof(header->offset_first_block) +
			sizeof(header->offset_past_last_block) + sizeof(header->start_ns) +
			sizeof(header->done_ns) + sizeof(header->buffer_bytes) +
			sizeof(header->block_count) + sizeof(header->range_start) +
			sizeof(header->process_id) + sizeof(header->state) +
			sizeof(header->stored_bytes) + sizeof(header->flags);

	assert_int_equal(sizeof(struct chunk_header), fields);
}

static void a_new_chunk_is_empty_and_large_enough(void **state)
{
	uint32_t min;

	for (min = 0; min <= 1000; min++) {
		struct chunk *chunk = chunk_create(min);

		assert_non_null(chunk);
		assert_true(chunk->header.buffer_bytes >= (min ? min : 1));
		assert_int_equal(chunk_remaining(chunk), chunk->header.buffer_bytes);
		assert_int_equal(chunk->header.stored_bytes, chunk->header.buffer_bytes);
		assert_false(chunk_is_compressed(chunk));
		assert_int_equal(chunk->header.state, CHUNK_CREATED);
		assert_int_equal(chunk->header.offset_first_block, 0);
		assert_int_equal(chunk->header.offset_past_last_block, 0);
		assert_int_equal(chunk->header.block_count, 0);
		assert_int_equal(chunk->header.process_id, 0);
		assert_int_equal(chunk->header.range_start, 0);
		assert_int_equal(chunk->header.start_ns, 0);
		assert_int_equal(chunk->header.done_ns, 0);
		assert_null(chunk->next);
		assert_ptr_equal(chunk_last(chunk), chunk);
		chunk_destroy(chunk);
	}
}

static void an_initial_tail_moves_both_offsets(void **state)
{
	struct chunk *chunk = chunk_create(100);
	struct chunk_span tail = chunk_reserve_initial_tail(chunk, 10);

	assert_ptr_equal(tail.bytes, chunk->bytes);
	assert_int_equal(tail.size, 10);
	assert_int_equal(chunk->header.offset_first_block, 10);
	assert_int_equal(chunk->header.offset_past_last_block, 10);
	assert_int_equal(chunk->header.block_count, 0);
	assert_int_equal(chunk->header.state, CHUNK_IN_USE);
	assert_true(chunk->header.start_ns > 0);
	finish(chunk);
}

static void a_block_follows_the_tail(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	uint64_t index = 0;
	struct chunk_span block = chunk_reserve_block(chunk, 20, &index);

	assert_ptr_equal(block.bytes, chunk->bytes + 10);
	assert_int_equal(block.size, 20);
	assert_int_equal(index, 1011);
	assert_int_equal(chunk->header.offset_first_block, 10);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->header.block_count, 1);
	assert_int_equal(chunk_remaining(chunk), 70);
	assert_int_equal(chunk->header.state, CHUNK_IN_USE);
	finish(chunk);
}

static void an_overfilling_block_gets_what_remains(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	uint64_t index = 0;
	struct chunk_span block = chunk_reserve_block(chunk, 1000, &index);

	assert_int_equal(block.size, 90);
	assert_int_equal(index, 1011);
	assert_int_equal(chunk->header.offset_past_last_block, 100);
	assert_int_equal(chunk->header.block_count, 1);
	assert_int_equal(chunk_remaining(chunk), 0);
	assert_int_equal(chunk->header.state, CHUNK_FULL);
	finish(chunk);
}

static void an_exactly_fitting_block_fills_the_chunk(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 0);
	uint64_t index = 0;

	assert_int_equal(chunk_reserve_block(chunk, 99, &index).size, 99);
	assert_int_equal(chunk->header.state, CHUNK_IN_USE);
	assert_int_equal(chunk_reserve_block(chunk, 1, &index).size, 1);
	assert_int_equal(index, 1100);
	assert_int_equal(chunk->header.state, CHUNK_FULL);
	assert_int_equal(chunk_range_end(chunk), 1101);
	finish(chunk);
}

static void a_done_chunk_stays_readable(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	uint64_t index;

	*chunk_reserve_block(chunk, 20, &index).bytes = 0x5a;
	chunk_mark_done(chunk);
	assert_int_equal(chunk->header.state, CHUNK_DONE);
	assert_true(chunk->header.done_ns >= chunk->header.start_ns);
	chunk->header.process_id = 42;
	assert_int_equal(chunk->header.process_id, 42);
	assert_int_equal(chunk->header.range_start, 1001);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->bytes[10], 0x5a);
	chunk_destroy(chunk);
}

static void a_recycled_chunk_begins_anew_in_the_same_memory(void **state)
{
	struct chunk *chunk = chunk_in_use(100, 10);
	uint64_t index;

	chunk_reserve_block(chunk, 20, &index);
	chunk_mark_done(chunk);
	chunk_mark_recycled(chunk);
	assert_int_equal(chunk->header.state, CHUNK_RECYCLED);
	assert_int_equal(chunk->header.block_count, 0);
	assert_int_equal(chunk->header.range_start, 0);
	assert_int_equal(chunk->header.done_ns, 0);
	assert_int_equal(chunk->header.buffer_bytes, 100);
	assert_ptr_equal(chunk_reserve_initial_tail(chunk, 0).bytes, chunk->bytes);
	assert_int_equal(chunk->header.offset_first_block, 0);
	assert_int_equal(chunk->header.offset_past_last_block, 0);
	finish(chunk);
}

static void a_created_chunk_may_be_recycled(void **state)
{
	struct chunk *chunk = chunk_create(1);

	chunk_mark_recycled(chunk);
	chunk_mark_recycled(chunk);
	assert_int_equal(chunk->header.state, CHUNK_RECYCLED);
	chunk_destroy(chunk);
	chunk_destroy(NULL);
}

static void reserve_a_block(void *chunk)
{
	uint64_t index;

	chunk_reserve_block(chunk, 1, &index);
}

static void reserve_no_bytes(void *chunk)
{
	uint64_t index;

	chunk_reserve_block(chunk, 0, &index);
}

static void reserve_a_tail(void *chunk)
{
	chunk_reserve_initial_tail(chunk, 0);
}

static void reserve_a_long_tail(void *chunk)
{
	chunk_reserve_initial_tail(chunk, 101);
}

static void mark_done(void *chunk)
{
	chunk_mark_done(chunk);
}

static void mark_recycled(void *chunk)
{
	chunk_mark_recycled(chunk);
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
	assert_dies(reserve_a_long_tail, chunk);
	chunk_reserve_initial_tail(chunk, 0);
	assert_dies(reserve_a_block, chunk); /* range_start is not set */
	chunk->header.range_start = 1;
	assert_dies(reserve_no_bytes, chunk);
	assert_dies(reserve_a_tail, chunk);
	assert_dies(mark_recycled, chunk);
	assert_dies(destroy, chunk);
	assert_dies(shrink, chunk);
	chunk_mark_done(chunk);
	assert_dies(reserve_a_block, chunk);
	assert_dies(reserve_a_tail, chunk);
	assert_dies(mark_done, chunk);
	chunk->header.flags = CHUNK_COMPRESSED;
	assert_dies(mark_recycled, chunk);
	assert_dies(shrink, chunk);
	chunk->header.flags = 0;
	chunk_mark_recycled(chunk);
	assert_dies(reserve_a_block, chunk);
	assert_dies(mark_done, chunk);
	chunk_destroy(chunk);
}

static void a_shrunk_chunk_ends_where_its_last_block_does(void **state)
{
	struct chunk *chunk = chunk_in_use(100000, 10);
	uint64_t index;
	size_t n;

	for (n = 0; n < 20; n++)
		*chunk_reserve_block(chunk, 1, &index).bytes = (uint8_t)n;
	chunk_mark_done(chunk);
	chunk = chunk_shrink(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 30);
	assert_int_equal(chunk->header.stored_bytes, 30);
	assert_int_equal(chunk->header.offset_past_last_block, 30);
	assert_int_equal(chunk->header.block_count, 20);
	assert_int_equal(chunk_range_end(chunk), 1031);
	assert_int_equal(chunk_remaining(chunk), 0);
	for (n = 0; n < 20; n++)
		assert_int_equal(chunk->bytes[10 + n], n);
	chunk_destroy(chunk);
}

static void a_chunk_that_cannot_be_shrunk_stays_as_it_is(void **state)
{
	struct chunk *chunk = chunk_in_use(1000, 10);
	struct chunk *shrunk;

	chunk_mark_done(chunk);
	alloc_fail_at(1);
	shrunk = chunk_shrink(chunk);
	assert_true(alloc_fail_stop());
	assert_ptr_equal(shrunk, chunk);
	assert_int_equal(chunk->header.buffer_bytes, 1000);
	chunk_destroy(chunk);
}

static void an_unused_chunk_shrinks_to_one_byte(void **state)
{
	struct chunk *chunk = chunk_in_use(1000, 0);

	chunk_mark_done(chunk);
	chunk = chunk_shrink(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 1);
	chunk_destroy(chunk);
}

static void lists_are_spliced_joined_and_cut(void **state)
{
	struct chunk *c[5];
	size_t n;

	for (n = 0; n < 5; n++)
		c[n] = chunk_create(1);
	chunk_set_last(c[0], c[3]); /* 0 3 */
	chunk_set_last(c[1], c[2]); /* 1 2 */
	chunk_insert_next(c[0], c[1]); /* 0 1 2 3 */
	chunk_insert_next(c[0], NULL);
	assert_ptr_equal(chunk_join(c[0], c[4]), c[0]);
	assert_ptr_equal(chunk_join(c[0], NULL), c[0]);
	assert_ptr_equal(chunk_join(NULL, c[0]), c[0]);
	assert_null(chunk_join(NULL, NULL));
	for (n = 0; n < 4; n++)
		assert_ptr_equal(c[n]->next, c[n + 1]);
	assert_ptr_equal(chunk_last(c[0]), c[4]);
	for (n = 0; n < 4; n++)
		assert_ptr_equal(chunk_release_next(c[n]), c[n + 1]);
	assert_null(chunk_release_next(c[4]));
	for (n = 0; n < 5; n++) {
		assert_null(c[n]->next);
		chunk_destroy(c[n]);
	}
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
		cmocka_unit_test(a_new_chunk_is_empty_and_large_enough),
		cmocka_unit_test(an_initial_tail_moves_both_offsets),
		cmocka_unit_test(a_block_follows_the_tail),
		cmocka_unit_test(an_overfilling_block_gets_what_remains),
		cmocka_unit_test(an_exactly_fitting_block_fills_the_chunk),
		cmocka_unit_test(a_done_chunk_stays_readable),
		cmocka_unit_test(a_recycled_chunk_begins_anew_in_the_same_memory),
		cmocka_unit_test(a_created_chunk_may_be_recycled),
		cmocka_unit_test(illegal_transitions_are_asserted),
		cmocka_unit_test(a_shrunk_chunk_ends_where_its_last_block_does),
		cmocka_unit_test(a_chunk_that_cannot_be_shrunk_stays_as_it_is),
		cmocka_unit_test(an_unused_chunk_shrinks_to_one_byte),
		cmocka_unit_test(lists_are_spliced_joined_and_cut),
		cmocka_unit_test(no_memory_means_no_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
