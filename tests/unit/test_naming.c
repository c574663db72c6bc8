/* SPDX-License-Identifier: BSD-2-Clause */
/* test_naming.c - names of finished files: what had the name is kept under the next number, or replaced if that is wanted. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/naming.h"
#include "base/temporary.h"

static char directory[] = "/tmp/geckobpf-test-naming.XXXXXX";

static const char *in_directory(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", directory, name);
	return path;
}

static void put(const char *name, const char *text)
{
	int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void assert_content(const char *name, const char *text)
{
	int fd = open(in_directory(name), O_RDONLY | O_CLOEXEC);
	char got[32] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), strlen(text));
	close(fd);
	assert_string_equal(got, text);
}

static void empty_directory(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf %s/* %s/.[a-z]*", directory, directory);
	assert_int_equal(system(command), 0);
}

/* A finished file with the content `text` gets the name. Returns what is called otherwise now; NULL: nothing. */
static char *finish(const char *name, const char *text, bool replaces)
{
	char *temporary, *kept;
	int fd = temporary_create(in_directory(name), &temporary);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(naming_apply(in_directory(name), replaces, &temporary, &kept), 0);
	assert_null(temporary);
	return kept;
}

static void a_free_name_is_taken(void **state)
{
	assert_null(finish("p.json", "new", false));
	assert_content("p.json", "new");
	empty_directory();
}

/* The number goes before the suffix, whatever that is. */
static void an_older_file_is_kept(void **state)
{
	static const char *const names[][2] = {
		{"p.json", "p-2.json"},
		{"p.json.gz", "p-2.json.gz"},
		{"p.json.zst", "p-2.json.zst"},
		{"p.pb.gz", "p-2.pb.gz"},
		{"p.gbpf", "p-2.gbpf"},
		{"a.b.folded", "a.b-2.folded"},
		{"plain", "plain-2"},
		{".hidden", ".hidden-2"},
		{"x.gz", "x-2.gz"},
	};
	char first[PATH_MAX], *kept;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(first, sizeof(first), "%s", names[i][1]);
		*strrchr(first, '2') = '1';
		put(first, "oldest");
		put(names[i][0], "old");
		kept = finish(names[i][0], "new", false);
		assert_string_equal(kept, in_directory(names[i][1]));
		free(kept);
		assert_content(names[i][0], "new");
		assert_content(names[i][1], "old");
		assert_content(first, "oldest");
		empty_directory();
	}
}

static void it_is_replaced_if_that_is_wanted(void **state)
{
	put("p.json", "old");
	assert_null(finish("p.json", "new", true));
	assert_content("p.json", "new");
	assert_int_equal(access(in_directory("p-1.json"), F_OK), -1);
	empty_directory();
}

/* What has a name may be something else than a file. */
static void links_are_kept(void **state)
{
	char target[16] = "", *kept;

	assert_int_equal(symlink("nowhere", in_directory("p.json")), 0);
	kept = finish("p.json", "new", false);
	assert_int_equal(readlink(kept, target, sizeof(target)), 7);
	free(kept);
	assert_content("p.json", "new");
	empty_directory();
}

static void directories_stay(void **state)
{
	char *temporary, *kept = NULL;
	int fd = temporary_create(in_directory("d.json"), &temporary);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdir(in_directory("d.json"), 0700), 0);
	assert_int_equal(naming_apply(in_directory("d.json"), false, &temporary, &kept), -EISDIR);
	assert_int_equal(naming_apply(in_directory("d.json"), true, &temporary, &kept), -EISDIR);
	assert_null(kept);
	assert_non_null(temporary);
	temporary_remove(&temporary);
	empty_directory();
}

/* Whoever comes first: all are there in the end. */
static void many_at_once(void **state)
{
	const int count = 16;
	char name[32], text[16];
	int i, status, found = 0;

	for (i = 0; i < count; i++) {
		if (fork() != 0)
			continue;
		snprintf(text, sizeof(text), "%d", i);
		free(finish("p.json", text, false));
		_exit(0);
	}
	for (i = 0; i < count; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), i ? "p-%d.json" : "p.json", i);
		found += !access(in_directory(name), F_OK);
	}
	assert_int_equal(found, count);
	empty_directory();
}

static void a_file_is_not_renamed_to_another(void **state)
{
	put("a", "a");
	put("b", "b");
	assert_int_equal(naming_rename(in_directory("a"), in_directory("b")), -EEXIST);
	assert_content("b", "b");
	assert_int_equal(naming_rename(in_directory("c"), in_directory("d")), -ENOENT);
	assert_int_equal(naming_rename(in_directory("a"), in_directory("d")), 0);
	assert_content("d", "a");
	empty_directory();
}

static void numbers(void **state)
{
	char name[PATH_MAX];

	assert_int_equal(naming_number(in_directory("p.json.gz"), 1, false, name, sizeof(name)), 0);
	assert_string_equal(name, in_directory("p-1.json.gz"));
	put("p-1.json.gz", "");
	put("p-2.json.gz", "");
	assert_int_equal(naming_number(in_directory("p.json.gz"), 1, false, name, sizeof(name)), 0);
	assert_string_equal(name, in_directory("p-3.json.gz"));
	assert_int_equal(naming_number(in_directory("p.json.gz"), 1, true, name, sizeof(name)), 0);
	assert_string_equal(name, in_directory("p-1.json.gz"));
	assert_int_equal(naming_number(in_directory("p.json.gz"), 1, false, name, 8),
			 -ENAMETOOLONG);
	empty_directory();
}

static void what_is_no_file(void **state)
{
	assert_true(naming_is_direct("-"));
	assert_true(naming_is_direct("/dev/null"));
	assert_int_equal(mkfifo(in_directory("pipe.json"), 0600), 0);
	assert_true(naming_is_direct(in_directory("pipe.json")));
	assert_int_equal(symlink("/dev/null", in_directory("null.json")), 0);
	assert_true(naming_is_direct(in_directory("null.json")));
	put("p.json", "");
	assert_false(naming_is_direct(in_directory("p.json")));
	assert_false(naming_is_direct(in_directory("none.json")));
	assert_false(naming_is_direct(directory));
	empty_directory();
}

static int keep_with_memory(void *context)
{
	char *temporary = NULL, *kept = NULL;
	int fd = temporary_create(in_directory("p.json"), &temporary), err;

	if (fd < 0)
		return fd;
	close(fd);
	err = naming_apply(in_directory("p.json"), false, &temporary, &kept);
	assert_true(!err == !!kept);
	free(kept);
	temporary_remove(&temporary);
	return err;
}

static void failing_allocations(void **state)
{
	put("p.json", "old");
	assert_true(alloc_fail_each(keep_with_memory, NULL) >= 2);
	empty_directory();
}

static int setup(void **state)
{
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_name_is_taken),
		cmocka_unit_test(an_older_file_is_kept),
		cmocka_unit_test(it_is_replaced_if_that_is_wanted),
		cmocka_unit_test(links_are_kept),
		cmocka_unit_test(directories_stay),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(a_file_is_not_renamed_to_another),
		cmocka_unit_test(numbers),
		cmocka_unit_test(what_is_no_file),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
