/* SPDX-License-Identifier: BSD-2-Clause */
/* What is mapped, laid out for the unwinder: who shares a layout, when one is made, and what it may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "capture/file_tables.h"
#include "capture/layouts.h"
#include "target/address_space.h"
#include "target/object.h"
#include "unwind/table_store.h"

#include "alloc.h"

#define SECOND_NS 1000000000ULL
#define NOW (1000 * SECOND_NS)

static struct object objects[4];
static struct gb_mapping *mappings;
static struct unwind_memory memory;
static struct file_tables *files;
static struct layouts *layouts;
static struct address_space space;

static int give_pool(void *context, uint32_t index, struct gb_chunk **out)
{
	return -ENOMEM;
}

static int setup_memory(void **state)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		objects[i] = (struct object){
			.number = i, .fd = -1, .kind = OBJECT_ANONYMOUS, .path = (char *)"//anon"};
	mappings = calloc(GB_MAX_MAPPINGS, sizeof(*mappings));
	memory = (struct unwind_memory){
		.pages = calloc(GB_MAX_PAGES, sizeof(*memory.pages)),
		.rules = calloc(GB_MAX_RULES, sizeof(*memory.rules)),
		.add_pool = give_pool,
	};
	return mappings && memory.pages && memory.rules ? 0 : -1;
}

static int teardown_memory(void **state)
{
	free(memory.pages);
	free(memory.rules);
	free(mappings);
	return 0;
}

static int setup(void **state)
{
	uint32_t i;
	int err = file_tables_open(&files, &memory, NULL); /* nothing of theirs is compiled */

	for (i = 0; i < 4 && !err; i++)
		err = file_tables_want(files, &objects[i], NOW);
	return err ? err : layouts_open(&layouts, mappings, files);
}

static int teardown(void **state)
{
	layouts_close(layouts);
	file_tables_close(files);
	address_space_clear(&space);
	return 0;
}

static void map(struct address_space *to, uint64_t page, uint64_t pages, size_t object)
{
	const struct mapping mapping = {.start = page << 12,
					.end = (page + pages) << 12,
					.from_ns = to->last_ns + 1,
					.object = &objects[object]};

	assert_int_equal(address_space_add(to, &mapping), 0);
}

static void map_many(struct address_space *to, uint64_t first, uint64_t count)
{
	for (; count--; first++)
		map(to, 2 * first, 1, first % 4);
}

static struct layout *get(const struct address_space *of, uint64_t now_ns)
{
	struct layout *layout;

	assert_int_equal(layouts_get(layouts, of, now_ns, &layout), 0);
	return layout;
}

static void test_what_is_mapped_now(void **state)
{
	struct layout *layout;
	struct gb_process_map place;
	const struct gb_mapping *laid;

	map(&space, 10, 10, 0);
	map(&space, 13, 2, 1);
	map(&space, 1, 3, 2);
	map(&space, (1ULL << 51) + 5, 1, 3); /* the kernel's */
	layout = get(&space, NOW);
	place = layout_place(layout);
	laid = layout_mappings(layouts, layout);
	assert_int_equal(place.count, 4);
	assert_ptr_equal(laid, mappings + place.first);
	assert_int_equal(place.generation, 1);
	assert_int_equal(laid[0].begin, 1 << 12);
	assert_int_equal(laid[1].begin, 10 << 12);
	assert_int_equal(laid[1].end, 13 << 12);
	assert_int_equal(laid[2].end, 15 << 12);
	assert_int_equal(laid[3].end, 20 << 12);
	assert_int_equal(laid[3].flags, GB_MAPPING_NO_TABLE);
	layouts_drop(layouts, layout, NOW);
	layouts_drop(layouts, NULL, NOW);
}

static void test_forks_share(void **state)
{
	struct address_space child = {0};
	struct layout *first, *second, *third;

	map_many(&space, 0, 100);
	first = get(&space, NOW);
	assert_int_equal(address_space_inherit(&child, &space, UINT64_MAX), 0);
	assert_true(layout_is_of(first, &child));
	second = get(&child, NOW);
	assert_ptr_equal(first, second);
	map(&child, 1001, 1, 0);
	assert_false(layout_is_of(first, &child));
	assert_true(layout_is_of(first, &space));
	assert_false(layout_is_of(NULL, &space));
	third = get(&child, NOW);
	assert_int_equal(layout_place(third).count, 101);
	assert_int_not_equal(layout_place(third).generation, layout_place(first).generation);
	layouts_drop(layouts, first, NOW);
	assert_int_equal(layout_place(second).count, 100);
	layouts_drop(layouts, second, NOW);
	layouts_drop(layouts, third, NOW);
	/* All are gone: what lay there is used again, a second later. */
	first = get(&space, NOW + SECOND_NS);
	assert_int_equal(layout_place(first).first, 0);
	layouts_drop(layouts, first, NOW);
	address_space_clear(&child);
}

/* What has changed since is another space; the address of what was freed may be used again by it. */
static void test_never_that_of_another(void **state)
{
	size_t i;

	for (i = 0; i < 500; i++) {
		struct address_space other = {0};
		struct layout *layout;

		map(&other, i, 1 + i % 3, i % 4);
		layout = get(&other, NOW);
		assert_int_equal(layout_mappings(layouts, layout)[0].begin, i << 12);
		address_space_clear(&other);
		layouts_drop(layouts, layout, NOW);
	}
}

/* A process with many mappings that adds one after the other is laid out a few times a second. */
static void test_budget(void **state)
{
	struct layout *layout = NULL;
	uint64_t now, made = 0;

	map_many(&space, 0, 20000);
	for (now = NOW; now < NOW + 10 * SECOND_NS; now += SECOND_NS / 1000) {
		map_many(&space, 20000 + (now - NOW) / (SECOND_NS / 1000), 1);
		if (!layouts_may_make(layouts, &space, !layout, now))
			continue;
		layouts_drop(layouts, layout, now);
		layout = get(&space, now);
		made++;
	}
	assert_in_range(made, 20, 45); /* 65,536 mappings a second, and as many at first */
	/* Others are not kept waiting. */
	for (; layouts_may_make(layouts, &space, false, now);) {
		layouts_drop(layouts, layout, now);
		layout = get(&space, now);
	}
	layouts_drop(layouts, layout, now);
	address_space_clear(&space);
	map_many(&space, 0, 64);
	assert_true(layouts_may_make(layouts, &space, false, now));
	map_many(&space, 64, 900);
	assert_false(layouts_may_make(layouts, &space, false, now));
	assert_true(layouts_may_make(layouts, &space, true, now));
	assert_true(layouts_may_make(layouts, &space, false, now + SECOND_NS));
}

static void test_no_room(void **state)
{
	struct address_space small = {0};
	struct layout *held[16], *layout = NULL;
	size_t count = 0;

	map_many(&small, 0, 1000);
	map_many(&space, 0, 40000);
	while (count < 16 && !layouts_get(layouts, &space, NOW, &held[count])) {
		map(&space, 100001 + 2 * count, 1, 0);
		count++;
	}
	assert_in_range(count, 2, 4);
	assert_int_equal(layouts_get(layouts, &space, NOW, &layout), -ENOSPC);
	assert_null(layout);
	layout = get(&small, NOW);
	layouts_drop(layouts, layout, NOW);
	while (count--)
		layouts_drop(layouts, held[count], NOW);
	address_space_clear(&small);
}

/* What cannot be remembered of a run that was given back is lost with it; all else fails as a whole. */
static void test_no_memory(void **state)
{
	struct layout *layout = NULL;
	bool failed;
	size_t n;

	map_many(&space, 0, 30);
	for (n = 1;; n++) {
		int err;

		alloc_fail_at(n);
		err = layouts_get(layouts, &space, NOW, &layout);
		failed = alloc_fail_stop();
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!failed)
			break;
	}
	assert_true(n > 1);
	assert_int_equal(layout_place(layout).first, 0);
	alloc_fail_at(1);
	layouts_drop(layouts, layout, NOW);
	assert_true(alloc_fail_stop());
}

static int open_layouts(void *context)
{
	struct layouts *opened = NULL;
	int err = layouts_open(&opened, mappings, files);

	layouts_close(opened);
	return err;
}

static void test_no_memory_to_open(void **state)
{
	assert_int_equal(alloc_fail_each(open_layouts, NULL), 1);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_what_is_mapped_now),
		FRESH(test_forks_share),
		FRESH(test_never_that_of_another),
		FRESH(test_budget),
		FRESH(test_no_room),
		FRESH(test_no_memory),
		FRESH(test_no_memory_to_open),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
