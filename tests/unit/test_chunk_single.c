/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_single.c - the manager that has one chunk. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager_single.h"

#define CHUNK 1000

static void never(void *context, const struct chunk *chunk)
{
	fail();
}

static struct chunk_manager *single(void)
{
	struct chunk_manager *manager = NULL;

	assert_int_equal(chunk_manager_single_open(&manager, CHUNK), 0);
	chunk_manager_set_witness(manager, (struct chunk_witness){never, NULL});
	return manager;
}

static struct chunk *get(struct chunk_manager *manager)
{
	struct chunk *chunk = NULL;

	assert_int_equal(chunk_manager_get(manager, 1, &chunk), 0);
	return chunk;
}

static struct chunk *filled(struct chunk *chunk)
{
	uint64_t index;

	chunk_reserve_initial_tail(chunk, 0);
	chunk->header.range_start = 1;
	chunk_reserve_block(chunk, chunk->header.buffer_bytes, &index);
	chunk_mark_done(chunk);
	return chunk;
}

static void assert_empty(struct chunk_manager *manager)
{
	struct chunk *chunk = (struct chunk *)manager;

	assert_int_equal(chunk_manager_get(manager, 1, &chunk), -ENOSPC);
	assert_ptr_equal(chunk, manager);
}

static void it_is_at_least_as_large_as_asked(void **state)
{
	struct chunk_manager *manager = single();

	assert_true(chunk_manager_is_single(manager));
	assert_true(manager->max_bytes >= CHUNK);
	assert_int_equal(manager->max_block_bytes, manager->max_bytes);
	assert_null(chunk_manager_peek(manager));
	chunk_manager_release(manager, NULL);
	chunk_manager_close(manager);
}

static void the_chunk_is_lent_once(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = get(manager);

	assert_true(chunk->header.buffer_bytes >= CHUNK);
	assert_empty(manager);
	chunk_manager_release(manager, filled(chunk));
	assert_empty(manager);
	assert_int_equal(manager->max_bytes, CHUNK);
	chunk_manager_close(manager);
}

static void a_chunk_that_is_too_small_is_not_lent(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = NULL;

	assert_int_equal(chunk_manager_get(manager, CHUNK + 1, &chunk), -ENOSPC);
	assert_int_equal(chunk_manager_get(manager, CHUNK, &chunk), 0);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void the_released_chunk_is_handed_out_once(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = get(manager);

	chunk_manager_release(manager, filled(chunk));
	assert_ptr_equal(chunk_manager_peek(manager), chunk);
	assert_ptr_equal(chunk_manager_take_released(manager), chunk);
	assert_null(chunk_manager_take_released(manager));
	assert_null(chunk_manager_peek(manager));
	assert_empty(manager);
	chunk_manager_single_reset(manager, chunk);
	assert_ptr_equal(get(manager), chunk);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void nothing_is_ever_destroyed(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = get(manager);

	chunk_manager_release(manager, filled(chunk));
	chunk_manager_destroy_at_or_before(manager, UINT64_MAX);
	assert_ptr_equal(chunk_manager_peek(manager), chunk);
	assert_int_equal(chunk_manager_get_stats(manager).destroyed, 0);
	chunk_manager_close(manager);
}

static void reset_gives_the_same_chunk_again_emptied(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = get(manager);

	chunk_manager_release(manager, filled(chunk));
	chunk_manager_single_reset(manager, NULL);
	assert_null(chunk_manager_peek(manager));
	assert_int_equal(manager->max_bytes, CHUNK);
	assert_ptr_equal(get(manager), chunk);
	assert_int_equal(chunk->header.state, CHUNK_RECYCLED);
	assert_int_equal(chunk->header.range_start, 0);
	assert_int_equal(chunk->header.block_count, 0);
	assert_int_equal(chunk->header.offset_past_last_block, 0);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_single_reset(manager, NULL); /* when it was not lent, too */
	assert_ptr_equal(get(manager), chunk);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void reset_with_a_smaller_chunk_changes_the_size(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *foreign = filled(chunk_create(CHUNK / 2));

	chunk_manager_release(manager, filled(get(manager)));
	chunk_manager_single_reset(manager, foreign);
	assert_int_equal(manager->max_bytes, CHUNK / 2);
	assert_int_equal(manager->max_block_bytes, CHUNK / 2);
	assert_null(chunk_manager_peek(manager));
	assert_ptr_equal(get(manager), foreign);
	assert_int_equal(foreign->header.state, CHUNK_RECYCLED);
	assert_int_equal(chunk_manager_get_stats(manager).unreleased_bytes, CHUNK / 2);
	chunk_manager_give_back(manager, foreign);
	chunk_manager_close(manager);
}

static void keep_chunk(void *context, struct chunk *chunk)
{
	*(struct chunk **)context = chunk;
}

static void requests_are_answered_at_once(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = NULL, *second = (struct chunk *)manager;

	chunk_manager_request(manager, &(struct chunk_receiver){keep_chunk, &chunk});
	assert_non_null(chunk);
	chunk_manager_request(manager, &(struct chunk_receiver){keep_chunk, &second});
	assert_null(second);
	second = (struct chunk *)manager;
	chunk_manager_fulfil(manager);
	chunk_manager_request(manager, NULL);
	assert_ptr_equal(second, manager);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void forget_lends_nothing(void **state)
{
	struct chunk_manager *manager = single();
	struct chunk *chunk = get(manager);

	chunk_manager_forget(manager);
	assert_empty(manager);
	assert_null(chunk_manager_peek(manager));
	assert_int_equal(manager->max_bytes, CHUNK);
	assert_ptr_equal(chunk_manager_shrink(manager, filled(chunk)), chunk);
	assert_int_equal(chunk->header.buffer_bytes, CHUNK);
	chunk_destroy(chunk);
	chunk_manager_close(manager);
}

static int open_and_close(void *context)
{
	struct chunk_manager *manager = NULL;
	int err = chunk_manager_single_open(&manager, CHUNK);

	chunk_manager_close(manager);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_at_least_as_large_as_asked),
		cmocka_unit_test(the_chunk_is_lent_once),
		cmocka_unit_test(a_chunk_that_is_too_small_is_not_lent),
		cmocka_unit_test(the_released_chunk_is_handed_out_once),
		cmocka_unit_test(nothing_is_ever_destroyed),
		cmocka_unit_test(reset_gives_the_same_chunk_again_emptied),
		cmocka_unit_test(reset_with_a_smaller_chunk_changes_the_size),
		cmocka_unit_test(requests_are_answered_at_once),
		cmocka_unit_test(forget_lends_nothing),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
