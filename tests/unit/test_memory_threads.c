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
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chunked.h"
#include "fake_codec.h"

#define LARGE 2048
#define PUTS (32 * 1024)

static struct memory_controller *large_controller(size_t chunks)
{
	struct memory_controller *controller = NULL;
	const struct memory_controller_config config = {
		.max_bytes = chunks * LARGE,
		.chunk_first_bytes = LARGE,
		.chunk_max_bytes = LARGE,
		.expander = &fake_expander,
	};

	assert_int_equal(memory_controller_open(&controller, &config), 0);
	return controller;
}

/* Compresses two of three chunks until it is told to stop. */
static void *compress(void *context)
{
	struct memory_controller *controller = context;
	const struct chunk *chunk;
	uintptr_t count = 0;
	void *token;

	while ((chunk = memory_controller_wait_work(controller, &token)) != NULL)
		memory_controller_return(controller, token,
					 ++count % 3 ? fake_compress(chunk) : NULL);
	return (void *)count;
}

static uintptr_t join(struct memory_controller *controller, pthread_t thread)
{
	void *count;

	memory_controller_stop(controller);
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

static int check(void *context, const struct block_view *block)
{
	struct expected *expected = context;

	assert_block(block, expected->seed, payload_of(expected->seed));
	expected->seed += 3;
	return 0;
}

/* Buffer `which` of three has every third block, of which the oldest may be gone. */
static void assert_readable(struct memory_controller *controller, const struct room *room,
			    uint64_t which)
{
	struct chunked_buffer_state now = chunked_buffer_get_state(room->buffer);
	struct expected expected = {which + 3 * now.cleared};

	memory_controller_pause(controller);
	assert_int_equal(chunked_buffer_each(room->buffer, check, &expected), 0);
	memory_controller_resume(controller);
	assert_int_equal(expected.seed, which + 3 * now.pushed);
}

/*
 * Theirs has 32 threads that put into one buffer; ours has one that puts, as many blocks, and one
 * that compresses what was put.
 */
static void thousands_of_puts_while_chunks_are_compressed(void **state)
{
	struct memory_controller *controller = large_controller(40);
	struct room rooms[3];
	pthread_t thread;
	uint64_t seed, which;

	for (which = 0; which < 3; which++)
		rooms[which] = room_under(controller, (uint32_t)which);
	assert_int_equal(pthread_create(&thread, NULL, compress, controller), 0);
	for (seed = 0; seed < PUTS; seed++) {
		put(rooms[seed % 3].buffer, seed, payload_of(seed));
		if (seed % 16 == 0)
			memory_controller_fulfil(controller);
		if (seed % 4096 == 0)
			assert_readable(controller, &rooms[0], 0);
		assert_true(memory_controller_get_stats(controller).released_bytes <= 40 * LARGE);
	}
	for (which = 0; which < 3; which++)
		assert_readable(controller, &rooms[which], which);
	assert_true(join(controller, thread) >= memory_controller_get_stats(controller).compressed);
	for (which = 0; which < 3; which++) {
		struct chunked_buffer_state now = chunked_buffer_get_state(rooms[which].buffer);

		assert_int_equal(now.failed, 0);
		assert_true(now.cleared > 0);
		room_close(&rooms[which]);
	}
	memory_controller_close(controller);
}

/* What it borrowed is cleared, taken, destroyed, and its manager closed meanwhile. */
static void buffers_come_and_go_while_chunks_are_compressed(void **state)
{
	struct memory_controller *controller = large_controller(20);
	pthread_t thread;
	size_t round, n;

	assert_int_equal(pthread_create(&thread, NULL, compress, controller), 0);
	for (round = 0; round < 500; round++) {
		struct room room = room_under(controller, (uint32_t)round);

		for (n = 0; n < 30; n++)
			put(room.buffer, n, 200);
		if (round % 4 == 0)
			chunked_buffer_clear(room.buffer);
		if (round % 4 == 1)
			chunk_destroy_list(chunked_buffer_take_chunks(room.buffer));
		if (round % 4 == 2)
			chunked_buffer_finish(room.buffer);
		put(room.buffer, n, 200);
		room_close(&room);
	}
	join(controller, thread);
	assert_int_equal(memory_controller_get_stats(controller).released_bytes, 0);
	memory_controller_close(controller);
}

static void a_compressor_without_work_stops(void **state)
{
	struct memory_controller *controller = large_controller(20);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, compress, controller), 0);
	memory_controller_pause(controller);
	memory_controller_resume(controller);
	assert_int_equal(join(controller, thread), 0);
	memory_controller_close(controller);
}

/* ---- fork ------------------------------------------------------------------------ */

#define FORKS 100

struct asker {
	struct memory_controller *controller;
	atomic_bool is_over;
};

/* Has the lock half of the time. */
static void *ask_for_work(void *context)
{
	struct asker *asker = context;
	void *token;

	while (!atomic_load(&asker->is_over))
		if (memory_controller_borrow(asker->controller, &token))
			memory_controller_return(asker->controller, token, NULL);
	return NULL;
}

/* In the child, which is killed should it wait for a thread that only its parent has. */
static _Noreturn void read_and_exit(const struct chunked_buffer *buffer)
{
	size_t count = 0;

	alarm(20);
	_exit(chunked_buffer_each(buffer, count_block, &count) ? 255 : (int)count);
}

static void a_forked_child_can_read_whatever_the_compressor_did(void **state)
{
	struct memory_controller *controller = large_controller(20);
	struct asker asker = {.controller = controller};
	struct room room = room_under(controller, 1);
	pthread_t thread;
	size_t n;

	for (n = 0; n < 30; n++)
		put(room.buffer, n, 200);
	assert_int_equal(pthread_create(&thread, NULL, ask_for_work, &asker), 0);
	for (n = 0; n < FORKS; n++) {
		pid_t child = memory_controller_fork(controller);
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
	memory_controller_close(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_of_puts_while_chunks_are_compressed),
		cmocka_unit_test(buffers_come_and_go_while_chunks_are_compressed),
		cmocka_unit_test(a_compressor_without_work_stops),
		cmocka_unit_test(a_forked_child_can_read_whatever_the_compressor_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
