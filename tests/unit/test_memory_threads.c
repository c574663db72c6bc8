/* SPDX-License-Identifier: BSD-2-Clause */
/* test_memory_threads.c - what the compressor's thread shares with the one that puts; for ThreadSanitizer as well. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chunked.h"
#include "fake_codec.h"

#define LARGE 2048
#define PUTS (32 * 1024)

static struct chunk_store *large_store(size_t chunks)
{
	const struct chunk_store_config config = {
		.max_bytes = chunks * LARGE,
		.chunk_first_bytes = LARGE,
		.chunk_max_bytes = LARGE,
		.expander = &fake_expander,
	};

	return store_with(&config);
}

/* Compresses two of three chunks until it is told to stop. */
static void *compress(void *context)
{
	struct chunk_store *store = context;
	struct chunk *chunk;
	uintptr_t count = 0;

	while ((chunk = chunk_store_borrow(store, true)) != NULL)
		chunk_store_return(store, chunk, ++count % 3 ? fake_compress(chunk) : NULL);
	return (void *)count;
}

static uintptr_t join(struct chunk_store *store, pthread_t thread)
{
	void *count;

	chunk_store_stop(store);
	assert_int_equal(pthread_join(thread, &count), 0);
	return (uintptr_t)count;
}

static size_t payload_of(uint64_t seed)
{
	return 1 + seed * 31 % 100;
}

struct expected {
	uint64_t seed;
};

static void check(void *context, const struct block_view *block)
{
	struct expected *expected = context;

	assert_block(block, expected->seed, payload_of(expected->seed));
	expected->seed += 3;
}

/* Buffer `which` of three has every third block, of which the oldest may be gone. */
static void assert_readable(struct chunk_store *store, const struct room *room, uint64_t which)
{
	struct chunked_buffer_state now = chunked_buffer_get_state(room->buffer);
	struct expected expected = {which + 3 * now.cleared};

	chunk_store_pause(store);
	assert_int_equal(each_block(room->buffer, check, &expected), 0);
	chunk_store_resume(store);
	assert_int_equal(expected.seed, which + 3 * now.pushed);
}

/*
 * Theirs has 32 threads that put into one buffer; ours has one that puts, as many blocks, and one
 * that compresses what was put.
 */
static void thousands_of_puts_while_chunks_are_compressed(void **state)
{
	struct chunk_store *store = large_store(40);
	struct room rooms[3];
	pthread_t thread;
	uint64_t seed, which;

	for (which = 0; which < 3; which++)
		rooms[which] = room_under(store, (uint32_t)which);
	assert_int_equal(pthread_create(&thread, NULL, compress, store), 0);
	for (seed = 0; seed < PUTS; seed++) {
		put(rooms[seed % 3].buffer, seed, payload_of(seed));
		if (seed % 16 == 0)
			chunk_store_fulfil(store);
		if (seed % 4096 == 0)
			assert_readable(store, &rooms[0], 0);
		assert_true(released(store) <= 40 * LARGE);
	}
	for (which = 0; which < 3; which++)
		assert_readable(store, &rooms[which], which);
	assert_true(join(store, thread) >= chunk_store_get_stats(store).compressed);
	for (which = 0; which < 3; which++) {
		struct chunked_buffer_state now = chunked_buffer_get_state(rooms[which].buffer);

		assert_int_equal(now.failed, 0);
		assert_true(now.cleared > 0);
		room_close(&rooms[which]);
	}
	chunk_store_close(store);
}

/* What it borrowed goes for want of room, or its buffer is closed meanwhile. */
static void buffers_come_and_go_while_chunks_are_compressed(void **state)
{
	struct chunk_store *store = large_store(20);
	pthread_t thread;
	size_t round, n;

	assert_int_equal(pthread_create(&thread, NULL, compress, store), 0);
	for (round = 0; round < 500; round++) {
		struct room room = room_under(store, (uint32_t)round);

		for (n = 0; n < 30; n++)
			put(room.buffer, n, 200);
		if (round % 4 == 0)
			chunk_store_set_extra(store, 20 * LARGE);
		if (round % 4 == 1)
			chunk_store_set_extra(store, 0);
		if (round % 4 == 2)
			chunked_buffer_finish(room.buffer);
		put(room.buffer, n, 200);
		room_close(&room);
	}
	join(store, thread);
	assert_int_equal(released(store), 0);
	chunk_store_close(store);
}

static void *compress_each(void *context)
{
	struct chunk *chunk;

	while ((chunk = chunk_store_borrow(context, true)) != NULL)
		chunk_store_return(context, chunk, fake_compress(chunk));
	return NULL;
}

/* Often enough that the compressor waits already when there is work. */
static void a_compressor_that_waits_is_woken(void **state)
{
	struct chunk_store *store = large_store(20);
	struct room room = room_under(store, 1);
	pthread_t thread;
	uint64_t n;

	assert_int_equal(pthread_create(&thread, NULL, compress_each, store), 0);
	alarm(60);
	for (n = 1; n <= 200; n++) {
		put(room.buffer, n, LARGE - 2);
		while (chunk_store_get_stats(store).compressed < n)
			sched_yield();
	}
	alarm(0);
	join(store, thread);
	room_close(&room);
	chunk_store_close(store);
}

struct slow {
	struct chunk_store *store;
	struct chunk *chunk;
	atomic_bool is_over;
};

/* Gives the others time. */
static void *return_late(void *context)
{
	struct slow *slow = context;
	size_t n;

	for (n = 0; n < 1000; n++)
		sched_yield();
	atomic_store(&slow->is_over, true);
	chunk_store_return(slow->store, slow->chunk, NULL);
	return NULL;
}

static void a_pause_waits_for_what_is_borrowed(void **state)
{
	struct chunk_store *store = large_store(20);
	struct room room = room_under(store, 1);
	struct slow slow = {.store = store};
	pthread_t thread;

	put(room.buffer, 1, LARGE - 2);
	slow.chunk = chunk_store_borrow(store, false);
	assert_non_null(slow.chunk);
	assert_int_equal(pthread_create(&thread, NULL, return_late, &slow), 0);
	chunk_store_pause(store);
	assert_true(atomic_load(&slow.is_over));
	chunk_store_resume(store);
	assert_int_equal(pthread_join(thread, NULL), 0);
	room_close(&room);
	chunk_store_close(store);
}

static void a_compressor_without_work_stops(void **state)
{
	struct chunk_store *store = large_store(20);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, compress, store), 0);
	chunk_store_pause(store);
	chunk_store_resume(store);
	assert_int_equal(join(store, thread), 0);
	chunk_store_close(store);
}

/* ---- fork ------------------------------------------------------------------------ */

#define FORKS 100

struct asker {
	struct chunk_store *store;
	atomic_bool is_over;
};

/* Has the lock half of the time. */
static void *ask_for_work(void *context)
{
	struct asker *asker = context;
	struct chunk *chunk;

	while (!atomic_load(&asker->is_over))
		if ((chunk = chunk_store_borrow(asker->store, false)))
			chunk_store_return(asker->store, chunk, NULL);
	return NULL;
}

/* In the child, which is killed should it wait for a thread that only its parent has. */
static _Noreturn void read_and_exit(const struct chunked_buffer *buffer)
{
	size_t count = 0;

	alarm(20);
	_exit(each_block(buffer, count_block, &count) ? 255 : (int)count);
}

static void a_forked_child_can_read_whatever_the_compressor_did(void **state)
{
	struct chunk_store *store = large_store(20);
	struct asker asker = {.store = store};
	struct room room = room_under(store, 1);
	pthread_t thread;
	size_t n;

	for (n = 0; n < 30; n++)
		put(room.buffer, n, 200);
	assert_int_equal(pthread_create(&thread, NULL, ask_for_work, &asker), 0);
	for (n = 0; n < FORKS; n++) {
		pid_t child = chunk_store_fork(store);
		int status = 0;

		if (child == 0)
			read_and_exit(room.buffer);
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 30);
	}
	atomic_store(&asker.is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	room_close(&room);
	chunk_store_close(store);
}

static void in_a_forked_child_nothing_is_borrowed(void **state)
{
	struct chunk_store *store = large_store(20);
	struct room room = room_under(store, 1);
	struct chunk *chunk;
	pid_t child;
	int status = 0;

	put(room.buffer, 1, LARGE - 2);
	child = chunk_store_fork(store);
	if (child == 0)
		_exit(chunk_store_borrow(store, false) ? 1 : 0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* But in its parent. */
	chunk = chunk_store_borrow(store, false);
	assert_non_null(chunk);
	chunk_store_return(store, chunk, NULL);
	room_close(&room);
	chunk_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_of_puts_while_chunks_are_compressed),
		cmocka_unit_test(buffers_come_and_go_while_chunks_are_compressed),
		cmocka_unit_test(a_compressor_that_waits_is_woken),
		cmocka_unit_test(a_pause_waits_for_what_is_borrowed),
		cmocka_unit_test(a_compressor_without_work_stops),
		cmocka_unit_test(a_forked_child_can_read_whatever_the_compressor_did),
		cmocka_unit_test(in_a_forked_child_nothing_is_borrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
