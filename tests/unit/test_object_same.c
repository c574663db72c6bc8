/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped files that say they are others, and what is kept of those that go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"

#include "alloc.h"
#include "object_fixture.h"

/* It has the build id of another, and other content: whoever comes first, each is its own. */
static void test_impostor(void **state)
{
	const char *paths[] = {make_file("real", 0x5a), make_file("fake", 0x5a)};
	size_t first;

	/* Behind what both have. */
	assert_int_equal(truncate(paths[1], PAGE + 1), 0);
	for (first = 0; first < 2; first++) {
		struct object *one = see_build(paths[first], 0x5a);
		struct object *other = see_build(paths[1 - first], 0x5a);

		assert_ptr_not_equal(one, other);
		assert_open(one, paths[first]);
		assert_open(other, paths[1 - first]);
		assert_ptr_equal(see_build(paths[first], 0x5a), one);
		assert_int_equal(objects_get_stats(objects).impostors, 1);
		close_objects(NULL);
		open_objects(NULL);
	}
	unlink(paths[0]);
	unlink(paths[1]);
}

/* Who is gone is believed, as long as there is no doubt. */
static void test_gone_and_impostor(void **state)
{
	const char *real = make_file("real", 0x5b), *fake = make_file("fake", 0x5b);
	const struct build_id id = id_of(0x5b);
	const struct object_sighting gone = {
		.pid = 0x7ffffff0, .path = "/gone/lib.so", .build_id = &id};
	struct object *object = see_build(real, 0x5b);

	assert_int_equal(chown(real, 1, 1), 0);
	assert_int_equal(truncate(fake, PAGE + 1), 0);
	assert_ptr_equal(see(&gone), object);
	assert_ptr_not_equal(see_build(fake, 0x5b), object);
	if (!object->is_ours)
		assert_ptr_not_equal(see(&gone), object);
	unlink(real);
	unlink(fake);
}

/* What is not to be kept open is copied, deleted files among them; of others there is a descriptor. */
static void test_what_is_kept(void **state)
{
	const char *path = make_file("kept", 0x5c);
	struct object *object = see_build(path, 0x5c);
	struct stat ours, theirs;

	assert_int_equal(stat(path, &theirs), 0);
	objects_tend(objects, clock_now_ns());
	assert_int_equal(object->work_fd, -1);
	assert_open(object, path);
	unlink(path);
	objects_tend(objects, clock_now_ns() + NS_PER_SEC);
	assert_true(object->fd >= 0 && object->copy_bytes);
	assert_int_equal(fstat(object->fd, &ours), 0);
	assert_int_not_equal(ours.st_ino, theirs.st_ino);
	assert_int_equal(objects_open_file(object), -ENOENT);
	objects_open_for_names(objects);
	assert_int_equal(objects_get_stats(objects).gone, 0);
	assert_false(object->is_shut);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, open_objects, close_objects)
	const struct CMUnitTest tests[] = {
		FRESH(test_impostor),
		FRESH(test_gone_and_impostor),
		FRESH(test_what_is_kept),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
