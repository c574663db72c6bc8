/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped files that are not what they were, or hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "elf/elf_open.h"
#include "target/object.h"

#include "alloc.h"

static struct objects *objects;

static int setup(void **state)
{
	return objects_open(&objects, 100);
}

static int teardown(void **state)
{
	objects_close(objects);
	return 0;
}

static struct object *see(const struct object_sighting *sighting)
{
	struct object *object = NULL;

	assert_int_equal(objects_get(objects, sighting, &object), 0);
	return object;
}

/* What lies at the path is another file than the one that was mapped: nobody's names come from it. */
static void test_other_inode(void **state)
{
	char path[] = "/tmp/geckobpf-object-XXXXXX";
	int fd = mkstemp(path);
	struct object_sighting sighting = {.pid = getpid(), .path = path};
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	close(fd);
	sighting.device = status.st_dev;
	sighting.inode = status.st_ino + 1;
	assert_int_equal(see(&sighting)->fd, -1);
	sighting.inode = status.st_ino;
	assert_true(see(&sighting)->fd >= 0);
	sighting.device = makedev(251, 77);
	assert_int_equal(see(&sighting)->fd, -1);
	unlink(path);
}

/* One that hangs is not asked twice. */
static int opened;

static int hang(void *context, const char *root, const char *path, const struct elf_place *place,
		struct file_status *status)
{
	opened++;
	return -ETIMEDOUT;
}

static void test_hangs(void **state)
{
	const struct elf_door door = {.open = hang};
	struct object_sighting sighting = {.pid = getpid(), .device = 9, .inode = 1, .path = "/a"};

	elf_open_through(&door);
	opened = 0;
	assert_int_equal(see(&sighting)->fd, -1);
	assert_int_equal(see(&sighting)->fd, -1);
	assert_int_equal(opened, 1);
	sighting.inode = 2;
	assert_int_equal(see(&sighting)->fd, -1);
	assert_int_equal(opened, 2);
	assert_int_equal(objects_get_stats(objects).late, 2);
	elf_open_through(NULL);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_other_inode),
		FRESH(test_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
