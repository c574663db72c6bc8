/* SPDX-License-Identifier: BSD-2-Clause */
/* Spools keep the order of their bytes, in memory and through the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "format/json.h"
#include "format/spool.h"

#include "alloc.h"

#define SPOOLS 5

/* What a spool's bytes are checked against while they come out. */
struct reader {
	unsigned int spool;
	size_t at;
};

/* Byte number `at` of spool number `spool`: no short period. */
static char byte_of(unsigned int spool, size_t at)
{
	return (char)((at * 2654435761U >> 13) + spool * 31);
}

static int check_bytes(void *context, const void *data, size_t size)
{
	struct reader *reader = context;
	const char *bytes = data;
	size_t i;

	for (i = 0; i < size; i++) {
		if (bytes[i] != byte_of(reader->spool, reader->at++))
			return -EBADMSG;
	}
	return 0;
}

/* Appends `size` bytes, asking for room for more. */
static int append(struct spool *spool, unsigned int number, size_t size)
{
	char *room = spool_room(spool, size + 20);
	size_t i, from = spool_bytes(spool);

	if (!room)
		return spool_error(spool);
	for (i = 0; i < size; i++)
		room[i] = byte_of(number, from + i);
	spool_advance(spool, size);
	return 0;
}

static int read_back(struct spool *spool, unsigned int number)
{
	struct reader reader = {.spool = number};
	const struct json_sink sink = {.write = check_bytes, .context = &reader};
	struct json *json;
	int err = json_open(&json, &sink);

	if (err)
		return err;
	err = spool_splice(spool, json);
	if (!err)
		err = json_flush(json);
	json_close(json);
	if (!err && reader.at != spool_bytes(spool))
		return -ENODATA;
	return err;
}

/* Some spools get much, some little, one nothing. */
static int fill(struct spool **spools, unsigned int rounds)
{
	unsigned int round, i;
	int err = 0;

	for (round = 0; round < rounds && !err; round++) {
		for (i = 0; i < SPOOLS - 1 && !err; i++) {
			if (round % (i * i + 1) == 0)
				err = append(spools[i], i, 1 + (round * 7 + i) % 60);
		}
	}
	return err;
}

static int write_and_read(size_t bound_bytes, unsigned int rounds, uint64_t *spilled)
{
	struct spool *spools[SPOOLS] = {NULL};
	struct spool_pool *pool = NULL;
	unsigned int i;
	int err = spool_pool_open(&pool, bound_bytes, NULL);

	for (i = 0; i < SPOOLS && !err; i++)
		err = spool_open(&spools[i], pool);
	if (!err)
		err = fill(spools, rounds);
	for (i = 0; i < SPOOLS && !err; i++)
		err = read_back(spools[i], i);
	if (!err)
		*spilled = spool_pool_spilled(pool);
	for (i = 0; i < SPOOLS; i++)
		spool_close(spools[i]);
	spool_pool_close(pool);
	return err;
}

static void stays_in_memory(void **state)
{
	uint64_t spilled;

	assert_int_equal(write_and_read(0, 20000, &spilled), 0);
	assert_int_equal(spilled, 0);
}

static void spills_and_keeps_order(void **state)
{
	static const size_t bounds[] = {1, 1024, 5000, 64 * 1024, 300000};
	uint64_t spilled, last = UINT64_MAX;
	size_t i;

	for (i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		assert_int_equal(write_and_read(bounds[i], 20000, &spilled), 0);
		assert_true(spilled > 0);
		assert_true(spilled <= last);
		last = spilled;
	}
}

static void empty_and_null(void **state)
{
	uint64_t spilled;

	assert_int_equal(write_and_read(0, 0, &spilled), 0);
	spool_close(NULL);
	spool_pool_close(NULL);
}

/* The file is started over when nobody needs it, and works then. */
static void pool_is_used_again(void **state)
{
	struct spool_pool *pool;
	struct spool *spool;
	unsigned int round, i;

	assert_int_equal(spool_pool_open(&pool, 4096, NULL), 0);
	for (round = 0; round < 3; round++) {
		assert_int_equal(spool_open(&spool, pool), 0);
		for (i = 0; i < 1000; i++)
			assert_int_equal(append(spool, round, 50), 0);
		assert_int_equal(read_back(spool, round), 0);
		spool_close(spool);
	}
	assert_true(spool_pool_spilled(pool) > 3 * 40000);
	spool_pool_close(pool);
}

static void too_much_at_once(void **state)
{
	struct spool_pool *pool;
	struct spool *spool;

	assert_int_equal(spool_pool_open(&pool, 0, NULL), 0);
	assert_int_equal(spool_open(&spool, pool), 0);
	assert_non_null(spool_room(spool, 1024));
	spool_advance(spool, 1024);
	assert_null(spool_room(spool, 2000));
	assert_int_equal(spool_error(spool), -E2BIG);
	spool_close(spool);
	spool_pool_close(pool);
}

static void no_place_for_the_file(void **state)
{
	const char *before = getenv("TMPDIR");
	char *saved = before ? strdup(before) : NULL;
	uint64_t spilled;

	setenv("TMPDIR", "/nonexistent/directory", 1);
	assert_int_equal(write_and_read(2048, 20000, &spilled), -ENOENT);
	/* A file system that cannot have files without a name. */
	setenv("TMPDIR", "/proc", 1);
	assert_true(write_and_read(2048, 20000, &spilled) < 0);
	if (saved)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	free(saved);
}

static void file_has_no_name(void **state)
{
	char directory[] = "/tmp/test_spool.XXXXXX";
	const char *before = getenv("TMPDIR");
	char *saved = before ? strdup(before) : NULL;
	struct spool_pool *pool;
	struct spool *spool;
	unsigned int i;

	assert_non_null(mkdtemp(directory));
	setenv("TMPDIR", directory, 1);
	assert_int_equal(spool_pool_open(&pool, 1024, NULL), 0);
	assert_int_equal(spool_open(&spool, pool), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(append(spool, 0, 50), 0);
	assert_true(spool_pool_spilled(pool) > 0);
	/* It must be empty to be removed. */
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(read_back(spool, 0), 0);
	spool_close(spool);
	spool_pool_close(pool);
	if (saved)
		setenv("TMPDIR", saved, 1);
	else
		unsetenv("TMPDIR");
	free(saved);
}

static int attempt(void *context)
{
	uint64_t spilled;

	return write_and_read(*(size_t *)context, 300, &spilled);
}

static void failing_allocations(void **state)
{
	size_t bound_bytes = 0;

	assert_true(alloc_fail_each(attempt, &bound_bytes) > 10);
	bound_bytes = 2048;
	assert_true(alloc_fail_each(attempt, &bound_bytes) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_in_memory),  cmocka_unit_test(spills_and_keeps_order),
		cmocka_unit_test(empty_and_null),   cmocka_unit_test(pool_is_used_again),
		cmocka_unit_test(too_much_at_once), cmocka_unit_test(no_place_for_the_file),
		cmocka_unit_test(file_has_no_name), cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
