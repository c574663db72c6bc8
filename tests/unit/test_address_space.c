/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces: which mapping an address had at a time, and when that can change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "target/address_space.h"
#include "target/object.h"

#include "address_space_fixture.h"
#include "alloc.h"

/* The `index`th of those that were added and can still be found. */
static struct mapping listed(const struct address_space *space, size_t index)
{
	struct mapping_list list = {0};
	struct mapping mapping;

	assert_int_equal(address_space_list(space, 0, &list), 0);
	assert_true(index < list.count);
	mapping = list.items[index].mapping;
	free(list.items);
	return mapping;
}

static size_t list_count(const struct address_space *space)
{
	struct mapping_list list = {0};

	assert_int_equal(address_space_list(space, 0, &list), 0);
	free(list.items);
	return list.count;
}

static void test_empty(void **state)
{
	struct address_space space = {0};

	assert_int_equal(at(&space, 0, 0), -1);
	assert_int_equal(at(&space, UINT64_MAX, UINT64_MAX), -1);
	assert_true(address_space_era_end(&space, 0) == UINT64_MAX);
	address_space_clear(&space);
}

static void test_bounds(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 200, 300, 0, 1);
	add(&space, UINT64_MAX - 10, UINT64_MAX, 0, 2);
	assert_int_equal(at(&space, 99, 5), -1);
	assert_int_equal(at(&space, 100, 5), 0);
	assert_int_equal(at(&space, 199, 5), 0);
	assert_int_equal(at(&space, 200, 5), 1);
	assert_int_equal(at(&space, 299, 5), 1);
	assert_int_equal(at(&space, 300, 5), -1);
	assert_int_equal(at(&space, UINT64_MAX - 1, 5), 2);
	assert_int_equal(at(&space, UINT64_MAX, 5), -1);
	assert_int_equal(space.era_count, 0);
	address_space_clear(&space);
	assert_int_equal(space.count, 0);
	assert_null(space.root);
}

/* dlclose and dlopen: the same addresses hold one library, then another. */
static void test_by_time(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 10, 0);
	add(&space, 100, 200, 20, 1);
	add(&space, 100, 200, 30, 2);
	assert_int_equal(at(&space, 150, 10), 0);
	assert_int_equal(at(&space, 150, 19), 0);
	assert_int_equal(at(&space, 150, 20), 1);
	assert_int_equal(at(&space, 150, 29), 1);
	assert_int_equal(at(&space, 150, 30), 2);
	assert_int_equal(at(&space, 150, UINT64_MAX), 2);
	/* Before all of them: the first, since its event may have been late. */
	assert_int_equal(at(&space, 150, 0), 0);
	assert_int_equal(at(&space, 150, 9), 0);
	address_space_clear(&space);
}

static void test_eras(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 300, 400, 10, 1); /* no address changes hands */
	assert_true(address_space_era_end(&space, 0) == UINT64_MAX);
	add(&space, 150, 160, 20, 2);
	add(&space, 390, 410, 20, 2);
	add(&space, 100, 200, 30, 3);
	assert_int_equal(space.era_count, 2);
	assert_int_equal(address_space_era_end(&space, 0), 20);
	assert_int_equal(address_space_era_end(&space, 19), 20);
	assert_int_equal(address_space_era_end(&space, 20), 30);
	assert_int_equal(address_space_era_end(&space, 29), 30);
	assert_true(address_space_era_end(&space, 30) == UINT64_MAX);
	address_space_clear(&space);
}

/* What is looked up within an era does not depend on when: the promise that makes it cacheable. */
static void test_an_era_is_constant(void **state)
{
	struct address_space space = {0};
	uint64_t address, time_ns;

	add(&space, 0, 40, 0, 0);
	add(&space, 10, 20, 5, 1);
	add(&space, 60, 90, 8, 2);
	add(&space, 15, 70, 12, 3);
	add(&space, 0, 100, 20, 0);
	for (address = 0; address < 100; address++) {
		int now = at(&space, address, 0);

		for (time_ns = 1; time_ns < 30; time_ns++) {
			int then = now;

			now = at(&space, address, time_ns);
			if (address_space_era_end(&space, time_ns - 1) != time_ns)
				assert_int_equal(now, then);
		}
	}
	address_space_clear(&space);
}

static void test_partial_overlaps(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 50, 110, 10, 1);
	add(&space, 190, 250, 20, 2);
	add(&space, 105, 195, 30, 3);
	assert_int_equal(at(&space, 104, 40), 1);
	assert_int_equal(at(&space, 105, 40), 3);
	assert_int_equal(at(&space, 194, 40), 3);
	assert_int_equal(at(&space, 195, 40), 2);
	assert_int_equal(at(&space, 105, 29), 1);
	assert_int_equal(at(&space, 150, 29), 0);
	assert_int_equal(at(&space, 105, 9), 0);
	assert_int_equal(at(&space, 60, 9), 1);
	address_space_clear(&space);
}

static void test_not_added_twice(void **state)
{
	struct address_space space = {0};
	struct mapping other = {
		.start = 100, .end = 200, .offset = 0x2000, .from_ns = 9, .object = &objects[0]};

	add(&space, 100, 200, 0, 0);
	add(&space, 100, 200, 5, 0);
	assert_int_equal(space.count, 1);
	assert_int_equal(listed(&space, 0).from_ns, 0);
	assert_int_equal(space.era_count, 0);
	/* Another offset or object is another mapping. */
	assert_int_equal(address_space_add(&space, &other), 0);
	add(&space, 100, 201, 10, 0);
	add(&space, 100, 201, 11, 1);
	assert_int_equal(space.count, 4);
	/* What was replaced and came back is added. */
	add(&space, 100, 200, 12, 0);
	assert_int_equal(list_count(&space), 5);
	address_space_clear(&space);
}

/* Memory of no file that grows, and shrinks, and grows: the kernel tells all of it each time. */
static void test_memory_that_grows(void **state)
{
	struct object heap = {.kind = OBJECT_ANONYMOUS};
	struct mapping mapping = {.start = 0x10000, .object = &heap};
	struct address_space space = {0};

	for (mapping.from_ns = 1; mapping.from_ns < 10000; mapping.from_ns++) {
		mapping.end = mapping.start + 0x1000 * (1 + mapping.from_ns % 777);
		mapping.offset = mapping.start >> 12;
		assert_int_equal(address_space_add(&space, &mapping), 0);
	}
	assert_int_equal(space.count, 1);
	assert_int_equal(space.era_count, 0);
	assert_int_equal(listed(&space, 0).end, 0x10000 + 0x1000 * 777);
	assert_ptr_equal(address_space_find(&space, 0x10000 + 0x1000 * 776, 5)->object, &heap);
	address_space_clear(&space);
}

/* from_ns never falls, whatever the caller says. */
static void test_late_mapping(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 50, 0);
	add(&space, 100, 150, 40, 1);
	assert_int_equal(listed(&space, 1).from_ns, 50);
	assert_int_equal(at(&space, 120, 50), 1);
	assert_int_equal(at(&space, 160, 50), 0);
	address_space_clear(&space);
}

static void test_inherit(void **state)
{
	struct address_space parent = {0}, child = {0};

	add(&parent, 100, 200, 0, 0);
	add(&parent, 300, 400, 10, 1);
	add(&parent, 350, 360, 20, 2);
	add(&parent, 500, 600, 30, 3);
	assert_int_equal(address_space_inherit(&child, &parent, 20), 0);
	assert_int_equal(list_count(&child), 4); /* one is in two parts: it was never whole */
	assert_int_equal(child.era_count, 0);
	assert_int_equal(at(&child, 100, 0), 0);
	assert_int_equal(at(&child, 355, 0), 2);
	assert_int_equal(at(&child, 361, 0), 1);
	assert_int_equal(at(&child, 550, 100), -1);
	/* They were there before: nothing is added. */
	assert_int_equal(address_space_inherit(&child, &(struct address_space){0}, 20), 0);
	assert_int_equal(list_count(&child), 4);
	address_space_clear(&parent);
	address_space_clear(&child);
}

/* Overlapping mappings of one's own are older and newer than each other in turn; there must be an end. */
static void test_inherit_from_itself(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 150, 250, 0, 1);
	assert_int_equal(address_space_inherit(&space, &space, 10), 0);
	assert_true(space.count <= 4);
	assert_int_equal(at(&space, 225, 0), 1);
	address_space_clear(&space);
}

/* ---- dropping ---------------------------------------------------------------------------------- */

static void test_expire(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0); /* covered by the two at 10 and 20 */
	add(&space, 300, 400, 0, 1); /* half of it is */
	add(&space, 100, 150, 10, 1);
	add(&space, 500, 600, 10, 2);
	add(&space, 150, 350, 20, 2);
	add(&space, 500, 600, 30, 3);
	assert_int_equal(address_space_expire(&space, 9), 0);
	assert_int_equal(space.era_count, 3);
	assert_int_equal(list_count(&space), 6);
	assert_int_equal(address_space_expire(&space, 19), 1); /* a half of the first */
	assert_int_equal(space.era_count, 2);
	assert_int_equal(list_count(&space), 6);
	assert_int_equal(address_space_expire(&space, 20),
			 2); /* the other, and one of the second */
	assert_int_equal(space.era_count, 1);
	assert_int_equal(list_count(&space), 5);
	assert_int_equal(at(&space, 120, 20), 1);
	assert_int_equal(at(&space, 180, 20), 2);
	assert_int_equal(at(&space, 380, 20), 1);
	assert_int_equal(at(&space, 550, 29), 2);
	assert_int_equal(address_space_expire(&space, 30), 1);
	assert_int_equal(list_count(&space), 4);
	assert_int_equal(space.count, 4);
	assert_int_equal(space.era_count, 0);
	assert_int_equal(at(&space, 550, 29), 3);
	assert_int_equal(address_space_expire(&space, UINT64_MAX), 0);
	assert_int_equal(space.left_out, 0);
	address_space_clear(&space);
}

/* ---- against a model ------------------------------------------------------------ */

/* Every mapping that was ever added, in order. */
struct model {
	struct mapping items[4000];
	size_t count;
};

static const struct mapping *find_in_model(const struct model *model, uint64_t address,
					   uint64_t time_ns)
{
	const struct mapping *later = NULL;
	size_t i;

	for (i = model->count; i-- > 0;) {
		const struct mapping *mapping = &model->items[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		if (mapping->from_ns <= time_ns)
			return mapping;
		later = mapping;
	}
	return later;
}

static void assert_same(const struct address_space *space, const struct model *model,
			uint64_t address, uint64_t time_ns)
{
	const struct mapping *is = address_space_find(space, address, time_ns);
	const struct mapping *should = find_in_model(model, address, time_ns);

	assert_int_equal(!is, !should);
	if (!is)
		return;
	assert_ptr_equal(is->object, should->object);
	assert_int_equal(is->offset + (address - is->start),
			 should->offset + (address - should->start));
}

static void add_random(struct address_space *space, struct model *model, uint64_t now,
		       uint32_t *seed)
{
	struct mapping mapping = {.start = next_random(seed) % 200, .from_ns = now};

	mapping.end = mapping.start + 1 + next_random(seed) % (next_random(seed) % 9 ? 12 : 150);
	mapping.object = &objects[next_random(seed) % 4];
	mapping.offset = next_random(seed) % 3 ? 0x1000 + mapping.start : 0x5000;
	assert_int_equal(address_space_add(space, &mapping), 0);
	model->items[model->count++] = mapping;
}

/* What can be found at the horizon and after it is the same as without dropping. */
static void test_expire_random(void **state)
{
	static struct model whole;
	struct address_space space = {0};
	uint64_t now, horizon, address;
	uint32_t seed = 7;
	size_t most = 0;

	whole.count = 0;
	for (now = 1; now <= 3000; now++) {
		add_random(&space, &whole, now, &seed);
		horizon = now > 50 ? now - 50 : 0;
		if (next_random(&seed) % 10)
			continue;
		address_space_expire(&space, horizon);
		most = space.count > most ? space.count : most;
		for (address = 0; address < 360; address++)
			assert_same(&space, &whole, address, horizon + next_random(&seed) % 60);
	}
	/* As many as there are addresses, and those of 60 time steps, each with its parts. */
	assert_in_range(most, 50, 400);
	assert_in_range(space.era_count, 10, 100);
	assert_true(address_space_bytes(&space) < 400 * 120);
	assert_int_equal(space.left_out, 0);
	address_space_clear(&space);
}

/* Parents and children that go on by themselves, and what a list of them makes, are all as if each had all for itself. */
static void test_model(void **state)
{
	static struct model models[4];
	struct address_space spaces[4] = {{0}};
	uint32_t seed = 11;
	uint64_t now, i;

	memset(models, 0, sizeof(models));
	for (now = 1; now <= 2500; now++) {
		size_t one = next_random(&seed) % 4, other = next_random(&seed) % 4;

		add_random(&spaces[one], &models[one], now, &seed);
		if (one != other && !(next_random(&seed) % 100)) {
			address_space_clear(&spaces[other]);
			assert_int_equal(address_space_inherit(&spaces[other], &spaces[one], now),
					 0);
			models[other] = models[one];
		}
		for (i = 0; i < 20; i++) {
			const uint64_t since = spaces[other].since_ns;

			assert_same(&spaces[other], &models[other], next_random(&seed) % 360,
				    since + next_random(&seed) % (now - since + 1));
		}
	}
	for (i = 0; i < 4; i++)
		address_space_clear(&spaces[i]);
}

/* What is listed, added to another space, is found there as here. */
static void test_list_again(void **state)
{
	static struct model model;
	struct address_space space = {0}, again = {0}, later = {0};
	struct mapping_list list = {0};
	uint32_t seed = 5;
	uint64_t now, i, half = 0;

	model.count = 0;
	for (now = 1; now <= 600; now++) {
		add_random(&space, &model, now, &seed);
		if (now != 300)
			continue;
		half = space.sequence;
		assert_int_equal(address_space_list(&space, 0, &list), 0);
		for (i = 0; i < list.count; i++)
			assert_int_equal(address_space_add(&later, &list.items[i].mapping), 0);
	}
	assert_int_equal(address_space_list(&space, half, &list), 0);
	for (i = 0; i < list.count; i++)
		assert_int_equal(address_space_add(&later, &list.items[i].mapping), 0);
	assert_int_equal(address_space_list(&space, 0, &list), 0);
	for (i = 0; i < list.count; i++)
		assert_int_equal(address_space_add(&again, &list.items[i].mapping), 0);
	for (i = 0; i < 20000; i++) {
		const uint64_t address = next_random(&seed) % 360;
		const uint64_t time_ns = next_random(&seed) % 700;

		assert_same(&again, &model, address, time_ns);
		assert_same(&later, &model, address, time_ns);
	}
	free(list.items);
	address_space_clear(&space);
	address_space_clear(&again);
	address_space_clear(&later);
}

static void test_late_past_of_a_parent(void **state)
{
	struct address_space parent = {0}, child = {0};

	add(&parent, 100, 200, 10, 0);
	add(&parent, 100, 200, 20, 1);
	assert_int_equal(address_space_inherit(&child, &parent, 30), 0);
	assert_int_equal(list_count(&child), 1);
	assert_int_equal(listed(&child, 0).from_ns, 0);
	address_space_clear(&parent);
	assert_int_equal(address_space_expire(&child, 29), 0);
	assert_int_equal(address_space_expire(&child, 30), 1);
	assert_int_equal(at(&child, 150, 30), 1);
	assert_int_equal(child.count, 1);
	assert_int_equal(address_space_expire(&child, UINT64_MAX), 0);
	address_space_clear(&child);
}

/* ---- no memory ---------------------------------------------------------------------- */

static int fill(void *context)
{
	struct address_space parent = {0}, child = {0};
	struct mapping mapping = {.object = &objects[0]};
	int err = 0;

	for (mapping.from_ns = 1; mapping.from_ns <= 40 && !err; mapping.from_ns++) {
		const uint64_t sequence = parent.sequence;

		mapping.start = mapping.from_ns % 4;
		mapping.end = mapping.start + 2;
		err = address_space_add(&parent, &mapping);
		assert_int_equal(parent.sequence, sequence + !err);
	}
	if (!err)
		err = address_space_inherit(&child, &parent, 40);
	if (!err) {
		mapping.object = &objects[1];
		err = address_space_add(&child, &mapping);
		assert_int_equal(at(&child, mapping.start, 50), !err);
		assert_int_equal(at(&parent, mapping.start, 50), 0);
	}
	if (!err)
		err = address_space_limit(&child, 8);
	address_space_clear(&parent);
	address_space_clear(&child);
	return err;
}

static void test_no_memory(void **state)
{
	assert_true(alloc_fail_each(fill, NULL) > 40 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_by_time),
		cmocka_unit_test(test_eras),
		cmocka_unit_test(test_an_era_is_constant),
		cmocka_unit_test(test_partial_overlaps),
		cmocka_unit_test(test_not_added_twice),
		cmocka_unit_test(test_memory_that_grows),
		cmocka_unit_test(test_late_mapping),
		cmocka_unit_test(test_inherit),
		cmocka_unit_test(test_inherit_from_itself),
		cmocka_unit_test(test_expire),
		cmocka_unit_test(test_expire_random),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_list_again),
		cmocka_unit_test(test_late_past_of_a_parent),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
