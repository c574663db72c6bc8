/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_requests.c - chunks asked for in advance, and how large they are. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "limit.h"

/* ---- requests ---------------------------------------------------------------- */

struct receiver {
	struct chunk_manager *manager;
	struct chunk *chunk;
	size_t ran;
	size_t ran_inner;
};

static void on_inner_chunk(void *context, struct chunk *chunk)
{
	struct receiver *receiver = context;

	receiver->ran_inner++;
	chunk_manager_give_back(receiver->manager, chunk);
}

static void on_chunk(void *context, struct chunk *chunk)
{
	struct receiver *receiver = context;

	receiver->ran++;
	receiver->chunk = chunk;
}

/* Gets another one, and asks for yet another. */
static void on_outer_chunk(void *context, struct chunk *chunk)
{
	struct receiver *receiver = context;
	const struct chunk_receiver inner = {on_inner_chunk, receiver};

	receiver->ran++;
	chunk_manager_give_back(receiver->manager, chunk);
	chunk_manager_give_back(receiver->manager, get(receiver->manager));
	chunk_manager_request(receiver->manager, &inner);
	assert_int_equal(receiver->ran_inner, 0);
}

static void a_request_is_served_by_fulfil_and_never_before(void **state)
{
	struct chunk_manager *manager = manager_of(1000, NULL);
	struct receiver mine = {0}, late = {0};

	chunk_manager_fulfil(manager);
	chunk_manager_request(manager, &(struct chunk_receiver){on_chunk, &mine});
	chunk_manager_request(manager, &(struct chunk_receiver){on_chunk, &late});
	assert_int_equal(mine.ran, 0);
	assert_bytes(manager, 0, 0);
	chunk_manager_fulfil(manager);
	assert_int_equal(mine.ran, 1);
	assert_non_null(mine.chunk);
	assert_bytes(manager, CHUNK, 0);
	/* The second one was ignored. */
	chunk_manager_fulfil(manager);
	assert_int_equal(mine.ran + late.ran, 1);
	chunk_manager_give_back(manager, mine.chunk);
	chunk_manager_close(manager);
}

static void a_request_can_be_taken_back(void **state)
{
	struct chunk_manager *manager = manager_of(1000, NULL);
	struct receiver mine = {0};

	chunk_manager_request(manager, &(struct chunk_receiver){on_chunk, &mine});
	chunk_manager_request(manager, NULL);
	chunk_manager_fulfil(manager);
	assert_int_equal(mine.ran, 0);
	chunk_manager_close(manager);
}

/* W6: theirs asks a second time whether the outer one ran. */
static void w6_a_request_made_while_one_is_served_is_for_the_next_time(void **state)
{
	struct chunk_manager *manager = manager_of(1000, NULL);
	struct receiver receiver = {.manager = manager};

	chunk_manager_request(manager, &(struct chunk_receiver){on_outer_chunk, &receiver});
	chunk_manager_fulfil(manager);
	assert_int_equal(receiver.ran, 1);
	assert_int_equal(receiver.ran_inner, 0);
	chunk_manager_fulfil(manager);
	assert_int_equal(receiver.ran, 1);
	assert_int_equal(receiver.ran_inner, 1);
	chunk_manager_fulfil(manager);
	assert_int_equal(receiver.ran_inner, 1);
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
}

static void without_memory_a_request_is_answered_with_nothing(void **state)
{
	struct chunk_manager *manager = manager_of(1000, NULL);
	struct receiver mine = {.chunk = (struct chunk *)manager};

	chunk_manager_request(manager, &(struct chunk_receiver){on_chunk, &mine});
	alloc_fail_at(1);
	chunk_manager_fulfil(manager);
	assert_true(alloc_fail_stop());
	assert_int_equal(mine.ran, 1);
	assert_null(mine.chunk);
	chunk_manager_close(manager);
}

/* ---- sizes ------------------------------------------------------------------- */

static void each_chunk_is_double_the_one_before_up_to_a_maximum(void **state)
{
	static const uint32_t wanted[] = {1024, 2048, 4096, 8192, 8192, 8192};
	struct chunk_manager *manager = manager_of_sizes(1 << 20, 1024, 8192);
	struct chunk *chunk, *all = NULL;
	size_t n;

	for (n = 0; n < 6; n++) {
		chunk = get(manager);
		assert_int_equal(chunk->header.buffer_bytes, wanted[n]);
		all = chunk_join(chunk, all);
	}
	chunk_manager_give_back(manager, all);
	chunk_manager_close(manager);
}

static void a_chunk_is_at_least_as_large_as_asked(void **state)
{
	struct chunk_manager *manager = manager_of_sizes(1 << 20, 1024, 8192);
	struct chunk *large = NULL, *next;

	assert_int_equal(chunk_manager_get(manager, 50000, &large), 0);
	assert_int_equal(large->header.buffer_bytes, 50000);
	assert_bytes(manager, 50000, 0);
	next = get(manager);
	assert_int_equal(next->header.buffer_bytes, 2048);
	chunk_manager_give_back(manager, next);
	chunk_manager_give_back(manager, large); /* above the maximum: not kept */
	assert_bytes(manager, 0, 0);
	next = get(manager);
	assert_int_equal(next->header.buffer_bytes, 4096);
	chunk_manager_give_back(manager, next);
	chunk_manager_close(manager);
}

static void kept_chunks_are_used_again_when_they_are_large_enough(void **state)
{
	struct chunk_manager *manager = manager_of_sizes(1 << 20, 1024, 8192);
	struct chunk *small = get(manager), *middle = get(manager), *large;

	chunk_manager_give_back(manager, small); /* 1024 */
	chunk_manager_give_back(manager, middle); /* 2048 */
	large = get(manager); /* wants 4096 */
	assert_int_equal(large->header.buffer_bytes, 4096);
	assert_int_equal(chunk_manager_get_stats(manager).recycled, 0);
	chunk_manager_give_back(manager, get(manager)); /* 8192, instead of the one of 1024 */
	middle = get(manager);
	assert_int_equal(middle->header.buffer_bytes, 8192);
	assert_int_equal(chunk_manager_get_stats(manager).recycled, 1);
	chunk_manager_give_back(manager, middle);
	chunk_manager_give_back(manager, large);
	chunk_manager_close(manager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_served_by_fulfil_and_never_before),
		cmocka_unit_test(a_request_can_be_taken_back),
		cmocka_unit_test(w6_a_request_made_while_one_is_served_is_for_the_next_time),
		cmocka_unit_test(without_memory_a_request_is_answered_with_nothing),
		cmocka_unit_test(each_chunk_is_double_the_one_before_up_to_a_maximum),
		cmocka_unit_test(a_chunk_is_at_least_as_large_as_asked),
		cmocka_unit_test(kept_chunks_are_used_again_when_they_are_large_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
