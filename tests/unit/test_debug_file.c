/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_debug_file.c - symbols that were stripped and put elsewhere: found where they should be, and
 * only if they fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "elf_fixture.h"
#include "elf/elf_file.h"
#include "symbol_files_fixture.h"

static char build_id_path[64]; /* "ab/cdef....debug" of lib.so */

static bool read_build_id(void)
{
	const struct symbol_source source = {.path = fixture_path("lib.so"), .fd = -1};
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	uint8_t id[20];
	size_t size, i;

	assert_int_equal(symbol_files_open(&symbol_files, NULL), 0);
	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	size = file_build_id(file, id, sizeof(id));
	for (i = 0; i < size; i++)
		sprintf(build_id_path + strlen(build_id_path), i == 0 ? "%02x/" : "%02x", id[i]);
	strcat(build_id_path, ".debug");
	symbol_files_close(symbol_files);
	return size == 20;
}

/*
 * lib.so as built, bare.so stripped, full.debug with what was stripped; other.debug is that of
 * another library. "root" is to be another file system's root.
 */
static int make_files(void **state)
{
	if (fixture_make(state))
		return -1;
	if (!fixture_make_library() ||
	    !fixture_run(
		    "objcopy --only-keep-debug lib.so full.debug && strip -o bare.so lib.so") ||
	    !fixture_run(
		    "cc -O1 -fPIC -shared -nostdlib -Wl,--build-id=sha1 -DX -g -o o.so lib.c &&"
		    "objcopy --only-keep-debug o.so other.debug && mkdir root"))
		return 0;
	return read_build_id() ? 0 : -1;
}

#define NEED_TOOLS()                                                                               \
	do {                                                                                       \
		if (!build_id_path[0])                                                             \
			skip();                                                                    \
	} while (0)

static uint64_t text_offset(const char *name)
{
	struct elf_file *file;
	uint64_t offset;

	assert_int_equal(fixture_open(&file, fixture_path(name)), 0);
	offset = elf_file_named(file, ".text")->offset;
	elf_file_close(file);
	return offset;
}

/* 0: hidden_function was found; -ENOENT: only outer_function was. */
static int look(struct symbol_files *symbol_files, const struct symbol_source *source,
		uint64_t text)
{
	struct symbol_file *file;
	bool hidden = false, outer = false;
	struct symbol symbol;
	uint64_t i;
	int err = symbol_files_add(symbol_files, source, &file);

	for (i = 0; !err && i < 256; i++) {
		err = symbol_file_lookup(file, text + i, &symbol);
		hidden |= !err && !strcmp(symbol.name, "hidden_function");
		outer |= !err && !strcmp(symbol.name, "outer_function");
		if (err == -ENOENT)
			err = 0;
	}
	if (err)
		return err;
	assert_true(outer);
	return hidden ? 0 : -ENOENT;
}

static int search(const char *path, const char *file_name, const char *root)
{
	char debug_dir[300];
	const struct symbol_options options = {.debug_dir = debug_dir};
	struct symbol_source source = {.path = path, .fd = -1, .root = root};
	struct symbol_files *symbol_files;
	uint64_t text = text_offset(file_name);
	size_t size;
	char *image = fixture_read(file_name, &size);
	int err;

	/* In a root, the debug directory has the same path as here. */
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", fixture_dir);
	source.image = image;
	source.image_bytes = size;
	assert_int_equal(symbol_files_open(&symbol_files, &options), 0);
	err = look(symbol_files, &source, text);
	symbol_files_close(symbol_files);
	free(image);
	return err;
}

static int search_here(const char *name)
{
	return search(fixture_path(name), name, NULL);
}

static void clean(void)
{
	assert_true(fixture_run("rm -rf debug .debug root && mkdir root"));
}

static void test_nothing_there(void **state)
{
	NEED_TOOLS();
	assert_int_equal(search_here("lib.so"), 0);
	assert_int_equal(search_here("bare.so"), -ENOENT);
}

static void test_build_id(void **state)
{
	NEED_TOOLS();
	assert_true(fixture_run("mkdir -p debug/.build-id/%.2s && cp full.debug debug/.build-id/%s",
				build_id_path, build_id_path));
	assert_int_equal(search_here("bare.so"), 0);
	/* Another build's symbols must not be taken, nor garbage, nor a file without .symtab. */
	assert_true(fixture_run("cp other.debug debug/.build-id/%s", build_id_path));
	assert_int_equal(search_here("bare.so"), -ENOENT);
	assert_true(fixture_run("echo hello > debug/.build-id/%s", build_id_path));
	assert_int_equal(search_here("bare.so"), -ENOENT);
	assert_true(fixture_run("cp bare.so debug/.build-id/%s", build_id_path));
	assert_int_equal(search_here("bare.so"), -ENOENT);
	clean();
}

static void test_build_id_in_root(void **state)
{
	NEED_TOOLS();
	assert_true(fixture_run("mkdir -p root%s/debug/.build-id/%.2s &&"
				"cp full.debug root%s/debug/.build-id/%s",
				fixture_dir, build_id_path, fixture_dir, build_id_path));
	assert_int_equal(search_here("bare.so"), -ENOENT);
	assert_int_equal(search(fixture_path("bare.so"), "bare.so", fixture_path("root")), 0);
	assert_int_equal(search(fixture_path("bare.so"), "bare.so", fixture_path("no_root")),
			 -ENOENT);
	clean();
}

/* Links in the root are links to places in the root. */
static void test_links_in_root(void **state)
{
	NEED_TOOLS();
	assert_true(fixture_run("mkdir -p root%s/debug/.build-id/%.2s root/elsewhere &&"
				"cp full.debug root/elsewhere/x.debug &&"
				"ln -s /elsewhere/x.debug root%s/debug/.build-id/%s",
				fixture_dir, build_id_path, fixture_dir, build_id_path));
	assert_int_equal(search(fixture_path("bare.so"), "bare.so", fixture_path("root")), 0);
	clean();
}

static bool add_link(void)
{
	return fixture_run(
		"cp bare.so linked.so && objcopy --add-gnu-debuglink=full.debug linked.so"
		" && mv full.debug full");
}

static void end_link(void)
{
	assert_true(fixture_run("mv full full.debug"));
	clean();
}

static void test_debug_link(void **state)
{
	NEED_TOOLS();
	assert_true(add_link());
	assert_int_equal(search_here("linked.so"), -ENOENT);
	assert_true(fixture_run("cp full full.debug"));
	assert_int_equal(search_here("linked.so"), 0);
	assert_true(fixture_run("cp other.debug full.debug"));
	assert_int_equal(search_here("linked.so"), -ENOENT);
	assert_true(fixture_run("mkdir .debug && cp full .debug/full.debug"));
	assert_int_equal(search_here("linked.so"), 0);
	assert_true(fixture_run("rm -r .debug full.debug && mkdir -p debug%s &&"
				"cp full debug%s/full.debug",
				fixture_dir, fixture_dir));
	assert_int_equal(search_here("linked.so"), 0);
	/* Without a path there is no directory to look in. */
	assert_int_equal(search("linked.so", "linked.so", NULL), -ENOENT);
	assert_int_equal(search(NULL, "linked.so", NULL), -ENOENT);
	end_link();
}

static void test_debug_link_in_root(void **state)
{
	NEED_TOOLS();
	assert_true(add_link());
	assert_true(fixture_run("mkdir root/app && cp full root/app/full.debug && cp full root/"));
	assert_int_equal(search("/app/linked.so", "linked.so", NULL), -ENOENT);
	assert_int_equal(search("/app/linked.so", "linked.so", fixture_path("root")), 0);
	assert_true(fixture_run("mv root/app/full.debug root/full.debug"));
	assert_int_equal(search("/linked.so", "linked.so", fixture_path("root")), 0);
	end_link();
}

/* Where build ids are missing, the checksum decides. */
static void test_checksum(void **state)
{
	NEED_TOOLS();
	assert_true(
		fixture_run("cc -O1 -fPIC -shared -nostdlib -Wl,--build-id=none -o no.so lib.c &&"
			    "objcopy --only-keep-debug no.so no.debug && strip no.so &&"
			    "objcopy --add-gnu-debuglink=no.debug no.so"));
	assert_int_equal(search_here("no.so"), 0);
	assert_true(fixture_run("printf x >> no.debug"));
	assert_int_equal(search_here("no.so"), -ENOENT);
	assert_true(fixture_run("cp full.debug no.debug"));
	assert_int_equal(search_here("no.so"), -ENOENT);
}

/* A link that is a path could point anywhere. */
static void test_link_with_path(void **state)
{
	NEED_TOOLS();
	assert_true(fixture_run(
		"printf 'a/f\\0\\0\\0\\0\\0' > link && mkdir -p a && cp full.debug a/f &&"
		"objcopy --add-section .gnu_debuglink=link bare.so linked.so"));
	assert_int_equal(search_here("linked.so"), -ENOENT);
	/* A section with a name and no checksum. */
	assert_true(fixture_run("printf 'full.debug' > link &&"
				"objcopy --add-section .gnu_debuglink=link bare.so linked.so"));
	assert_int_equal(search_here("linked.so"), -ENOENT);
	assert_true(fixture_run("printf 'full.debug\\0\\0\\0\\0\\0\\0' > link &&"
				"objcopy --add-section .gnu_debuglink=link bare.so linked.so"));
	assert_int_equal(search_here("linked.so"), 0);
}

static bool embed(const char *command)
{
	return fixture_run("cp full.debug mini && %s &&"
			   "objcopy --add-section .gnu_debugdata=mini.xz bare.so mini.so",
			   command);
}

static void test_embedded(void **state)
{
	NEED_TOOLS();
	if (!embed("xz -kf mini"))
		skip();
	assert_int_equal(search_here("mini.so"), 0);
	assert_int_equal(search(NULL, "mini.so", NULL), 0);
	assert_true(embed("xz -kf mini && truncate -s -20 mini.xz"));
	assert_int_equal(search_here("mini.so"), -ENOENT);
	assert_true(embed("echo garbage > mini.xz"));
	assert_int_equal(search_here("mini.so"), -ENOENT);
	assert_true(embed("echo garbage | xz > mini.xz"));
	assert_int_equal(search_here("mini.so"), -ENOENT);
}

/* Looks with each allocation failing in turn. */
static void starve(const char *path, uint64_t text)
{
	const struct symbol_source source = {.path = path, .fd = -1};
	size_t n;
	int err;

	for (n = 1;; n++) {
		struct symbol_files *symbol_files;

		assert_int_equal(symbol_files_open(&symbol_files, NULL), 0);
		alloc_fail_at(n);
		err = look(symbol_files, &source, text);
		symbol_files_close(symbol_files);
		if (!alloc_fail_stop())
			break;
		/* Only giving memory back may fail without consequence. */
		assert_true(!err || err == -ENOMEM);
	}
	assert_int_equal(err, 0);
	assert_true(n > 15);
}

static void test_no_memory(void **state)
{
	char path[300];

	NEED_TOOLS();
	if (!embed("xz -kf mini"))
		skip();
	assert_true(fixture_run("objcopy --add-gnu-debuglink=full.debug mini.so &&"
				"mv full.debug full && mkdir .debug && cp full .debug/full.debug"));
	strcpy(path, fixture_path("mini.so"));
	/* First the debug file is found; without it, what is embedded is used. */
	starve(path, text_offset("mini.so"));
	assert_true(fixture_run("rm -r .debug"));
	starve(path, text_offset("mini.so"));
	end_link();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_there),    cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_build_id_in_root), cmocka_unit_test(test_links_in_root),
		cmocka_unit_test(test_debug_link),       cmocka_unit_test(test_debug_link_in_root),
		cmocka_unit_test(test_checksum),         cmocka_unit_test(test_link_with_path),
		cmocka_unit_test(test_embedded),         cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_files, fixture_remove);
}
