/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_file_search.c - files with a build id, wherever they lie; nothing else is taken for them. What a debug file alone is good
 * for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>

#include "alloc.h"
#include "elf_fixture.h"
#include "elf/elf_file.h"
#include "elf/elf_layout.h"
#include "elf/file_search.h"
#include "symbol/symbol_files.h"

#define WAS_AT "/nonexistent/bin/lib.so"

static struct {
	uint8_t bytes[ELF_BUILD_ID_MAX_BYTES];
	size_t size;
	char path[2 * ELF_BUILD_ID_MAX_BYTES + 2]; /* "ab/cdef..." */
	uint64_t text; /* where in the file .text is */
	uint64_t code_offset, code_bytes; /* as it would be mapped */
} lib;

/* lib.so with symbols, bare.so without, full.debug with nothing else; other.so is another build. */
static int make_files(void **state)
{
	struct elf_layout layout;
	struct elf_file *file;
	size_t i;

	if (fixture_make(state) || !fixture_make_library() ||
	    !fixture_run(
		    "objcopy --only-keep-debug lib.so full.debug && strip -o bare.so lib.so && "
		    "cc -O1 -fPIC -shared -nostdlib -Wl,--build-id=sha1 -DX -g -o other.so lib.c "
		    "&& "
		    "cc -O1 -fPIC -shared -nostdlib -Wl,--build-id=none -o none.so lib.c"))
		return -1;
	if (fixture_open(&file, fixture_path("lib.so")) || elf_layout_read(&layout, file))
		return -1;
	lib.size = layout.build_id_bytes;
	memcpy(lib.bytes, layout.build_id, lib.size);
	lib.text = elf_file_named(file, ".text")->offset;
	for (i = 0; i < lib.size; i++)
		sprintf(lib.path + strlen(lib.path), i == 0 ? "%02x/" : "%02x", lib.bytes[i]);
	for (i = 0; i < layout.segment_count; i++) {
		if (!(layout.segments[i].flags & PF_X))
			continue;
		lib.code_offset = layout.segments[i].offset & ~0xfffULL;
		lib.code_bytes = (layout.segments[i].file_bytes + 0xfff) & ~0xfffULL;
	}
	elf_layout_free(&layout);
	elf_file_close(file);
	return lib.size == 20 ? 0 : -1;
}

/* In directories "a" and "b", which are empty. */
static int make_dirs(void **state)
{
	return fixture_run("rm -rf a b && mkdir a b") ? 0 : -1;
}

static struct other_file other;

static int search_in(const char *const *dirs, size_t count, const char *path, enum file_part part)
{
	const struct file_search search = {.dirs = dirs, .dir_count = count};
	const struct wanted_file want = {path, lib.bytes, lib.size};
	struct elf_file *file = NULL;
	int err;

	other = (struct other_file){.is_there = false};
	err = file_search_find(&search, &want, part, &file, &other);
	elf_file_close(file);
	return err;
}

static int search(enum file_part part)
{
	char a[256], b[256];
	const char *const dirs[] = {a, b};

	snprintf(a, sizeof(a), "%s/a", fixture_dir);
	snprintf(b, sizeof(b), "%s/b", fixture_dir);
	return search_in(dirs, 2, WAS_AT, part);
}

/* ---- where ----------------------------------------------------------------------------- */

static void assert_place(enum file_part part, const char *file, const char *place)
{
	char copy[300];

	snprintf(copy, sizeof(copy), place, lib.path);
	make_dirs(NULL);
	assert_int_equal(search(part), -ENOENT);
	assert_true(fixture_run("mkdir -p $(dirname b/%s) && cp %s b/%s", copy, file, copy));
	if (search(part))
		fail_msg("%s is not found at %s", file, copy);
}

static void test_places_of_code(void **state)
{
	assert_place(FILE_PART_CODE, "bare.so", ".build-id/%s");
	assert_place(FILE_PART_CODE, "bare.so", "nonexistent/bin/lib.so");
	assert_place(FILE_PART_CODE, "lib.so", "lib.so");
}

static void test_places_of_debug(void **state)
{
	assert_place(FILE_PART_DEBUG, "full.debug", ".build-id/%s.debug");
	assert_place(FILE_PART_DEBUG, "full.debug", "usr/lib/debug/.build-id/%s.debug");
	assert_place(FILE_PART_DEBUG, "full.debug", "nonexistent/bin/lib.so.debug");
	assert_place(FILE_PART_DEBUG, "full.debug", "usr/lib/debug/nonexistent/bin/lib.so.debug");
	assert_place(FILE_PART_DEBUG, "full.debug", "lib.so.debug");
	assert_place(FILE_PART_DEBUG, "full.debug", "lib.so");
	assert_place(FILE_PART_DEBUG, "lib.so", ".build-id/%s");
	assert_place(FILE_PART_DEBUG, "lib.so", "nonexistent/bin/lib.so");
}

/* Its own place comes first and needs no directory; then the first directory that has it. */
static void test_own_place(void **state)
{
	assert_int_equal(search_in(NULL, 0, fixture_path("bare.so"), FILE_PART_CODE), 0);
	assert_int_equal(search_in(NULL, 0, fixture_path("bare.so"), FILE_PART_DEBUG), -ENOENT);
	assert_false(other.is_there);
	assert_int_equal(search_in(NULL, 0, NULL, FILE_PART_CODE), -ENOENT);
	assert_int_equal(search_in(NULL, 0, "", FILE_PART_CODE), -ENOENT);
}

/* ---- what is not it --------------------------------------------------------------------- */

static void test_only_that_build(void **state)
{
	static const char *const places[] = {".build-id/%s", ".build-id/%s.debug", "lib.so",
					     "nonexistent/bin/lib.so", "lib.so.debug"};
	static const char *const files[] = {"other.so", "none.so"};
	size_t i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			char place[300];

			snprintf(place, sizeof(place), places[i], lib.path);
			assert_true(fixture_run("mkdir -p $(dirname a/%s) && cp %s a/%s", place,
						files[k], place));
		}
		assert_int_equal(search(FILE_PART_CODE), -ENOENT);
		assert_true(other.is_there);
		assert_int_equal(other.build_id_bytes, k ? 0 : 20);
		assert_int_equal(search(FILE_PART_DEBUG), -ENOENT);
	}
	/* The right one, in the next directory. */
	assert_true(fixture_run("cp lib.so b/lib.so"));
	assert_int_equal(search(FILE_PART_CODE), 0);
	assert_int_equal(search(FILE_PART_DEBUG), 0);
}

/* A file without symbols is no debug file, and one with nothing else is no code. */
static void test_wrong_part(void **state)
{
	assert_true(fixture_run("cp full.debug a/lib.so"));
	assert_int_equal(search(FILE_PART_CODE), -ENOENT);
	assert_int_equal(search(FILE_PART_DEBUG), 0);
	assert_true(fixture_run("cp bare.so a/lib.so"));
	assert_int_equal(search(FILE_PART_CODE), 0);
	assert_int_equal(search(FILE_PART_DEBUG), -ENOENT);
}

/* None of them may make us wait, follow for ever, or read more than there is. */
static void test_hostile(void **state)
{
	static const char *const makes[] = {
		"ln -s lib.so a/lib.so",
		"ln -s loop a/other && ln -s other a/loop && ln -s loop/x a/lib.so",
		"mkfifo a/lib.so",
		"mkdir a/lib.so",
		"ln -s /dev/zero a/lib.so",
		"ln -s /dev/full a/lib.so",
		"truncate -s 8E a/lib.so || truncate -s 1T a/lib.so",
		"head -c 100 lib.so >a/lib.so",
		"head -c 64 lib.so >a/lib.so && truncate -s 1G a/lib.so",
		": >a/lib.so",
		"ln -s ../../../../../../../../proc/self/mem a/lib.so",
	};
	size_t i;

	for (i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
		make_dirs(NULL);
		assert_true(fixture_run("%s", makes[i]));
		assert_int_equal(search(FILE_PART_CODE), -ENOENT);
		assert_int_equal(search(FILE_PART_DEBUG), -ENOENT);
	}
}

/* An absolute link in a copy of another root means that root; in a farm of links it means what it says. */
static void test_links(void **state)
{
	assert_true(fixture_run("mkdir a/real && cp lib.so a/real/x && ln -s /real/x a/lib.so"));
	assert_int_equal(search(FILE_PART_CODE), 0);
	assert_true(fixture_run("rm a/lib.so && ln -s \"$PWD/lib.so\" a/lib.so"));
	assert_int_equal(search(FILE_PART_CODE), 0);
}

static void test_strange_wishes(void **state)
{
	const struct file_search nowhere = {.dirs = NULL};
	uint8_t long_id[ELF_BUILD_ID_MAX_BYTES + 1] = {1};
	struct wanted_file want = {NULL, long_id, sizeof(long_id)};
	char a[256], path[5000];
	const char *const dirs[] = {a};
	struct elf_file *file;

	assert_int_equal(file_search_find(&nowhere, &want, FILE_PART_CODE, &file, NULL), -ENOENT);
	want.build_id_bytes = 0;
	assert_int_equal(file_search_find(&nowhere, &want, FILE_PART_CODE, &file, NULL), -ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	snprintf(a, sizeof(a), "%s/a", fixture_dir);
	assert_int_equal(search_in(dirs, 1, path, FILE_PART_CODE), -ENOENT);
	assert_int_equal(search_in(dirs, 1, path, FILE_PART_DEBUG), -ENOENT);
	assert_int_equal(search_in(dirs, 1, "/../../../../etc/passwd", FILE_PART_CODE), -ENOENT);
}

/* ---- names by way of the search ---------------------------------------------------------- */

/* 0: hidden_function was found; -ENOENT: nothing was, and *trouble says why. */
static int look(const struct symbol_source *source, enum symbol_trouble *trouble)
{
	char a[256];
	const char *const dirs[] = {a};
	const struct file_search where = {.dirs = dirs, .dir_count = 1};
	const struct symbol_options options = {.debug_dir = "/nonexistent", .search = &where};
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	struct symbol symbol;
	uint64_t i;
	int err = symbol_files_open(&symbol_files, &options);
	bool is_hidden = false;

	snprintf(a, sizeof(a), "%s/a", fixture_dir);
	if (err)
		return err;
	err = symbol_files_add(symbol_files, source, &file);
	for (i = 0; i < 64 && (!err || err == -ENOENT) && !is_hidden; i++) {
		err = symbol_file_lookup(file, lib.text + i, &symbol);
		is_hidden = !err && !strcmp(symbol.name, "hidden_function");
	}
	if (err != -ENOMEM)
		*trouble = symbol_file_trouble(file, &other);
	symbol_files_close(symbol_files);
	return is_hidden || err == -ENOMEM ? err : -ENOENT;
}

static int look_up(uint64_t code_offset, uint64_t code_bytes, enum symbol_trouble *trouble)
{
	const struct symbol_source source = {
		.path = WAS_AT,
		.fd = -1,
		.build_id = lib.bytes,
		.build_id_bytes = lib.size,
		.code_offset = code_offset,
		.code_bytes = code_bytes,
	};

	return look(&source, trouble);
}

static void assert_look(int expected, const char *make)
{
	enum symbol_trouble trouble;

	make_dirs(NULL);
	assert_true(fixture_run("%s", make));
	assert_int_equal(look_up(lib.code_offset, lib.code_bytes, &trouble), expected);
}

static void test_names(void **state)
{
	assert_look(0, "cp lib.so a/lib.so");
	assert_look(0, "cp bare.so a/lib.so && cp full.debug a/lib.so.debug");
	assert_look(0, "cp full.debug a/lib.so");
	assert_look(-ENOENT, "cp bare.so a/lib.so");
	assert_look(-ENOENT, "cp other.so a/lib.so");
	assert_look(-ENOENT, "cp bare.so a/lib.so && cp other.so a/lib.so.debug");
}

/* A debug file alone does not say where in the file its code was: what was mapped must, and fit. */
static void test_debug_file_alone(void **state)
{
	enum symbol_trouble trouble;

	assert_true(fixture_run("cp full.debug a/lib.so"));
	assert_int_equal(look_up(lib.code_offset, lib.code_bytes, &trouble), 0);
	assert_int_equal(look_up(lib.code_offset, lib.code_bytes + 4096, &trouble), -ENOENT);
	assert_int_equal(look_up(lib.code_offset, 0, &trouble), -ENOENT);
	assert_int_equal(trouble, SYMBOL_TROUBLE_MISSING);
	/* Where it was mapped from counts, wherever that was: here it was elsewhere. */
	assert_int_equal(look_up(lib.code_offset + (1 << 20), lib.code_bytes, &trouble), -ENOENT);
}

static void test_trouble(void **state)
{
	enum symbol_trouble trouble;

	assert_int_equal(look_up(0, 0, &trouble), -ENOENT);
	assert_int_equal(trouble, SYMBOL_TROUBLE_MISSING);
	assert_true(fixture_run("cp bare.so a/lib.so"));
	assert_int_equal(look_up(0, 0, &trouble), -ENOENT);
	assert_int_equal(trouble, SYMBOL_TROUBLE_STRIPPED);
	assert_true(fixture_run("cp other.so a/lib.so"));
	assert_int_equal(look_up(0, 0, &trouble), -ENOENT);
	assert_int_equal(trouble, SYMBOL_TROUBLE_OTHER_BUILD);
	assert_int_equal(other.build_id_bytes, 20);
	assert_true(memcmp(other.build_id, lib.bytes, 20) != 0);
}

/* A layout of two pieces of code of the same size says nothing. */
static void test_place_code(void **state)
{
	struct elf_segment segments[] = {
		{.address = 0x1234, .memory_bytes = 0x1000, .flags = PF_X},
		{.address = 0x5000, .memory_bytes = 0x800, .flags = PF_X},
		{.address = 0x8000, .memory_bytes = UINT64_MAX, .flags = PF_X},
	};
	struct elf_layout layout = {.segments = segments, .segment_count = 3};
	uint64_t address;

	assert_false(elf_layout_has_code(&layout));
	assert_int_equal(elf_layout_place_code(&layout, 0x7000, 0x2000), 0);
	assert_true(elf_layout_has_code(&layout));
	assert_int_equal(elf_layout_address(&layout, 0x7240, &address), 0);
	assert_int_equal(address, 0x1240);
	assert_int_equal(elf_layout_place_code(&layout, 0, 0x3000), -ENOENT);
	segments[1].memory_bytes = 0x1001;
	assert_int_equal(elf_layout_place_code(&layout, 0x7000, 0x2000), -ENOENT);
	assert_int_equal(elf_layout_place_code(&layout, 0x7000, 0), -ENOENT);
}

/* Names are found or memory is short; it is never as if a file were not there. (A table that cannot shrink stays as it is.) */
static void fail_each(void)
{
	enum symbol_trouble trouble;
	size_t n, failed = 0;
	bool has_failed = true;
	int err;

	for (n = 1; has_failed; n++) {
		alloc_fail_at(n);
		err = look_up(lib.code_offset, lib.code_bytes, &trouble);
		has_failed = alloc_fail_stop();
		assert_true(!err || (has_failed && err == -ENOMEM));
		failed += err != 0;
	}
	assert_true(failed > 10);
}

static void test_no_memory(void **state)
{
	assert_true(fixture_run("cp bare.so a/lib.so && cp full.debug a/lib.so.debug"));
	fail_each();
	assert_true(fixture_run("rm a/lib.so"));
	fail_each();
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup(test, make_dirs)
	const struct CMUnitTest tests[] = {
		FRESH(test_places_of_code), FRESH(test_places_of_debug),
		FRESH(test_own_place),      FRESH(test_only_that_build),
		FRESH(test_wrong_part),     FRESH(test_hostile),
		FRESH(test_links),          FRESH(test_strange_wishes),
		FRESH(test_names),          FRESH(test_debug_file_alone),
		FRESH(test_trouble),        FRESH(test_place_code),
		FRESH(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_files, fixture_remove);
}
