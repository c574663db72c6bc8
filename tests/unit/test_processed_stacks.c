/* SPDX-License-Identifier: BSD-2-Clause */
/* test_processed_stacks.c - the shared table of stacks: rows are used again, and what is forgotten gets another row. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "format/json.h"
#include "format/processed_code.h"
#include "format/processed_stacks.h"
#include "format/spool.h"

#include "alloc.h"

struct text {
	char *bytes;
	size_t size;
};

static int append(void *context, const void *data, size_t size)
{
	struct text *text = context;

	text->bytes = realloc(text->bytes, text->size + size + 1);
	if (!text->bytes)
		return -ENOMEM;
	memcpy(text->bytes + text->size, data, size);
	text->size += size;
	text->bytes[text->size] = '\0';
	return 0;
}

/* The table as a tree; the caller's. */
static json_t *write_table(struct processed_stacks *stacks)
{
	struct text text = {0};
	const struct json_sink sink = {append, &text, NULL};
	struct json *json;
	json_t *root;

	assert_int_equal(json_open(&json, &sink), 0);
	json_object_begin(json);
	assert_int_equal(processed_stacks_write(stacks, json), 0);
	json_object_end(json);
	assert_int_equal(json_flush(json), 0);
	json_close(json);
	root = json_loads(text.bytes, 0, NULL);
	assert_non_null(root);
	free(text.bytes);
	return root;
}

static json_int_t cell(json_t *root, const char *column, size_t row)
{
	json_t *values = json_object_get(json_object_get(root, "stackTable"), column);

	return json_integer_value(json_array_get(values, row));
}

static uint32_t add(struct processed_stacks *stacks, uint32_t prefix, uint32_t frame)
{
	uint32_t id;

	assert_int_equal(processed_stacks_add(stacks, prefix, frame, &id), 0);
	return id;
}

/* Opened, with processes that share it. */
static void open_shared(struct processed_stacks *stacks, struct spool_pool *pool)
{
	assert_int_equal(processed_stacks_open(stacks, pool), 0);
	assert_int_equal(processed_stacks_share(stacks), 0);
}

static void a_stack_has_one_row(void **state)
{
	struct processed_stacks stacks = {0};
	struct spool_pool *pool;
	json_t *root;
	uint32_t a, b;

	assert_int_equal(spool_pool_open(&pool, 0, NULL), 0);
	open_shared(&stacks, pool);
	a = add(&stacks, PROCESSED_NONE, 7);
	assert_int_equal(add(&stacks, PROCESSED_NONE, 8), 1);
	b = add(&stacks, a, 7);
	assert_int_equal(add(&stacks, PROCESSED_NONE, 7), a);
	assert_int_equal(add(&stacks, a, 7), b);
	root = write_table(&stacks);
	assert_int_equal(cell(root, "frame", b), 7);
	assert_int_equal(cell(root, "prefixOffset", a), 0);
	assert_int_equal(cell(root, "prefixOffset", b), b - a);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(root, "stackTable"), "length")),
		3);
	json_decref(root);
	processed_stacks_close(&stacks);
	spool_pool_close(pool);
}

/* The rows of the first process are found by the second. */
static void a_second_process_shares(void **state)
{
	struct processed_stacks stacks = {0};
	struct spool_pool *pool;
	uint32_t i, rows[100];

	assert_int_equal(spool_pool_open(&pool, 0, NULL), 0);
	assert_int_equal(processed_stacks_open(&stacks, pool), 0);
	for (i = 0; i < 100; i++)
		rows[i] = add(&stacks, i % 10 ? rows[i - 1] : PROCESSED_NONE, i);
	assert_int_equal(rows[99], 99);
	assert_int_equal(processed_stacks_share(&stacks), 0);
	for (i = 0; i < 100; i++)
		assert_int_equal(add(&stacks, i % 10 ? rows[i - 1] : PROCESSED_NONE, i), rows[i]);
	assert_int_equal(add(&stacks, rows[50], 1), 100);
	assert_int_equal(processed_stacks_share(&stacks), 0);
	assert_int_equal(add(&stacks, rows[50], 1), 100);
	processed_stacks_close(&stacks);
	spool_pool_close(pool);
}

/* What is forgotten has another row when it comes again, and what was built on it stays right. */
static void many_stacks_are_forgotten(void **state)
{
	struct processed_stacks stacks = {0};
	struct spool_pool *pool;
	uint32_t i, first, leaf;
	json_t *root;

	assert_int_equal(spool_pool_open(&pool, 0, NULL), 0);
	open_shared(&stacks, pool);
	first = add(&stacks, PROCESSED_NONE, 1);
	for (i = 1; i < PROCESSED_STACKS_MAX; i++)
		assert_int_equal(add(&stacks, first, i), i);
	leaf = add(&stacks, first, 1); /* is known, but the next one would be too many */
	assert_int_equal(leaf, PROCESSED_STACKS_MAX);
	assert_int_equal(add(&stacks, PROCESSED_NONE, 1), PROCESSED_STACKS_MAX + 1);
	assert_true(stacks.keys.slot_count <= 4 * PROCESSED_STACKS_MAX);
	root = write_table(&stacks);
	assert_int_equal(cell(root, "prefixOffset", leaf), leaf - first);
	assert_int_equal(cell(root, "frame", leaf), 1);
	assert_int_equal(cell(root, "prefixOffset", PROCESSED_STACKS_MAX + 1), 0);
	json_decref(root);
	processed_stacks_close(&stacks);
	spool_pool_close(pool);
}

static int attempt(void *context)
{
	struct processed_stacks stacks = {0};
	struct spool_pool *pool = NULL;
	uint32_t id, i;
	int err = spool_pool_open(&pool, 0, NULL);

	if (!err)
		err = processed_stacks_open(&stacks, pool);
	for (i = 0; i < 100 && !err; i++) {
		if (i == 50)
			err = processed_stacks_share(&stacks);
		if (!err)
			err = processed_stacks_add(&stacks, PROCESSED_NONE, i, &id);
	}
	processed_stacks_close(&stacks);
	spool_pool_close(pool);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_one_row),
		cmocka_unit_test(a_second_process_shares),
		cmocka_unit_test(many_stacks_are_forgotten),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
