/* SPDX-License-Identifier: BSD-2-Clause */
/* What brings names to a stripped file, by what a system, which is made here, says of itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "elf/build_id.h"
#include "profile/profile.h"
#include "session/names_remedy.h"

#include "alloc.h"
#include "elf_fixture.h"

#define LIBRARY "/usr/lib/libx.so.6"

static bool make_system(const char *list, const char *os_release)
{
	if (!fixture_make_library() ||
	    !fixture_run("mkdir -p usr/lib etc var/lib/dpkg/info && cp lib.so ." LIBRARY
			 " && rm -f etc/* var/lib/dpkg/info/*"))
		return false;
	if (list)
		fixture_write("var/lib/dpkg/info/libc6:amd64.list", list, strlen(list));
	if (os_release)
		fixture_write("etc/os-release", os_release, strlen(os_release));
	return true;
}

/* That library, of the build that lies there. */
static struct profile_file stripped(void)
{
	struct profile_file file = {.path = (char *)LIBRARY, .trouble = SYMBOL_TROUBLE_STRIPPED};
	int fd = elf_open_path(NULL, fixture_path(LIBRARY));

	assert_true(fd >= 0);
	assert_int_equal(build_id_read(fd, &file.wanted), 0);
	fd_close(&fd);
	return file;
}

static struct names_remedy find(const struct profile_file *file)
{
	return names_remedy_find(fixture_dir, file);
}

static void assert_package(const char *list, const char *package)
{
	struct names_remedy found;
	struct profile_file file;

	if (!make_system(list, NULL))
		skip();
	file = stripped();
	found = find(&file);
	assert_string_equal(found.package, package);
	assert_string_equal(found.debug_package, "");
	assert_null(found.servers);
}

static void test_package(void **state)
{
	assert_package("/.\n/usr\n" LIBRARY "\n", "libc6-dbg");
	assert_package(LIBRARY, "libc6-dbg");
	/* The package is older than the link that leads to /usr/lib. */
	assert_package("/lib\n/lib/libx.so.6\n/lib/libx.so.7\n", "libc6-dbg");
	assert_package(LIBRARY ".1\n/opt" LIBRARY "\n", "");
	assert_package("", "");
	assert_package(NULL, "");
}

static void assert_debug_package(const char *want)
{
	struct profile_file file = stripped();
	struct names_remedy found = find(&file);

	assert_string_equal(found.debug_package, want);
	assert_string_equal(found.package, "");
}

static void write_list(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "var/lib/dpkg/info/%s", name);
	fixture_write(path, text, strlen(text));
}

/* Of another package: its name and no more, and only if it alone has the file. */
static void test_debug_package(void **state)
{
	if (!make_system("/usr/lib/libc.so\n", NULL))
		skip();
	write_list("libx6.md5sums", LIBRARY "\n");
	write_list("-x.list", LIBRARY "\n");
	write_list("Lib;x.list", LIBRARY "\n");
	write_list(".list", LIBRARY "\n");
	assert_debug_package("");
	write_list("libx++6:amd64.list", "/usr\n" LIBRARY "\n");
	assert_debug_package("libx++6-dbgsym");
	write_list("libx++6:i386.list", LIBRARY "\n");
	assert_debug_package("libx++6-dbgsym");
	write_list("libx.list", LIBRARY "\n");
	assert_debug_package("");
}

static void assert_servers(const char *os_release, const char *url)
{
	struct profile_file file;
	const char *found;

	if (!make_system(NULL, os_release))
		skip();
	file = stripped();
	found = find(&file).servers;
	if (url)
		assert_string_equal(found, url);
	else
		assert_null(found);
}

static void test_servers(void **state)
{
	assert_servers("NAME=x\nID=debian\nVERSION_ID=12\n", "https://debuginfod.debian.net");
	assert_servers("ID=\"fedora\"", "https://debuginfod.fedoraproject.org");
	assert_servers("VERSION_ID=debian\nID=debianish\n", NULL);
	assert_servers("", NULL);
}

/* A container's, another build, one whose build is not known, or not stripped at all. */
static void test_not_ours(void **state)
{
	struct profile_file file, other;

	if (!make_system(LIBRARY "\n", "ID=debian\n"))
		skip();
	file = stripped();
	assert_string_equal(find(&file).package, "libc6-dbg");
	other = file;
	other.wanted.bytes[0] ^= 1;
	assert_string_equal(find(&other).package, "");
	assert_null(find(&other).servers);
	other = file;
	other.wanted.size = 0;
	assert_string_equal(find(&other).package, "");
	other = file;
	other.path = (char *)"/usr/lib/nothing.so";
	assert_null(find(&other).servers);
	other = file;
	other.trouble = SYMBOL_TROUBLE_MISSING;
	assert_string_equal(find(&other).package, "");
	/* It is somebody's own: no server has it. */
	assert_true(fixture_run("mkdir -p usr/local/lib && cp lib.so usr/local/lib/libx.so"));
	other = file;
	other.path = (char *)"/usr/local/lib/libx.so";
	assert_null(find(&other).servers);
}

/* Where packages put no files, others can: such a file is not even opened. */
static void test_not_where_packages_are(void **state)
{
	struct profile_file file;

	if (!make_system("/opt/libx.so\n/usr/lib/../../opt/libx.so\n", "ID=debian\n"))
		skip();
	assert_true(fixture_run("mkdir -p opt && cp lib.so opt/libx.so"));
	file = stripped();
	file.path = (char *)"/opt/libx.so";
	assert_string_equal(find(&file).package, "");
	assert_null(find(&file).servers);
	file.path = (char *)"/usr/lib/../../opt/libx.so";
	assert_string_equal(find(&file).package, "");
	assert_null(find(&file).servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_package),
		cmocka_unit_test(test_debug_package),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_not_where_packages_are),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
