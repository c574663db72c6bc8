/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_limit_updates.c - what the manager with a limit tells a listener. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "buffer/chunk_update.h"
#include "limit.h"

/* The updates that came, and the last of them. */
struct listening {
	size_t count;
	struct chunk_update last; /* without the items */
	struct released_chunk item; /* the first */
};

static void on_update(void *context, const struct chunk_update *update)
{
	struct listening *listening = context;

	listening->count++;
	listening->last = *update;
	listening->last.items = NULL;
	if (update->count)
		listening->item = update->items[0];
}

static void assert_told(struct listening *listening, uint64_t unreleased, uint64_t released,
			uint64_t oldest, size_t items)
{
	assert_int_equal(listening->count, 1);
	assert_int_equal(listening->last.kind, CHUNK_UPDATE_STATE);
	assert_int_equal(listening->last.unreleased_bytes, unreleased);
	assert_int_equal(listening->last.released_bytes, released);
	assert_int_equal(listening->last.oldest_done_ns, oldest);
	assert_int_equal(listening->last.count, items);
	listening->count = 0;
}

static void assert_final(struct listening *listening)
{
	assert_int_equal(listening->count, 1);
	assert_int_equal(listening->last.kind, CHUNK_UPDATE_FINAL);
	listening->count = 0;
}

static struct chunk_manager *manager_told_to(struct listening *listening)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	const struct chunk_listener listener = {on_update, listening};

	*listening = (struct listening){0};
	assert_int_equal(chunk_manager_limit_listen(manager, &listener), 0);
	assert_told(listening, 0, 0, 0, 0);
	return manager;
}

static struct chunk *done_at(struct chunk *chunk, uint64_t done_ns)
{
	chunk_reserve_initial_tail(chunk, 0);
	chunk_mark_done(chunk);
	chunk->header.done_ns = done_ns;
	return chunk;
}

static void keep_chunk(void *context, struct chunk *chunk)
{
	*(struct chunk **)context = chunk;
}

static void a_listener_is_told_the_state_at_once_and_the_end(void **state)
{
	struct listening first, second = {0};
	struct chunk_manager *manager = manager_told_to(&first);

	assert_int_equal(
		chunk_manager_limit_listen(manager, &(struct chunk_listener){on_update, &second}),
		0);
	assert_final(&first); /* replaced */
	assert_told(&second, 0, 0, 0, 0);
	assert_int_equal(chunk_manager_limit_listen(manager, NULL), 0);
	assert_final(&second); /* unset */
	chunk_manager_give_back(manager, get(manager));
	assert_int_equal(first.count + second.count, 0);
	chunk_manager_close(manager);
	assert_int_equal(first.count + second.count, 0);
	manager = manager_told_to(&first);
	chunk_manager_close(manager);
	assert_final(&first); /* closed */
}

static void a_late_listener_is_told_of_all_released_chunks(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	struct listening listening = {0};
	const struct chunk_listener listener = {on_update, &listening};
	struct chunk *lent = get(manager);

	chunk_manager_release(manager, done_at(get(manager), 5));
	chunk_manager_release(manager, done_at(get(manager), 7));
	alloc_fail_at(1);
	assert_int_equal(chunk_manager_limit_listen(manager, &listener), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_int_equal(listening.count, 0);
	assert_int_equal(chunk_manager_limit_listen(manager, &listener), 0);
	assert_told(&listening, CHUNK, 2 * CHUNK, 5, 2);
	assert_int_equal(listening.item.done_ns, 5);
	chunk_manager_give_back(manager, lent);
	chunk_manager_close(manager);
}

static void taking_released_chunks_tells_even_if_there_are_none(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);

	assert_null(chunk_manager_take_released(manager));
	assert_told(&listening, 0, 0, 0, 0);
	chunk_manager_close(manager);
}

static void get_tells_its_bytes_and_failing_to_get_tells_nothing(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);
	struct chunk *chunk = get(manager), *none = NULL;

	assert_told(&listening, CHUNK, 0, 0, 0);
	alloc_fail_at(1);
	assert_int_equal(chunk_manager_get(manager, 1, &none), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_int_equal(listening.count, 0);
	chunk_manager_give_back(manager, chunk);
	assert_told(&listening, 0, 0, 0, 0);
	chunk_manager_close(manager);
}

static void a_request_tells_nothing_and_fulfil_tells_once(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);
	struct chunk *chunk = NULL;

	chunk_manager_release(manager, done_at(get(manager), 5));
	listening.count = 0;
	chunk_manager_request(manager, &(struct chunk_receiver){keep_chunk, &chunk});
	assert_int_equal(listening.count, 0);
	chunk_manager_fulfil(manager);
	assert_told(&listening, CHUNK, CHUNK, 5, 0);
	chunk_manager_fulfil(manager);
	assert_int_equal(listening.count, 0);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void release_moves_the_bytes_and_names_that_chunk(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);

	chunk_manager_release(manager, done_at(get(manager), 5));
	listening.count = 0;
	chunk_manager_release(manager, NULL);
	assert_int_equal(listening.count, 0);
	{
		struct chunk *chunk = get(manager);

		assert_told(&listening, CHUNK, CHUNK, 5, 0);
		chunk_manager_release(manager, done_at(chunk, 9));
	}
	assert_told(&listening, 0, 2 * CHUNK, 5, 1);
	assert_int_equal(listening.item.done_ns, 9);
	assert_int_equal(listening.item.bytes, CHUNK);
	chunk_manager_close(manager);
}

static void forget_keeps_what_is_released(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);
	struct chunk *lent;

	chunk_manager_release(manager, done_at(get(manager), 5));
	lent = get(manager);
	listening.count = 0;
	chunk_manager_forget(manager);
	assert_told(&listening, 0, CHUNK, 5, 0);
	chunk_destroy(lent);
	chunk_manager_close(manager);
}

static void reclaim_tells_that_the_bytes_are_lent(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);

	chunk_manager_release(manager, done_at(get(manager), 5));
	listening.count = 0;
	chunk_manager_give_back(manager, chunk_manager_reclaim(manager));
	assert_int_equal(listening.count, 2);
	assert_int_equal(listening.last.unreleased_bytes, 0);
	assert_int_equal(listening.last.released_bytes, 0);
	chunk_manager_close(manager);
}

static void shrinking_tells_the_bytes_that_are_left(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);
	struct chunk *chunk = get(manager);

	chunk_reserve_initial_tail(chunk, 30);
	chunk_mark_done(chunk);
	listening.count = 0;
	chunk = chunk_manager_shrink(manager, chunk);
	assert_told(&listening, 30, 0, 0, 0);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

/*
 * Theirs says nothing, since whoever destroys is who listens. Ours does: totals are always those of
 * the last update, whoever destroyed and whatever was compressed before.
 */
static void destruction_tells_once(void **state)
{
	struct listening listening;
	struct chunk_manager *manager = manager_told_to(&listening);
	uint64_t n;

	for (n = 1; n <= 4; n++)
		chunk_manager_release(manager, done_at(get(manager), n));
	listening.count = 0;
	chunk_manager_destroy_at_or_before(manager, 0);
	assert_int_equal(listening.count, 0);
	chunk_manager_destroy_at_or_before(manager, 2);
	assert_told(&listening, 0, 2 * CHUNK, 3, 0);
	chunk_manager_close(manager);
}

/* The contents went, though the chunk did not come. */
static void a_get_that_fails_tells_what_it_destroyed(void **state)
{
	struct listening listening = {0};
	const struct chunk_listener listener = {on_update, &listening};
	struct chunk_manager *manager = manager_of_sizes(3 * CHUNK, CHUNK, CHUNK);
	struct chunk *chunk = NULL;

	chunk_manager_release(manager, done_at(get(manager), 5));
	chunk_manager_release(manager, done_at(get(manager), 7));
	assert_int_equal(chunk_manager_limit_listen(manager, &listener), 0);
	assert_told(&listening, 0, 2 * CHUNK, 5, 2);
	alloc_fail_at(1); /* what was destroyed is too small to be used */
	assert_int_equal(chunk_manager_get(manager, 2 * CHUNK, &chunk), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_told(&listening, 0, 0, 0, 0);
	chunk_manager_close(manager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_is_told_the_state_at_once_and_the_end),
		cmocka_unit_test(a_late_listener_is_told_of_all_released_chunks),
		cmocka_unit_test(taking_released_chunks_tells_even_if_there_are_none),
		cmocka_unit_test(get_tells_its_bytes_and_failing_to_get_tells_nothing),
		cmocka_unit_test(a_request_tells_nothing_and_fulfil_tells_once),
		cmocka_unit_test(release_moves_the_bytes_and_names_that_chunk),
		cmocka_unit_test(forget_keeps_what_is_released),
		cmocka_unit_test(reclaim_tells_that_the_bytes_are_lent),
		cmocka_unit_test(shrinking_tells_the_bytes_that_are_left),
		cmocka_unit_test(destruction_tells_once),
		cmocka_unit_test(a_get_that_fails_tells_what_it_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
