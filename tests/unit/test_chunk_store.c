/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_store.c - what owners get, how large it is, what is used again, and which goes first. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"

#define OWNERS 8

/* A store, and owners that have joined it. */
struct scene {
	struct chunk_store *store;
	struct chunk_owner owners[OWNERS];
};

static void open_scene(struct scene *scene, uint64_t max_bytes, uint32_t first, uint32_t most)
{
	const struct chunk_store_config config = {
		.max_bytes = max_bytes, .chunk_first_bytes = first, .chunk_max_bytes = most};
	size_t n;

	*scene = (struct scene){.store = store_with(&config)};
	for (n = 0; n < OWNERS; n++)
		chunk_store_join(scene->store, &scene->owners[n]);
}

/* What owners have in use was given back. */
static void close_scene(struct scene *scene)
{
	size_t n;

	for (n = 0; n < OWNERS; n++)
		chunk_store_leave(scene->store, &scene->owners[n], NULL);
	assert_bytes(scene->store, 0, 0);
	chunk_store_close(scene->store);
}

static struct chunk *get(struct scene *scene, size_t owner, uint32_t min_bytes)
{
	struct chunk *chunk = NULL;

	assert_int_equal(chunk_store_get(scene->store, &scene->owners[owner], min_bytes, &chunk),
			 0);
	assert_true(chunk->header.buffer_bytes >= min_bytes);
	assert_int_equal(chunk->header.state, CHUNK_EMPTY);
	return chunk;
}

static void release(struct scene *scene, size_t owner, struct chunk *chunk, uint64_t range_start)
{
	chunk_begin(chunk, range_start, 0);
	chunk_reserve_block(chunk, 1);
	chunk_store_release(scene->store, &scene->owners[owner], chunk);
}

/* The owner leaves, and joins again. */
static void start_over(struct scene *scene, size_t owner, struct chunk *current)
{
	chunk_store_leave(scene->store, &scene->owners[owner], current);
	scene->owners[owner] = (struct chunk_owner){.lent = 0};
	chunk_store_join(scene->store, &scene->owners[owner]);
}

static struct chunk_store_stats stats_of(const struct scene *scene)
{
	return chunk_store_get_stats(scene->store);
}

/* ---- what is lent ------------------------------------------------------------------- */

static void new_and_recycled_chunks_are_empty_and_unlinked(void **state)
{
	struct scene scene;
	struct chunk *first, *second;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	first = get(&scene, 0, 1);
	assert_bytes(scene.store, CHUNK, 0);
	start_over(&scene, 0, first);
	assert_bytes(scene.store, 0, 0);
	second = get(&scene, 1, 1);
	assert_ptr_equal(second, first);
	chunk_begin(second, 1, 10);
	start_over(&scene, 1, second); /* in use */
	first = get(&scene, 2, 1);
	assert_ptr_equal(second, first);
	assert_int_equal(chunk_remaining(first), CHUNK);
	assert_null(first->owner);
	assert_int_equal(stats_of(&scene).made, 1);
	assert_int_equal(stats_of(&scene).recycled, 2);
	assert_int_equal(stats_of(&scene).destroyed, 0); /* none was released */
	start_over(&scene, 2, first);
	close_scene(&scene);
}

static void the_two_that_came_back_last_are_kept(void **state)
{
	struct scene scene;
	struct chunk *chunks[4], *again[4];
	size_t n;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	for (n = 0; n < 4; n++)
		chunks[n] = get(&scene, n, 1);
	for (n = 0; n < 4; n++)
		start_over(&scene, n, chunks[n]);
	for (n = 0; n < 4; n++)
		again[n] = get(&scene, n, 1);
	assert_ptr_equal(again[0], chunks[2]);
	assert_ptr_equal(again[1], chunks[3]);
	for (n = 0; n < 4; n++)
		start_over(&scene, n, again[n]);
	assert_int_equal(stats_of(&scene).made, 6);
	assert_int_equal(stats_of(&scene).recycled, 2);
	close_scene(&scene);
}

static void each_chunk_is_double_the_one_before_up_to_a_maximum(void **state)
{
	static const uint32_t wanted[] = {1024, 2048, 4096, 8192, 8192, 8192};
	struct scene scene;
	size_t n;

	open_scene(&scene, 1 << 20, 1024, 8192);
	for (n = 0; n < 6; n++) {
		struct chunk *chunk = get(&scene, 0, 1);

		assert_int_equal(chunk->header.buffer_bytes, wanted[n]);
		release(&scene, 0, chunk, 1 + n * 8192);
	}
	/* Each owner for itself. */
	start_over(&scene, 1, get(&scene, 1, 1));
	assert_int_equal(stats_of(&scene).made, 7);
	close_scene(&scene);
}

static void a_chunk_is_at_least_as_large_as_asked(void **state)
{
	struct scene scene;
	struct chunk *large, *next;

	open_scene(&scene, 1 << 20, 1024, 8192);
	large = get(&scene, 0, 50000);
	assert_int_equal(large->header.buffer_bytes, 50000);
	assert_bytes(scene.store, 50000, 0);
	next = get(&scene, 0, 1);
	assert_int_equal(next->header.buffer_bytes, 2048);
	release(&scene, 0, next, 1);
	start_over(&scene, 0, large); /* above the maximum: not kept; the other one is */
	next = get(&scene, 0, 1025);
	assert_int_equal(next->header.buffer_bytes, 2048);
	assert_int_equal(stats_of(&scene).recycled, 1);
	start_over(&scene, 0, next);
	close_scene(&scene);
}

static void kept_chunks_are_used_again_when_they_fit(void **state)
{
	struct scene scene;
	struct chunk *small, *large;

	open_scene(&scene, 1 << 20, 1024, 8192);
	release(&scene, 0, get(&scene, 0, 1), 1);
	small = get(&scene, 0, 1); /* of 2048 bytes */
	start_over(&scene, 0, small); /* both are kept */
	large = get(&scene, 1, 4096);
	assert_int_equal(stats_of(&scene).recycled, 0);
	small = get(&scene, 0, 1); /* not the one of 2048, which is double */
	assert_int_equal(small->header.buffer_bytes, 1024);
	assert_int_equal(stats_of(&scene).recycled, 1);
	start_over(&scene, 0, small);
	start_over(&scene, 1, large);
	close_scene(&scene);
}

static void kept_chunks_go_when_all_have_to_be_smaller(void **state)
{
	struct chunk *in_use[OWNERS];
	struct scene scene;
	size_t n;

	/* A 16th of the limit for one owner, half of that for two, and so on. */
	open_scene(&scene, 16 * 8192, 1024, 8192);
	start_over(&scene, 0, get(&scene, 0, 8192)); /* it is kept */
	for (n = 0; n < OWNERS - 1; n++)
		in_use[n] = get(&scene, n, 1);
	assert_int_equal(stats_of(&scene).chunk_max_bytes, 1024);
	in_use[n] = get(&scene, n, 8192);
	assert_int_equal(stats_of(&scene).recycled, 0);
	for (n = 0; n < OWNERS; n++)
		start_over(&scene, n, in_use[n]);
	close_scene(&scene);
}

static void a_shrunk_chunk_counts_what_it_is(void **state)
{
	struct scene scene;
	struct chunk *chunk;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	chunk = get(&scene, 0, 1);
	chunk_begin(chunk, 1, 0);
	chunk_reserve_block(chunk, 30);
	chunk = chunk_store_shrink(scene.store, chunk);
	assert_bytes(scene.store, 30, 0);
	chunk_store_release(scene.store, &scene.owners[0], chunk);
	assert_bytes(scene.store, 0, 30);
	/* It is too small to be used again. */
	destroy_oldest(scene.store);
	release(&scene, 0, get(&scene, 0, 1), 31);
	assert_int_equal(stats_of(&scene).made, 2);
	close_scene(&scene);
}

/* ---- what goes ---------------------------------------------------------------------- */

static void three_rollovers_destroy_the_oldest_and_reuse_memory(void **state)
{
	struct scene scene;
	struct chunk *chunk, *first = NULL;
	size_t reused = 0;
	uint64_t n;

	open_scene(&scene, 10 * CHUNK, CHUNK, CHUNK);
	for (n = 0; n < 30; n++) {
		chunk = get(&scene, 0, 1);
		first = first ? first : chunk;
		reused += n && chunk == first;
		release(&scene, 0, chunk, 1 + n * CHUNK);
		assert_int_equal(scene.owners[0].cleared, n < 9 ? 0 : n - 8);
		assert_int_equal(scene.owners[0].range_start, n < 9 ? 0 : 1 + (n - 8) * CHUNK);
		assert_bytes(scene.store, 0, (n < 9 ? n + 1 : 9) * CHUNK);
	}
	assert_true(reused >= 2);
	assert_int_equal(stats_of(&scene).destroyed, 21);
	assert_int_equal(stats_of(&scene).made, 9);
	assert_int_equal(stats_of(&scene).recycled, 21);
	close_scene(&scene);
}

static void done_times_never_fall_along_the_queue(void **state)
{
	struct scene scene;
	uint64_t n, before = 0;

	open_scene(&scene, 1000 * CHUNK, CHUNK, CHUNK);
	for (n = 0; n < 100; n++)
		release(&scene, n * 5 % OWNERS, get(&scene, n * 5 % OWNERS, 1), 1 + n * CHUNK);
	for (n = 0; n < 100; n++) {
		struct chunk_owner *owner = &scene.owners[n * 5 % OWNERS];
		const struct chunk *oldest = TAILQ_FIRST(&owner->released);
		uint64_t done_ns = oldest->header.done_ns;

		assert_true(done_ns >= before);
		before = done_ns;
		destroy_oldest(scene.store);
		assert_int_equal(owner->range_start, 1 + (n + 1) * CHUNK);
		assert_int_equal(chunk_store_complete_since_ns(scene.store), done_ns);
	}
	close_scene(&scene);
}

static void what_is_lent_counts_against_the_limit(void **state)
{
	struct scene scene;
	struct chunk *in_use[5];
	size_t n;

	open_scene(&scene, 4 * CHUNK, CHUNK, CHUNK);
	in_use[0] = get(&scene, 0, 1);
	in_use[1] = get(&scene, 1, 1);
	release(&scene, 2, get(&scene, 2, 1), 1);
	in_use[2] = get(&scene, 2, 1);
	assert_int_equal(stats_of(&scene).destroyed, 1);
	/* Nothing is left to destroy: the limit is passed rather than data refused. */
	in_use[3] = get(&scene, 3, 1);
	in_use[4] = get(&scene, 4, 1);
	assert_bytes(scene.store, 5 * CHUNK, 0);
	assert_int_equal(stats_of(&scene).live, 5);
	for (n = 0; n < 5; n++)
		start_over(&scene, n, in_use[n]);
	assert_int_equal(stats_of(&scene).live, 0);
	assert_int_equal(stats_of(&scene).owners, OWNERS);
	close_scene(&scene);
}

/* The contents went, though the chunk did not come. */
static void a_get_that_fails_has_destroyed_what_it_destroyed(void **state)
{
	struct scene scene;
	struct chunk *chunk = NULL;

	open_scene(&scene, 4 * CHUNK, CHUNK, CHUNK);
	release(&scene, 0, get(&scene, 0, 1), 1);
	release(&scene, 1, get(&scene, 1, 1), 1);
	alloc_fail_at(1); /* what was destroyed is too small to be used */
	assert_int_equal(chunk_store_get(scene.store, &scene.owners[2], 3 * CHUNK, &chunk),
			 -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_null(chunk);
	assert_bytes(scene.store, 0, 0);
	assert_int_equal(scene.owners[0].cleared + scene.owners[1].cleared, 2);
	assert_int_equal(stats_of(&scene).made, 2);
	assert_int_equal(stats_of(&scene).live, 0);
	assert_true(chunk_store_complete_since_ns(scene.store) > 0);
	close_scene(&scene);
}

static void who_leaves_takes_its_chunks_alone(void **state)
{
	struct scene scene;
	size_t n;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	for (n = 0; n < 12; n++)
		release(&scene, n % 3, get(&scene, n % 3, 1), 1 + n / 3 * CHUNK);
	start_over(&scene, 1, get(&scene, 1, 1));
	assert_bytes(scene.store, 0, 8 * CHUNK);
	assert_int_equal(chunk_store_complete_since_ns(scene.store), 0);
	for (n = 0; n < 8; n++) {
		destroy_oldest(scene.store);
		assert_int_equal(scene.owners[n % 2 * 2].cleared, n / 2 + 1);
	}
	assert_int_equal(scene.owners[1].cleared, 0);
	close_scene(&scene);
}

/* ---- requests ----------------------------------------------------------------------- */

static void a_request_is_served_by_fulfil_and_never_before(void **state)
{
	struct scene scene;
	struct chunk *next;
	size_t allocations;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	chunk_store_fulfil(scene.store);
	chunk_store_request(scene.store, &scene.owners[0]);
	chunk_store_request(scene.store, &scene.owners[0]); /* is the same one */
	assert_bytes(scene.store, 0, 0);
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, CHUNK, 0);
	chunk_store_fulfil(scene.store);
	chunk_store_request(scene.store, &scene.owners[0]); /* it has one */
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, CHUNK, 0);
	allocations = alloc_count();
	next = get(&scene, 0, 1);
	assert_int_equal(alloc_count(), allocations);
	assert_bytes(scene.store, CHUNK, 0);
	start_over(&scene, 0, next);
	close_scene(&scene);
}

static void a_request_can_be_taken_back(void **state)
{
	struct scene scene;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	chunk_store_request(scene.store, &scene.owners[0]);
	chunk_store_forgo(scene.store, &scene.owners[0]);
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, 0, 0);
	chunk_store_request(scene.store, &scene.owners[0]);
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, CHUNK, 0);
	chunk_store_forgo(scene.store, &scene.owners[0]);
	assert_bytes(scene.store, 0, 0);
	assert_int_equal(stats_of(&scene).live, 0);
	close_scene(&scene);
}

static void who_cannot_wait_takes_the_request_along(void **state)
{
	struct scene scene;
	struct chunk *chunk;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	chunk_store_request(scene.store, &scene.owners[0]);
	chunk = get(&scene, 0, 1);
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, CHUNK, 0);
	start_over(&scene, 0, chunk);
	close_scene(&scene);
}

static void without_memory_a_request_is_answered_with_nothing(void **state)
{
	struct scene scene;
	struct chunk *chunk;

	open_scene(&scene, 100 * CHUNK, CHUNK, CHUNK);
	chunk_store_request(scene.store, &scene.owners[0]);
	chunk_store_request(scene.store, &scene.owners[1]);
	alloc_fail_at(1);
	chunk_store_fulfil(scene.store);
	assert_true(alloc_fail_stop());
	assert_bytes(scene.store, CHUNK, 0); /* the second one's */
	assert_null(scene.owners[0].next);
	chunk_store_fulfil(scene.store);
	assert_bytes(scene.store, CHUNK, 0);
	chunk = get(&scene, 0, 1);
	start_over(&scene, 0, chunk);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_and_recycled_chunks_are_empty_and_unlinked),
		cmocka_unit_test(the_two_that_came_back_last_are_kept),
		cmocka_unit_test(each_chunk_is_double_the_one_before_up_to_a_maximum),
		cmocka_unit_test(a_chunk_is_at_least_as_large_as_asked),
		cmocka_unit_test(kept_chunks_are_used_again_when_they_fit),
		cmocka_unit_test(kept_chunks_go_when_all_have_to_be_smaller),
		cmocka_unit_test(a_shrunk_chunk_counts_what_it_is),
		cmocka_unit_test(three_rollovers_destroy_the_oldest_and_reuse_memory),
		cmocka_unit_test(done_times_never_fall_along_the_queue),
		cmocka_unit_test(what_is_lent_counts_against_the_limit),
		cmocka_unit_test(a_get_that_fails_has_destroyed_what_it_destroyed),
		cmocka_unit_test(who_leaves_takes_its_chunks_alone),
		cmocka_unit_test(a_request_is_served_by_fulfil_and_never_before),
		cmocka_unit_test(a_request_can_be_taken_back),
		cmocka_unit_test(who_cannot_wait_takes_the_request_along),
		cmocka_unit_test(without_memory_a_request_is_answered_with_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
