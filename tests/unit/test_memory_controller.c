/* SPDX-License-Identifier: BSD-2-Clause */
/* test_memory_controller.c - one limit for all processes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"
#include "fake_codec.h"

#define KIB 1024ULL

static struct memory_controller *controller_with(uint64_t max_bytes)
{
	struct memory_controller *controller = NULL;
	const struct memory_controller_config config = {.max_bytes = max_bytes,
							.expander = &fake_expander};

	assert_int_equal(memory_controller_open(&controller, &config), 0);
	return controller;
}

static struct memory_stats stats_of(struct memory_controller *controller)
{
	return memory_controller_get_stats(controller);
}

/* ---- sizes ------------------------------------------------------------------- */

static void assert_chunk_max(uint64_t max_bytes, uint32_t wanted)
{
	struct memory_controller *controller = controller_with(max_bytes);

	assert_int_equal(stats_of(controller).max_bytes, max_bytes);
	assert_int_equal(stats_of(controller).chunk_max_bytes, wanted);
	memory_controller_close(controller);
}

static void chunks_are_a_sixteenth_of_the_limit_between_4_and_256_KiB(void **state)
{
	assert_chunk_max(1 << 30, 256 * KIB);
	assert_chunk_max(128 << 20, 256 * KIB);
	assert_chunk_max(4 << 20, 256 * KIB);
	assert_chunk_max((4 << 20) - 1, 128 * KIB);
	assert_chunk_max(1 << 20, 64 * KIB);
	assert_chunk_max(100 * KIB, 4 * KIB);
	assert_chunk_max(16 * KIB, 4 * KIB);
}

static void a_small_limit_still_holds_four_chunks(void **state)
{
	assert_chunk_max(16 * KIB - 1, 2 * KIB);
	assert_chunk_max(8 * KIB, 2 * KIB);
	assert_chunk_max(1000, 128);
	assert_chunk_max(10, 64);
	assert_chunk_max(0, 64);
}

static void the_more_processes_put_the_smaller_the_chunks(void **state)
{
	struct memory_controller *controller = controller_with(16 << 20);
	struct room rooms[100];
	size_t n;

	for (n = 0; n < 100; n++)
		rooms[n] = room_under(controller, (uint32_t)n);
	assert_int_equal(stats_of(controller).managers, 100);
	assert_int_equal(stats_of(controller).live, 0);
	assert_int_equal(stats_of(controller).chunk_max_bytes, 256 * KIB);
	for (n = 0; n < 100; n++)
		put(rooms[n].buffer, n, 5);
	assert_int_equal(stats_of(controller).live, 100);
	assert_int_equal(stats_of(controller).chunk_max_bytes, 8 * KIB);
	for (n = 0; n < 98; n++)
		chunked_buffer_finish(rooms[n].buffer);
	assert_int_equal(stats_of(controller).live, 2);
	assert_int_equal(stats_of(controller).chunk_max_bytes, 256 * KIB);
	for (n = 0; n < 100; n++)
		room_close(&rooms[n]);
	assert_int_equal(stats_of(controller).managers + stats_of(controller).live, 0);
	memory_controller_close(controller);
}

static void a_process_begins_with_a_64th_of_its_share_and_doubles(void **state)
{
	struct memory_controller *controller = controller_with(16 << 20);
	struct room room = room_under(controller, 1);
	uint64_t made = 0, bytes = 0, seed;

	for (seed = 0; seed < 20000; seed++) {
		put(room.buffer, seed, 60);
		if (stats_of(controller).made == made)
			continue;
		made = stats_of(controller).made;
		/* The share of one process is a 16th of the limit: 1 MiB; its chunks stop at 256 KiB. */
		bytes += made < 5 ? 16 * KIB << (made - 1) : 256 * KIB;
		assert_int_equal(stats_of(controller).unreleased_bytes +
					 stats_of(controller).released_bytes,
				 bytes);
	}
	assert_int_equal(made, 8);
	room_close(&room);
	memory_controller_close(controller);
}

static void short_lived_processes_cost_what_they_put(void **state)
{
	struct memory_controller *controller = controller_with(16 << 20);
	static struct room rooms[3000];
	size_t n;

	for (n = 0; n < 3000; n++) {
		rooms[n] = room_under(controller, (uint32_t)n);
		put(rooms[n].buffer, n, 99);
		memory_controller_fulfil(controller);
		chunked_buffer_finish(rooms[n].buffer);
	}
	assert_int_equal(stats_of(controller).unreleased_bytes, 0);
	assert_int_equal(stats_of(controller).released_bytes, 3000 * 100);
	assert_int_equal(stats_of(controller).destroyed, 0);
	for (n = 0; n < 3000; n++) {
		assert_int_equal(count_blocks(rooms[n].buffer), 1);
		room_close(&rooms[n]);
	}
	memory_controller_close(controller);
}

/* ---- the limit ------------------------------------------------------------------ */

static uint64_t range_start(const struct room *room)
{
	return chunked_buffer_get_state(room->buffer).range_start;
}

static void fill_chunks(const struct room *room, size_t count)
{
	while (count--)
		put(room->buffer, count, CHUNK - 1);
}

static void the_oldest_chunk_of_any_process_goes_first(void **state)
{
	struct memory_controller *controller = controller_of(6 * CHUNK, CHUNK);
	struct room a = room_under(controller, 1), b = room_under(controller, 2);

	fill_chunks(&a, 1);
	fill_chunks(&b, 2);
	fill_chunks(&a, 2); /* a b b a a */
	assert_int_equal(stats_of(controller).destroyed, 0);
	fill_chunks(&b, 1);
	assert_int_equal(range_start(&a), 1 + CHUNK);
	assert_int_equal(range_start(&b), 1);
	fill_chunks(&a, 2);
	assert_int_equal(range_start(&a), 1 + CHUNK);
	assert_int_equal(range_start(&b), 1 + 2 * CHUNK);
	fill_chunks(&b, 1);
	assert_int_equal(range_start(&a), 1 + 2 * CHUNK);
	assert_int_equal(range_start(&b), 1 + 2 * CHUNK);
	assert_int_equal(stats_of(controller).destroyed, 4);
	room_close(&a);
	room_close(&b);
	memory_controller_close(controller);
}

/* W3, for all processes at a time. */
static void the_limit_holds_whatever_processes_do(void **state)
{
	struct memory_controller *controller = controller_of(64 * CHUNK, CHUNK);
	struct room rooms[10];
	uint64_t random = 4711;
	size_t n;

	for (n = 0; n < 10; n++)
		rooms[n] = room_under(controller, (uint32_t)n);
	for (n = 0; n < 20000; n++) {
		struct memory_stats stats;
		struct room *room;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		room = &rooms[(random >> 33) % 10];
		put(room->buffer, n, 1 + (random >> 40) % 60);
		if (n % 7 == 0)
			memory_controller_fulfil(controller);
		if (n % 101 == 0)
			chunked_buffer_finish(room->buffer);
		if (n % 1009 == 0)
			chunked_buffer_set_manager(room->buffer, room->manager);
		stats = stats_of(controller);
		assert_true(stats.unreleased_bytes + stats.released_bytes <= 64 * CHUNK);
	}
	assert_true(stats_of(controller).destroyed > 1000);
	assert_true(stats_of(controller).recycled > stats_of(controller).made);
	for (n = 0; n < 10; n++)
		room_close(&rooms[n]);
	assert_int_equal(stats_of(controller).unreleased_bytes, 0);
	assert_int_equal(stats_of(controller).released_bytes, 0);
	memory_controller_close(controller);
}

static void a_limit_below_one_chunk_keeps_what_is_being_filled(void **state)
{
	struct memory_controller *controller = controller_of(1, CHUNK);
	struct room a = room_under(controller, 1), b = room_under(controller, 2);
	size_t n;

	for (n = 0; n < 100; n++) {
		put(a.buffer, n, 20);
		assert_true(count_blocks(a.buffer) >= 1);
		put(b.buffer, n, 20);
		assert_true(count_blocks(b.buffer) >= 1);
		assert_true(stats_of(controller).released_bytes <= 2 * CHUNK);
	}
	room_close(&a);
	room_close(&b);
	memory_controller_close(controller);
}

static void what_others_use_counts_against_the_limit(void **state)
{
	struct memory_controller *controller = controller_of(10 * CHUNK, CHUNK);
	struct room room = room_under(controller, 1);

	fill_chunks(&room, 8);
	assert_int_equal(stats_of(controller).released_bytes, 8 * CHUNK);
	memory_controller_set_extra(controller, 5 * CHUNK);
	assert_int_equal(stats_of(controller).extra_bytes, 5 * CHUNK);
	assert_int_equal(stats_of(controller).released_bytes, 4 * CHUNK);
	fill_chunks(&room, 8);
	assert_int_equal(stats_of(controller).released_bytes, 4 * CHUNK);
	memory_controller_set_extra(controller, 100 * CHUNK);
	assert_int_equal(stats_of(controller).released_bytes, 0);
	memory_controller_set_extra(controller, 0);
	fill_chunks(&room, 20);
	assert_int_equal(stats_of(controller).released_bytes, 9 * CHUNK);
	room_close(&room);
	memory_controller_close(controller);
}

/* With the heap against a search through all, and processes that come and go. */
static void the_oldest_is_found_among_many_processes(void **state)
{
	struct memory_controller *controller = controller_of(1000 * CHUNK, CHUNK);
	static struct room rooms[300];
	uint64_t random = 99;
	size_t n, i;

	for (i = 0; i < 300; i++)
		rooms[i] = room_under(controller, (uint32_t)i);
	for (n = 0; n < 3000; n++) {
		uint64_t oldest = UINT64_MAX, gone;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (random >> 33) % 300;
		if (n % 50 == 0) {
			room_close(&rooms[i]);
			rooms[i] = room_under(controller, (uint32_t)i);
		}
		fill_chunks(&rooms[i], 1);
		if (stats_of(controller).released_bytes < 900 * CHUNK)
			continue;
		for (i = 0; i < 300; i++) {
			const struct chunk *chunk = chunk_manager_peek(rooms[i].manager);

			if (chunk && chunk->header.done_ns < oldest)
				oldest = chunk->header.done_ns;
		}
		gone = stats_of(controller).released_bytes;
		memory_controller_set_extra(controller, 1000 * CHUNK - gone);
		assert_int_equal(stats_of(controller).released_bytes, gone - CHUNK);
		memory_controller_set_extra(controller, 0);
		for (i = 0; i < 300; i++) {
			const struct chunk *chunk = chunk_manager_peek(rooms[i].manager);

			assert_true(!chunk || chunk->header.done_ns > oldest);
		}
	}
	for (i = 0; i < 300; i++)
		room_close(&rooms[i]);
	memory_controller_close(controller);
}

/* Whichever process it went from; what goes with a buffer that is closed does not count. */
static void what_was_put_after_the_newest_that_went_is_complete(void **state)
{
	struct memory_controller *controller = controller_of(100 * CHUNK, CHUNK);
	struct room a = room_under(controller, 1), b = room_under(controller, 2);
	uint64_t a_done, b_done;

	fill_chunks(&a, 2);
	fill_chunks(&b, 2);
	a_done = chunk_manager_peek(a.manager)->next->header.done_ns;
	b_done = chunk_manager_peek(b.manager)->header.done_ns;
	assert_int_equal(memory_controller_complete_since_ns(controller), 0);
	memory_controller_set_extra(controller, 97 * CHUNK); /* room for less than three */
	assert_int_equal(stats_of(controller).released_bytes, 2 * CHUNK);
	assert_int_equal(memory_controller_complete_since_ns(controller), a_done);
	memory_controller_set_extra(controller, 0);
	assert_int_equal(memory_controller_complete_since_ns(controller), a_done);
	memory_controller_set_extra(controller, 98 * CHUNK);
	assert_int_equal(memory_controller_complete_since_ns(controller), b_done);
	room_close(&b);
	assert_int_equal(memory_controller_complete_since_ns(controller), b_done);
	room_close(&a);
	memory_controller_close(controller);
}

/* ---- requests ------------------------------------------------------------------- */

static void fulfil_serves_all_that_wait(void **state)
{
	struct memory_controller *controller = controller_of(1000 * CHUNK, CHUNK);
	struct room rooms[5];
	size_t n, allocations;

	for (n = 0; n < 5; n++) {
		rooms[n] = room_under(controller, (uint32_t)n);
		put(rooms[n].buffer, n, 99);
	}
	assert_int_equal(stats_of(controller).made, 5);
	room_close(&rooms[3]); /* waits no longer */
	chunked_buffer_finish(rooms[1].buffer);
	memory_controller_fulfil(controller);
	assert_int_equal(stats_of(controller).unreleased_bytes, 6 * CHUNK);
	allocations = alloc_count();
	memory_controller_fulfil(controller);
	put(rooms[0].buffer, n, 99);
	put(rooms[2].buffer, n, 99);
	put(rooms[4].buffer, n, 99);
	assert_int_equal(alloc_count(), allocations);
	for (n = 0; n < 5; n++) {
		if (n != 3)
			room_close(&rooms[n]);
	}
	memory_controller_close(controller);
}

/* ---- compression ---------------------------------------------------------------- */

#define LARGE 2048

static void fill_large(const struct room *room, size_t count)
{
	while (count--)
		put(room->buffer, count, LARGE - 2);
}

static void nothing_is_borrowed_before_something_is_released(void **state)
{
	struct memory_controller *controller = controller_of(100 * LARGE, LARGE);
	struct room room = room_under(controller, 1);
	void *token = &room;

	put(room.buffer, 1, 500);
	assert_null(memory_controller_borrow(controller, &token));
	assert_ptr_equal(token, &room);
	chunked_buffer_finish(room.buffer); /* 502 bytes are not worth it */
	assert_null(memory_controller_borrow(controller, &token));
	room_close(&room);
	memory_controller_close(controller);
}

static void the_newest_is_borrowed_first_and_each_once(void **state)
{
	struct memory_controller *controller = controller_of(100 * LARGE, LARGE);
	struct room a = room_under(controller, 1), b = room_under(controller, 2);
	static const uint64_t wanted_range[] = {1 + 2 * LARGE, 1, 1 + LARGE, 1};
	static const uint32_t wanted_process[] = {1, 2, 1, 1};
	const struct chunk *chunk;
	void *tokens[4];
	size_t n;

	fill_large(&a, 2);
	fill_large(&b, 1);
	fill_large(&a, 1);
	for (n = 0; n < 4; n++) {
		chunk = memory_controller_borrow(controller, &tokens[n]);
		assert_non_null(chunk);
		assert_int_equal(chunk->header.process_id, wanted_process[n]);
		assert_int_equal(chunk->header.range_start, wanted_range[n]);
	}
	assert_null(memory_controller_borrow(controller, &tokens[0]));
	for (n = 0; n < 4; n++) /* none could be compressed */
		memory_controller_return(controller, tokens[n], NULL);
	assert_null(memory_controller_borrow(controller, &tokens[0]));
	assert_int_equal(stats_of(controller).compressed, 0);
	assert_int_equal(stats_of(controller).released_bytes, 4 * LARGE);
	room_close(&a);
	room_close(&b);
	memory_controller_close(controller);
}

static void a_replacement_is_counted_for_what_it_occupies(void **state)
{
	struct memory_controller *controller = controller_of(10 * LARGE, LARGE);
	struct room room = room_under(controller, 1);
	const struct chunk *chunk;
	void *token;
	size_t n;

	for (n = 0; n < 100; n++) {
		fill_large(&room, 1);
		chunk = memory_controller_borrow(controller, &token);
		memory_controller_return(controller, token, fake_compress(chunk));
		assert_true(stats_of(controller).released_bytes <= 10 * LARGE);
	}
	assert_int_equal(stats_of(controller).compressed, 100);
	/* Twice as many as without. */
	assert_int_equal(stats_of(controller).released_bytes, 18 * LARGE / 2);
	room.manager->expander = &fake_expander;
	assert_int_equal(count_blocks(room.buffer), 18);
	room_close(&room);
	memory_controller_close(controller);
}

static void assert_order(const struct room *room, uint64_t first_range)
{
	const struct chunk *chunk = chunk_manager_peek(room->manager);
	uint64_t range = first_range;

	for (; chunk; chunk = chunk->next, range += LARGE)
		assert_int_equal(chunk->header.range_start, range);
	assert_int_equal(range, 1 + 3 * LARGE);
}

/* In any order; and the neighbours find each other when the oldest goes and another chunk comes. */
static void a_replacement_takes_the_place_of_its_chunk(void **state)
{
	static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	size_t order, n;

	for (order = 0; order < 6; order++) {
		struct memory_controller *controller = controller_of(100 * LARGE, LARGE);
		struct room room = room_under(controller, 1);
		const struct chunk *chunks[3];
		void *tokens[3];

		fill_large(&room, 3);
		for (n = 0; n < 3; n++)
			chunks[n] = memory_controller_borrow(controller, &tokens[n]);
		for (n = 0; n < 3; n++) {
			size_t which = orders[order][n];

			memory_controller_return(controller, tokens[which],
						 fake_compress(chunks[which]));
			assert_order(&room, 1);
		}
		for (n = 0; n < 3; n++) {
			assert_order(&room, 1 + n * LARGE);
			chunk_manager_destroy_at_or_before(
				room.manager, chunk_manager_peek(room.manager)->header.done_ns);
		}
		fill_large(&room, 2);
		assert_int_equal(chunk_manager_peek(room.manager)->header.range_start,
				 1 + 3 * LARGE);
		assert_int_equal(count_blocks(room.buffer), 2);
		room_close(&room);
		memory_controller_close(controller);
	}
}

static void what_is_destroyed_while_it_is_borrowed_is_freed_by_the_return(void **state)
{
	struct memory_controller *controller = controller_of(100 * LARGE, LARGE);
	struct room room = room_under(controller, 1);
	const struct chunk *first, *second;
	void *tokens[2];

	fill_large(&room, 2);
	first = memory_controller_borrow(controller, &tokens[0]);
	second = memory_controller_borrow(controller, &tokens[1]);
	chunk_manager_destroy_at_or_before(room.manager, UINT64_MAX);
	assert_int_equal(stats_of(controller).released_bytes, 0);
	assert_int_equal(first->header.process_id, 1); /* still readable */
	memory_controller_return(controller, tokens[0], fake_compress(first));
	room_close(&room);
	assert_int_equal(second->header.process_id, 1); /* even without its manager */
	memory_controller_return(controller, tokens[1], NULL);
	assert_int_equal(stats_of(controller).compressed, 0);
	memory_controller_close(controller);
}

static void nothing_is_borrowed_while_paused_or_after_the_stop(void **state)
{
	struct memory_controller *controller = controller_of(100 * LARGE, LARGE);
	struct room room = room_under(controller, 1);
	void *token;

	fill_large(&room, 2);
	memory_controller_pause(controller);
	memory_controller_pause(controller);
	assert_null(memory_controller_borrow(controller, &token));
	memory_controller_resume(controller);
	assert_null(memory_controller_borrow(controller, &token));
	memory_controller_resume(controller);
	assert_non_null(memory_controller_wait_work(controller, &token));
	memory_controller_return(controller, token, NULL);
	memory_controller_stop(controller);
	assert_null(memory_controller_wait_work(controller, &token));
	assert_null(memory_controller_borrow(controller, &token));
	room_close(&room);
	memory_controller_close(controller);
}

/* Nothing is remembered of a chunk but the chunk, and room is made without any. */
static void a_chunk_is_one_allocation(void **state)
{
	struct memory_controller *controller = controller_of(1000 * CHUNK, CHUNK);
	struct room room = room_under(controller, 1);
	size_t before = alloc_count();

	fill_chunks(&room, 500);
	assert_int_equal(stats_of(controller).made, 500);
	assert_int_equal(alloc_count() - before, 500);
	room_close(&room);
	memory_controller_close(controller);
}

/* ---- no memory ------------------------------------------------------------------ */

static int put_in_three(void *context)
{
	struct memory_controller *controller = NULL;
	struct room rooms[3] = {0};
	const struct memory_controller_config config = {
		.max_bytes = 50 * CHUNK, .chunk_first_bytes = CHUNK, .chunk_max_bytes = CHUNK};
	int err = memory_controller_open(&controller, &config);
	size_t n;

	for (n = 0; n < 3 && !err; n++) {
		err = memory_controller_manager(controller, &rooms[n].manager);
		if (!err)
			err = chunked_buffer_open(&rooms[n].buffer, (uint32_t)n);
		if (!err)
			chunked_buffer_set_manager(rooms[n].buffer, rooms[n].manager);
	}
	for (n = 0; n < 200 && !err; n++)
		err = put_seeded(rooms[n % 3].buffer, n, 20, NULL);
	for (n = 0; n < 3; n++)
		room_close(&rooms[n]);
	memory_controller_close(controller);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	assert_true(alloc_fail_each(put_in_three, NULL) > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_a_sixteenth_of_the_limit_between_4_and_256_KiB),
		cmocka_unit_test(a_small_limit_still_holds_four_chunks),
		cmocka_unit_test(the_more_processes_put_the_smaller_the_chunks),
		cmocka_unit_test(a_process_begins_with_a_64th_of_its_share_and_doubles),
		cmocka_unit_test(short_lived_processes_cost_what_they_put),
		cmocka_unit_test(the_oldest_chunk_of_any_process_goes_first),
		cmocka_unit_test(the_limit_holds_whatever_processes_do),
		cmocka_unit_test(a_limit_below_one_chunk_keeps_what_is_being_filled),
		cmocka_unit_test(what_others_use_counts_against_the_limit),
		cmocka_unit_test(the_oldest_is_found_among_many_processes),
		cmocka_unit_test(what_was_put_after_the_newest_that_went_is_complete),
		cmocka_unit_test(fulfil_serves_all_that_wait),
		cmocka_unit_test(nothing_is_borrowed_before_something_is_released),
		cmocka_unit_test(the_newest_is_borrowed_first_and_each_once),
		cmocka_unit_test(a_replacement_is_counted_for_what_it_occupies),
		cmocka_unit_test(a_replacement_takes_the_place_of_its_chunk),
		cmocka_unit_test(what_is_destroyed_while_it_is_borrowed_is_freed_by_the_return),
		cmocka_unit_test(nothing_is_borrowed_while_paused_or_after_the_stop),
		cmocka_unit_test(a_chunk_is_one_allocation),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
