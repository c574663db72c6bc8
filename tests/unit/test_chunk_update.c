/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_update.c - what updates say, and what several say together. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/chunk.h"
#include "buffer/chunk_update.h"
#include "dies.h"

static struct chunk_update state_of(uint64_t unreleased, uint64_t released, uint64_t oldest,
				    struct released_chunk *items, size_t count)
{
	return (struct chunk_update){
		.kind = CHUNK_UPDATE_STATE,
		.unreleased_bytes = unreleased,
		.released_bytes = released,
		.oldest_done_ns = oldest,
		.items = items,
		.count = count,
	};
}

static void assert_totals(const struct chunk_update *update, uint64_t unreleased, uint64_t released,
			  uint64_t oldest, size_t count)
{
	assert_int_equal(update->kind, CHUNK_UPDATE_STATE);
	assert_int_equal(update->unreleased_bytes, unreleased);
	assert_int_equal(update->released_bytes, released);
	assert_int_equal(update->oldest_done_ns, oldest);
	assert_int_equal(update->count, count);
}

static void assert_item(const struct chunk_update *update, size_t at, uint64_t done, uint64_t bytes)
{
	assert_int_equal(update->items[at].done_ns, done);
	assert_int_equal(update->items[at].bytes, bytes);
}

static struct chunk *done_chunk(uint32_t bytes, uint64_t done_ns)
{
	struct chunk *chunk = chunk_create(bytes);

	assert_non_null(chunk);
	chunk_reserve_initial_tail(chunk, 0);
	chunk_mark_done(chunk);
	chunk->header.done_ns = done_ns;
	return chunk;
}

/* ---- kinds ------------------------------------------------------------------- */

static void a_new_one_and_a_cleared_one_are_no_update(void **state)
{
	struct chunk_update update = {0};

	assert_int_equal(update.kind, CHUNK_UPDATE_NONE);
	chunk_update_clear(&update);
	assert_int_equal(update.kind, CHUNK_UPDATE_NONE);
	assert_int_equal(chunk_update_reserve(&update, 5), 0);
	chunk_update_clear(&update);
	assert_int_equal(update.kind, CHUNK_UPDATE_NONE);
	assert_null(update.items);
	assert_int_equal(update.capacity, 0);
}

static void clearing_a_final_one_leaves_no_update(void **state)
{
	struct chunk_update update = {.kind = CHUNK_UPDATE_FINAL};

	chunk_update_clear(&update);
	assert_int_equal(update.kind, CHUNK_UPDATE_NONE);
}

static void copies_and_moves_keep_the_kind_and_all_fields(void **state)
{
	struct released_chunk items[] = {{3, 30}, {4, 40}};
	struct chunk_update from = state_of(1, 2, 3, items, 2), copy, moved;
	const struct chunk_update none = {0}, final = {.kind = CHUNK_UPDATE_FINAL};

	assert_int_equal(chunk_update_copy(&copy, &from), 0);
	items[0].bytes = 99; /* the copy has its own */
	moved = copy;
	assert_totals(&moved, 1, 2, 3, 2);
	assert_item(&moved, 0, 3, 30);
	assert_item(&moved, 1, 4, 40);
	chunk_update_clear(&moved);
	assert_int_equal(chunk_update_copy(&copy, &none), 0);
	assert_int_equal(copy.kind, CHUNK_UPDATE_NONE);
	assert_int_equal(chunk_update_copy(&copy, &final), 0);
	assert_int_equal(copy.kind, CHUNK_UPDATE_FINAL);
	chunk_update_clear(&copy);
}

static void built_from_lists_equals_built_from_fields(void **state)
{
	struct chunk *released = done_chunk(100, 7), *newly = done_chunk(50, 9);
	struct chunk_update update;

	chunk_set_last(newly, done_chunk(60, 11));
	chunk_set_last(released, newly);
	assert_int_equal(chunk_update_from_chunks(&update, 500, 210, released, newly), 0);
	assert_totals(&update, 500, 210, 7, 2);
	assert_item(&update, 0, 9, 50);
	assert_item(&update, 1, 11, 60);
	chunk_update_clear(&update);
	assert_int_equal(chunk_update_from_chunks(&update, 5, 0, NULL, NULL), 0);
	assert_totals(&update, 5, 0, 0, 0);
	chunk_update_clear(&update);
	chunk_destroy_list(released);
}

static void a_compressed_chunk_counts_what_it_occupies(void **state)
{
	struct chunk *chunk = done_chunk(100, 7);
	struct chunk_update update;

	chunk->header.stored_bytes = 20;
	assert_int_equal(chunk_update_from_chunks(&update, 0, 20, chunk, chunk), 0);
	assert_item(&update, 0, 7, 20);
	chunk_update_clear(&update);
	chunk_destroy(chunk);
}

/* ---- fold -------------------------------------------------------------------- */

/* W6: theirs folds into an update that is one already. */
static void w6_folding_into_no_update_gives_the_other(void **state)
{
	struct released_chunk items[] = {{3, 30}};
	const struct chunk_update next = state_of(1, 2, 3, items, 1);
	struct chunk_update sum = {0};

	assert_int_equal(sum.kind, CHUNK_UPDATE_NONE);
	chunk_update_fold(&sum, &next);
	assert_totals(&sum, 1, 2, 3, 1);
	assert_item(&sum, 0, 3, 30);
	chunk_update_clear(&sum);
}

static void folding_no_update_or_no_change_changes_nothing(void **state)
{
	struct released_chunk items[] = {{3, 30}};
	const struct chunk_update first = state_of(1, 30, 3, items, 1), none = {0};
	const struct chunk_update same = state_of(1, 30, 3, NULL, 0);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &none);
	assert_totals(&sum, 1, 30, 3, 1);
	chunk_update_fold(&sum, &same);
	assert_totals(&sum, 1, 30, 3, 1);
	assert_item(&sum, 0, 3, 30);
	chunk_update_clear(&sum);
}

static void a_new_unreleased_chunk_changes_that_total(void **state)
{
	const struct chunk_update first = state_of(0, 0, 0, NULL, 0);
	const struct chunk_update got = state_of(100, 0, 0, NULL, 0);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &got);
	assert_totals(&sum, 100, 0, 0, 0);
	chunk_update_clear(&sum);
}

static void newly_released_chunks_are_appended(void **state)
{
	struct released_chunk one[] = {{3, 30}}, two[] = {{5, 50}};
	const struct chunk_update first = state_of(0, 30, 3, one, 1);
	const struct chunk_update second = state_of(0, 80, 3, two, 1);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &second);
	assert_totals(&sum, 0, 80, 3, 2);
	assert_item(&sum, 0, 3, 30);
	assert_item(&sum, 1, 5, 50);
	chunk_update_clear(&sum);
}

static void what_is_older_than_the_oldest_is_dropped(void **state)
{
	struct released_chunk items[] = {{3, 30}, {5, 50}, {5, 51}, {7, 70}};
	const struct chunk_update first = state_of(0, 201, 3, items, 4);
	const struct chunk_update later = state_of(0, 171, 5, NULL, 0);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &later);
	assert_totals(&sum, 0, 171, 5, 3);
	assert_item(&sum, 0, 5, 50);
	assert_item(&sum, 1, 5, 51);
	assert_item(&sum, 2, 7, 70);
	chunk_update_clear(&sum);
}

static void recycling_and_releasing_in_one_step(void **state)
{
	struct released_chunk items[] = {{3, 30}, {5, 50}}, newly[] = {{9, 90}};
	const struct chunk_update first = state_of(0, 80, 3, items, 2);
	const struct chunk_update next = state_of(10, 140, 5, newly, 1);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &next);
	assert_totals(&sum, 10, 140, 5, 2);
	assert_item(&sum, 0, 5, 50);
	assert_item(&sum, 1, 9, 90);
	chunk_update_clear(&sum);
}

/* Theirs keeps the old list then, since there is no oldest time to compare with. */
static void when_nothing_is_released_any_more_the_list_is_empty(void **state)
{
	struct released_chunk items[] = {{3, 30}};
	const struct chunk_update first = state_of(0, 30, 3, items, 1);
	const struct chunk_update next = state_of(30, 0, 0, NULL, 0);
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &next);
	assert_totals(&sum, 30, 0, 0, 0);
	chunk_update_clear(&sum);
}

static void fold_state_into_final(void *context)
{
	struct chunk_update sum = {.kind = CHUNK_UPDATE_FINAL};
	const struct chunk_update next = state_of(1, 2, 3, NULL, 0);

	chunk_update_fold(&sum, &next);
}

static void final_wins_and_nothing_else_follows_it(void **state)
{
	struct released_chunk items[] = {{3, 30}};
	const struct chunk_update first = state_of(1, 2, 3, items, 1);
	const struct chunk_update final = {.kind = CHUNK_UPDATE_FINAL};
	struct chunk_update sum = {0};

	chunk_update_fold(&sum, &final);
	assert_int_equal(sum.kind, CHUNK_UPDATE_FINAL);
	chunk_update_clear(&sum);
	chunk_update_fold(&sum, &first);
	chunk_update_fold(&sum, &final);
	chunk_update_fold(&sum, &final);
	assert_int_equal(sum.kind, CHUNK_UPDATE_FINAL);
	assert_int_equal(sum.unreleased_bytes + sum.released_bytes + sum.oldest_done_ns, 0);
	assert_int_equal(sum.count, 0);
	chunk_update_clear(&sum);
	assert_dies(fold_state_into_final, NULL);
}

/* ---- no memory --------------------------------------------------------------- */

static void without_memory_chunks_are_counted_together(void **state)
{
	struct released_chunk items[] = {{3, 30}, {4, 40}, {5, 50}, {6, 60},
					 {7, 70}, {8, 80}, {9, 90}, {10, 100}};
	struct released_chunk more[] = {{12, 1}, {11, 2}};
	const struct chunk_update first = state_of(0, 520, 3, items, 8);
	const struct chunk_update next = state_of(0, 523, 3, more, 2);
	struct chunk_update sum = {0};
	size_t n;

	chunk_update_fold(&sum, &first); /* fills the room there is */
	assert_int_equal(sum.capacity, 8);
	for (n = 1; n <= 2; n++) {
		alloc_fail_at(1);
		chunk_update_fold(&sum, &(struct chunk_update){
						.kind = CHUNK_UPDATE_STATE,
						.released_bytes = 520 + n,
						.oldest_done_ns = 3,
						.items = &more[n - 1],
						.count = 1,
					});
		assert_true(alloc_fail_stop());
	}
	assert_totals(&sum, 0, 522, 3, 8);
	assert_item(&sum, 7, 12, 103);
	chunk_update_fold(&sum, &next);
	assert_int_equal(sum.count, 10);
	chunk_update_clear(&sum);
	alloc_fail_at(1);
	chunk_update_fold(&sum, &first); /* the other seven find room */
	assert_true(alloc_fail_stop());
	assert_totals(&sum, 0, 520, 3, 7);
	chunk_update_clear(&sum);
}

static int build_and_copy(void *context)
{
	struct chunk *chunks = context;
	struct chunk_update update = {0}, copy = {0};
	int err = chunk_update_from_chunks(&update, 1, 2, chunks, chunks);

	if (!err)
		err = chunk_update_copy(&copy, &update);
	chunk_update_clear(&update);
	chunk_update_clear(&copy);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	struct chunk *chunks = NULL;
	size_t n;

	for (n = 0; n < 9; n++)
		chunks = chunk_join(done_chunk(10, 100 - n), chunks);
	assert_int_equal(alloc_fail_each(build_and_copy, chunks), 3);
	chunk_destroy_list(chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_one_and_a_cleared_one_are_no_update),
		cmocka_unit_test(clearing_a_final_one_leaves_no_update),
		cmocka_unit_test(copies_and_moves_keep_the_kind_and_all_fields),
		cmocka_unit_test(built_from_lists_equals_built_from_fields),
		cmocka_unit_test(a_compressed_chunk_counts_what_it_occupies),
		cmocka_unit_test(w6_folding_into_no_update_gives_the_other),
		cmocka_unit_test(folding_no_update_or_no_change_changes_nothing),
		cmocka_unit_test(a_new_unreleased_chunk_changes_that_total),
		cmocka_unit_test(newly_released_chunks_are_appended),
		cmocka_unit_test(what_is_older_than_the_oldest_is_dropped),
		cmocka_unit_test(recycling_and_releasing_in_one_step),
		cmocka_unit_test(when_nothing_is_released_any_more_the_list_is_empty),
		cmocka_unit_test(final_wins_and_nothing_else_follows_it),
		cmocka_unit_test(without_memory_chunks_are_counted_together),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
