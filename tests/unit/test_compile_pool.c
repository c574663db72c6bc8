/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables compiled by parsers side by side: the same as here, whatever the order and however many; and what goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/compile_order.h"
#include "capture/compile_pool.h"
#include "reader/sealed.h"
#include "service/service.h"
#include "service/table_image.h"

#include "alloc.h"

#define JOBS 24
#define LONG_NS (60 * NS_PER_SEC)

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void assert_same(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->first_page, b->first_page);
	assert_int_equal(a->row_count, b->row_count);
	assert_int_equal(a->page_count, b->page_count);
	assert_int_equal(a->rule_count, b->rule_count);
	assert_int_equal(a->segment_count, b->segment_count);
	assert_int_equal(a->tracks_reg, b->tracks_reg);
	assert_int_equal(a->has_no_eh_frame, b->has_no_eh_frame);
	assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
	assert_memory_equal(a->rows, b->rows, a->row_count * sizeof(*a->rows));
	assert_memory_equal(a->pages, b->pages, a->page_count * sizeof(*a->pages));
	assert_memory_equal(a->rules, b->rules, a->rule_count * sizeof(*a->rules));
	assert_memory_equal(a->segments, b->segments, a->segment_count * sizeof(*a->segments));
}

static struct compile_result next(struct compile_pool *pool)
{
	struct compile_result result;

	assert_true(compile_pool_next(pool, clock_now_ns() + LONG_NS, &result));
	return result;
}

static struct unwind_table *compile_here(int fd)
{
	struct unwind_table *table;

	assert_int_equal(unwind_table_compile(&table, &(struct unwind_source){.fd = fd}), 0);
	return table;
}

/* Every third job is no ELF file; sizes differ, so that the order changes. */
static void many_jobs(void **state)
{
	struct compile_pool *pool;
	int self = open_self(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unwind_table *alone = compile_here(self);
	bool seen[JOBS] = {false};
	struct compile_result result;
	uint32_t i;

	assert_int_equal(compile_pool_open(&pool), 0);
	assert_false(compile_pool_next(pool, 0, &result));
	for (i = 0; i < JOBS; i++) {
		const struct compile_job job = {.fd = dup(i % 3 ? self : null),
						.tag = i,
						.bytes = (i * 7 % JOBS) * 100000,
						.mapped_ns = i * 5 % JOBS};

		assert_int_equal(compile_pool_add(pool, &job), 0);
	}
	for (i = 0; i < JOBS; i++) {
		result = next(pool);
		assert_false(seen[result.tag]);
		seen[result.tag] = true;
		assert_int_equal(result.error, result.tag % 3 ? 0 : -ENOEXEC);
		if (result.error)
			continue;
		assert_same(&result.made.table, alone);
		table_close(&result.made);
	}
	assert_false(compile_pool_next(pool, clock_now_ns() + LONG_NS, &result));
	unwind_table_close(alone);
	compile_pool_close(pool);
	compile_pool_close(NULL);
	close(self);
	close(null);
}

static void the_vdso(void **state)
{
	const struct compile_job job = {.fd = -1, .tag = 7};
	struct compile_result result;
	struct compile_pool *pool;

	assert_int_equal(compile_pool_open(&pool), 0);
	assert_int_equal(compile_pool_add(pool, &job), 0);
	result = next(pool);
	assert_int_equal(result.tag, 7);
	assert_int_equal(result.error, 0);
	assert_true(result.made.table.row_count > 0);
	table_close(&result.made);
	compile_pool_close(pool);
}

static int live(void *context)
{
	struct compile_job job = {.fd = -1};
	struct compile_pool *pool;
	int err = compile_pool_open(&pool);

	if (err)
		return err;
	job.fd = dup(*(int *)context);
	err = compile_pool_add(pool, &job);
	if (!err) {
		struct compile_result result = next(pool);

		assert_int_equal(result.error, 0);
		table_close(&result.made);
	}
	compile_pool_close(pool);
	return err;
}

static void failing_allocations(void **state)
{
	int self = open_self();

	assert_true(alloc_fail_each(live, &self) > 1);
	close(self);
}

/* Who waits is not kept waiting by a library of a hundred megabytes. */
static void order(void **state)
{
	const struct compile_turn small = {.bytes = 100}, large = {.bytes = COMPILE_LARGE_BYTES},
				  hurried = {.bytes = COMPILE_LARGE_BYTES,
					     .mapped_ns = 2,
					     .is_hurried = true},
				  later = {.bytes = 100, .mapped_ns = 1};

	assert_true(compile_before(&small, &later, 0));
	assert_true(compile_before(&large, &later, 0));
	assert_false(compile_before(&small, &large, 0) || compile_before(&large, &small, 0));
	assert_true(compile_before(&later, &large, COMPILE_LIGHT_WORKER));
	assert_true(compile_before(&hurried, &small, 0));
	assert_true(compile_before(&hurried, &small, COMPILE_LIGHT_WORKER));
}

/* What is hurried is done, too, whether it is known, waits or has begun. */
static void hurried(void **state)
{
	int self = open_self();
	uint32_t i, tags = 0;
	struct compile_result result;
	struct compile_pool *pool;

	assert_int_equal(compile_pool_open(&pool), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(compile_pool_add(pool, &(struct compile_job){dup(self), i, 1, i}),
				 0);
	compile_pool_hurry(pool, 3);
	compile_pool_hurry(pool, 99);
	for (i = 0; i < 4; i++) {
		result = next(pool);
		assert_int_equal(result.error, 0);
		tags |= 1u << result.tag;
		table_close(&result.made);
		compile_pool_hurry(pool, 0);
	}
	assert_int_equal(tags, 15);
	compile_pool_close(pool);
	close(self);
}

/* ---- images ---------------------------------------------------------------------------- */

/* The image of this program's table, to be spoiled; the caller's to free. */
static char *make_image(size_t *bytes)
{
	int self = open_self();
	struct unwind_table *table = compile_here(self);
	int fd = table_image_make(table);
	const void *data;
	char *copy;

	assert_true(fd >= 0);
	assert_int_equal(sealed_map(fd, TABLE_IMAGE_MAX_BYTES, &data, bytes), 0);
	copy = malloc(*bytes);
	assert_non_null(copy);
	memcpy(copy, data, *bytes);
	sealed_unmap(data, *bytes);
	close(fd);
	close(self);
	unwind_table_close(table);
	return copy;
}

/* One word of a good image at a time is another. */
static void spoiled_images(void **state)
{
	struct unwind_table good, table;
	size_t bytes;
	char *image = make_image(&bytes);
	struct {
		uint32_t *word;
		uint32_t value;
	} spoils[16];
	size_t count = 0, i;

	assert_int_equal(table_image_read(image, bytes, &good), 0);
	assert_true(good.pages[0].count < 1000);
#define SPOIL(at, to)                                                                              \
	do {                                                                                       \
		spoils[count].word = (uint32_t *)(at);                                             \
		spoils[count++].value = (uint32_t)(to);                                            \
	} while (0)
	SPOIL(image + 8, 0);
	SPOIL(image + 8, good.page_count + 2);
	SPOIL(image + 12, UINT32_MAX);
	SPOIL(image + 16, 1);
	SPOIL(image + 20, good.segment_count + 1);
	SPOIL(&good.pages[0].first, good.row_count);
	SPOIL(&good.pages[0].first, UINT32_MAX);
	SPOIL(&good.pages[0].count, 0);
	SPOIL(&good.pages[0].count, UNWIND_MAX_ROWS_PER_PAGE + 1);
	SPOIL(&good.rows[good.pages[0].first], good.rows[good.pages[0].first] | 1);
	SPOIL(&good.rows[good.pages[0].first], good.rule_count << UNWIND_PAGE_BITS);
	SPOIL(&good.rules[0], 0xff);
	SPOIL(&good.rules[0], 0xff00);
	SPOIL(&good.rules[0], 0xff0000);
	SPOIL(&good.segments[0].bytes, 0); /* which is good */
	for (i = 0; i < count; i++) {
		const uint32_t was = *spoils[i].word;

		*spoils[i].word = spoils[i].value;
		assert_int_equal(table_image_read(image, bytes, &table),
				 i == count - 1 ? 0 : -EBADMSG);
		*spoils[i].word = was;
	}
	good.segments[0].bytes = UINT64_MAX;
	good.segments[0].address = 1;
	assert_int_equal(table_image_read(image, bytes, &table), -EBADMSG);
	assert_int_equal(table_image_read(image, bytes - 8, &table), -EBADMSG);
	assert_int_equal(table_image_read(image, 7, &table), -EBADMSG);
	free(image);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_jobs),
		cmocka_unit_test(the_vdso),
		cmocka_unit_test(order),
		cmocka_unit_test(hurried),
		cmocka_unit_test(failing_allocations),
		cmocka_unit_test(spoiled_images),
	};

	service_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
