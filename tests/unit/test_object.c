/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped files: which sightings are the same file, how it is opened, and when it is kept open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/object.h"

#include "alloc.h"
#include "object_fixture.h"

/* ---- the same or another ---------------------------------------------------------------------------- */

static void test_by_place(void **state)
{
	const char *path = make_file("plain", 0), *other = make_file("other", 0);
	struct object *object = see_place(5, 77, path);

	assert_int_equal(object->kind, OBJECT_FILE);
	assert_int_equal(object->number, 0);
	assert_int_equal(object->device, 5);
	assert_int_equal(object->inode, 77);
	assert_int_equal(object->first_pid, getpid());
	assert_string_equal(object->path, path);
	assert_int_equal(object->build_id.size, 0);
	assert_open(object, path);
	assert_ptr_equal(see_place(5, 77, path), object);
	assert_ptr_equal(see_place(6, 77, path), object); /* it was looked at */
	assert_ptr_not_equal(see_place(6, 77, other), object);
	assert_ptr_not_equal(see_place(5, 78, other), object);
	assert_ptr_not_equal(see_place(5, 77, "/other"), object);
	assert_int_equal(objects_count(objects), 3);
	assert_ptr_equal(objects_at(objects, 0), object);
	assert_int_equal(objects_at(objects, 2)->number, 2);
	unlink(path);
	unlink(other);
}

/* The same library in two containers. */
static void test_by_build_id(void **state)
{
	const char *one = make_file("one", 0xaa), *two = make_file("two", 0xaa);
	const char *other = make_file("other", 0xbb);
	struct object *object = see_place(5, 1, one);

	assert_build(object, 0xaa);
	assert_ptr_equal(see_place(5, 2, two), object);
	assert_ptr_equal(see_place(5, 2, two), object);
	assert_ptr_equal(see_build("/gone/lib.so", 0xaa), object);
	assert_ptr_not_equal(see_place(5, 3, other), object);
	assert_int_equal(objects_count(objects), 2);
	assert_string_equal(object->path, one);
	unlink(one);
	unlink(two);
	unlink(other);
}

/* Sightings with a build id come without device and inode: then equal paths mean nothing. */
static void test_one_path_two_builds(void **state)
{
	struct object *before = see_build("/nonexistent/prog", 1);
	struct object *after = see_build("/nonexistent/prog", 2);

	assert_ptr_not_equal(before, after);
	assert_build(before, 1);
	assert_build(after, 2);
	assert_ptr_equal(see_build("/nonexistent/prog", 1), before);
	assert_ptr_equal(see_build("/nonexistent/prog", 2), after);
	assert_int_equal(objects_count(objects), 2);
	assert_int_equal(before->fd, -1);
}

/* A sighting with a build id, then one of the same file with a place. */
static void test_build_id_then_place(void **state)
{
	const char *path = make_file("lib", 0xcc);
	struct object *object = see_build(path, 0xcc);

	assert_open(object, path);
	assert_ptr_equal(see_place(5, 9, path), object);
	assert_int_equal(objects_count(objects), 1);
	unlink(path);
}

static void test_empty_build_id_is_none(void **state)
{
	const struct build_id none = {0};
	const struct object_sighting sighting = {
		.pid = getpid(), .inode = 4, .path = "/nonexistent/a", .build_id = &none};
	struct object *object = see(&sighting);

	assert_int_equal(object->build_id.size, 0);
	assert_ptr_equal(see(&sighting), object);
	assert_ptr_equal(see_place(0, 4, "/nonexistent/a"), object);
}

/* ---- kinds --------------------------------------------------------------------------------------- */

static void test_kinds(void **state)
{
	static const struct {
		const char *path;
		enum object_kind kind;
	} cases[] = {
		{"/usr/lib/nonexistent.so", OBJECT_FILE},
		{"/memfd:jit (deleted)", OBJECT_FILE},
		{"[vdso]", OBJECT_VDSO},
		{"//anon", OBJECT_ANONYMOUS},
		{"[heap]", OBJECT_ANONYMOUS},
		{"[vsyscall]", OBJECT_ANONYMOUS},
		{"[anon:v8]", OBJECT_ANONYMOUS},
		{"anon_inode:[perf_event]", OBJECT_ANONYMOUS},
		{"", OBJECT_ANONYMOUS},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object *object = see_path(cases[i].path);

		assert_int_equal(object->kind, cases[i].kind);
		assert_int_equal(object->number, i);
		assert_int_equal(object->fd, -1);
		assert_ptr_equal(see_path(cases[i].path), object);
	}
}

/* ---- opening -------------------------------------------------------------------------------------- */

static struct object *see_mapped(int fd, const char *path)
{
	void *memory = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	struct object *object;

	assert_true(memory != MAP_FAILED);
	object = see(&(struct object_sighting){.pid = getpid(),
					       .start = (uintptr_t)memory,
					       .end = (uintptr_t)memory + PAGE,
					       .inode = 1,
					       .path = path});
	munmap(memory, PAGE);
	return object;
}

/* Whether the kernel lets us open files through /proc/PID/map_files. */
static void need_root(void)
{
	if (geteuid())
		skip();
}

static void test_deleted_file(void **state)
{
	const char *path = make_file("deleted", 0xdd);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct object *object;
	char marked[128];

	need_root();
	unlink(path);
	snprintf(marked, sizeof(marked), "%s (deleted)", path);
	object = see_mapped(fd, marked);
	close(fd);
	assert_true(object->fd >= 0);
	assert_build(object, 0xdd);
	assert_string_equal(object->path, path);
	assert_ptr_equal(see_build("/anywhere", 0xdd), object);
}

static void test_memfd(void **state)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	struct object *object;

	need_root();
	write_elf(fd, 0xee);
	object = see_mapped(fd, "/memfd:code (deleted)");
	close(fd);
	assert_int_equal(object->kind, OBJECT_FILE);
	assert_true(object->fd >= 0);
	assert_build(object, 0xee);
	assert_string_equal(object->path, "/memfd:code");
}

/* A name that only ends like a deleted one, or is nothing else. */
static void test_deleted_mark(void **state)
{
	assert_string_equal(see_path("/nonexistent/a (deleted) ")->path,
			    "/nonexistent/a (deleted) ");
	assert_string_equal(see_path(" (deleted)")->path, " (deleted)");
	assert_string_equal(see_path("/x (deleted) (deleted)")->path, "/x (deleted)");
}

/* Opening a pipe would wait, opening a device may do anything. */
static void test_only_regular_files(void **state)
{
	const char *pipe_path = in_dir("pipe");

	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	assert_int_equal(see_path(pipe_path)->fd, -1);
	assert_int_equal(see_path("/dev/null")->fd, -1);
	assert_int_equal(see_path(dir)->fd, -1);
	unlink(pipe_path);
}

/* A process that is gone: its file is looked for under the same name here. */
static void test_process_gone(void **state)
{
	const char *path = make_file("gone", 0x11);
	struct object *object = see(
		&(struct object_sighting){.pid = 0x7ffffff0, .start = 1, .end = 2, .path = path});

	assert_open(object, path);
	assert_build(object, 0x11);
	unlink(path);
}

/* The name is there, the file is another: a process of a container that is gone, a program built anew. */
static void test_other_file_of_that_name(void **state)
{
	const char *path = make_file("replaced", 0x22), *plain = make_file("plain", 0);

	assert_int_equal(see_build(path, 0x21)->fd, -1);
	assert_build(see_build(path, 0x21), 0x21);
	assert_int_equal(see_build(plain, 0x23)->fd, -1);
	assert_open(see_build(path, 0x22), path);
	unlink(path);
	unlink(plain);
}

/* Where it was mapped is something else by now; it is found by its name. */
static void test_other_file_in_its_place(void **state)
{
	const char *path = make_file("unmapped", 0x32), *other = make_file("mapped-later", 0x33);
	const struct build_id id = id_of(0x32);
	int fd = open(other, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	struct object *object;

	assert_ptr_not_equal(at, MAP_FAILED);
	object = see(&(struct object_sighting){.pid = getpid(),
					       .start = (uint64_t)at,
					       .end = (uint64_t)at + PAGE,
					       .path = path,
					       .build_id = &id});
	assert_open(object, path);
	assert_build(object, 0x32);
	munmap(at, PAGE);
	close(fd);
	unlink(path);
	unlink(other);
}

static void test_long_path(void **state)
{
	char *path = malloc(6000);
	struct object *object;

	assert_non_null(path);
	memset(path, 'p', 5999);
	path[0] = '/';
	path[5999] = '\0';
	object = see_place(1, 1, path);
	assert_string_equal(object->path, path);
	assert_ptr_equal(see_place(1, 1, path), object);
	assert_ptr_not_equal(see_place(1, 2, path), object);
	free(path);
}

static void test_descriptor_budget(void **state)
{
	const char *paths[3];
	struct objects *few;
	struct object *object;
	char name[8];
	uint8_t i;

	assert_int_equal(objects_open(&few, 2), 0);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%u", i);
		paths[i] = make_file(name, (uint8_t)(i + 1));
		assert_int_equal(
			objects_get(few, &(struct object_sighting){.path = paths[i]}, &object), 0);
		if (i < 2)
			assert_open(object, paths[i]);
		else
			assert_int_equal(object->fd, -1);
		assert_build(object, (uint8_t)(i + 1));
	}
	objects_close(few);
	objects_close(NULL);
	for (i = 0; i < 3; i++)
		unlink(paths[i]);
}

/* ---- no memory -------------------------------------------------------------------------------------- */

/* ---- dropping -------------------------------------------------------------------------------------- */

static bool always(void *context, const struct object *object)
{
	return true;
}

static bool never(void *context, const struct object *object)
{
	return false;
}

static void test_sweep(void **state)
{
	const char *path = make_file("lib", 1);
	struct object *object = see_build(path, 1), *other = see_place(0, 7, "[heap]");
	int fd = object->fd;

	see_place(5, 77, path); /* leads to the same */
	assert_int_equal(objects_count(objects), 2);
	assert_int_equal(objects_sweep(objects, never, NULL), 0);
	object->is_used = other->is_used = true;
	assert_int_equal(objects_sweep(objects, always, NULL), 0);
	assert_false(object->is_used);
	other->is_used = true;
	assert_int_equal(objects_sweep(objects, always, NULL), 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(objects_count(objects), 1);
	assert_ptr_equal(objects_at(objects, 0), other);
	assert_ptr_equal(see_place(0, 7, "[heap]"), other);
	/* It is met again by its place, then known by its build id; the number is free. */
	object = see_place(5, 77, path);
	assert_int_equal(object->number, 0);
	assert_open(object, path);
	assert_ptr_equal(see_build(path, 1), object);
	assert_int_equal(objects_count(objects), 2);
	unlink(path);
}

/* A library that ever new containers bring along: one object, of whose places only some are remembered. */
static void test_many_places(void **state)
{
	const char *path = make_file("lib", 1);
	struct object *plain = see_place(5, 1, "[heap]"), *object = see_place(5, 2, path);
	size_t before;
	uint64_t i;

	for (i = 0; i < 3000; i++)
		assert_ptr_equal(see_place(6, i, path), object);
	before = objects_bytes(objects);
	object->is_used = plain->is_used = true;
	assert_int_equal(objects_sweep(objects, always, NULL), 0);
	assert_true(objects_bytes(objects) < before / 3);
	assert_ptr_equal(see_place(5, 1, "[heap]"), plain);
	assert_ptr_equal(see_place(6, 5, path), object);
	assert_int_equal(objects_count(objects), 2);
	unlink(path);
}

static int see_some(void *context)
{
	const struct build_id id = id_of(7);
	struct objects *some;
	struct object *object = NULL;
	int err = objects_open(&some, 4);
	char path[32];
	size_t i;

	if (err)
		return err;
	for (i = 0; i < 40 && !err; i++) {
		const struct object_sighting sighting = {
			.inode = i, .path = path, .build_id = i == 20 ? &id : NULL};

		snprintf(path, sizeof(path), i % 2 ? "/nonexistent/%zu" : "[%zu]", i);
		object = NULL;
		err = objects_get(some, &sighting, &object);
		assert_true(err ? !object : object == objects_at(some, i));
	}
	objects_close(some);
	return err;
}

static void test_no_memory(void **state)
{
	assert_true(alloc_fail_each(see_some, NULL) > 80);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, open_objects, close_objects)
	const struct CMUnitTest tests[] = {
		FRESH(test_by_place),
		FRESH(test_by_build_id),
		FRESH(test_one_path_two_builds),
		FRESH(test_build_id_then_place),
		FRESH(test_empty_build_id_is_none),
		FRESH(test_kinds),
		FRESH(test_deleted_file),
		FRESH(test_memfd),
		FRESH(test_deleted_mark),
		FRESH(test_only_regular_files),
		FRESH(test_process_gone),
		FRESH(test_other_file_of_that_name),
		FRESH(test_other_file_in_its_place),
		FRESH(test_long_path),
		FRESH(test_descriptor_budget),
		FRESH(test_sweep),
		FRESH(test_many_places),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
