/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbol_files.c - names of real functions: in this program, libc, the vDSO, and libraries made
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "alloc.h"
#include "elf_fixture.h"
#include "elf/elf_file.h"
#include "symbol_files_fixture.h"

static __attribute__((noinline)) int local_function(int x)
{
	return x * 7 + 1;
}

__attribute__((noinline)) int global_function(int x);
__attribute__((noinline)) int global_function(int x)
{
	return local_function(x) * 5;
}

/* ---- this process ------------------------------------------------------------- */

static void test_own_functions(void **state)
{
	struct symbol_files *symbol_files = open_symbol_files();
	struct place local = place_of((const void *)local_function);
	struct place global = place_of((const void *)global_function);
	struct symbol_file *file = add_path(symbol_files, local.path);
	struct symbol first, second;
	uint64_t address, base;

	assert_int_equal(global_function(1), 40);
	assert_symbol(file, local.offset, "local_function", local.address);
	assert_symbol(file, local.offset + 3, "local_function", local.address);
	assert_symbol(file, global.offset + 1, "global_function", global.address);
	/* The same name is the same pointer. */
	assert_int_equal(symbol_file_lookup(file, local.offset, &first), 0);
	assert_int_equal(symbol_file_lookup(file, local.offset + 2, &second), 0);
	assert_ptr_equal(first.name, second.name);
	assert_true(first.size > 3 && first.size < 1000);

	assert_int_equal(file_address(file, local.offset, &address), 0);
	assert_int_equal(address, local.address);
	assert_int_equal(file_base(file, &base), 0);
	assert_true(base <= local.address && base % 4096 == 0);
	symbol_files_close(symbol_files);
}

/* libc is stripped, but exports these. By descriptor, which stays open. */
static void test_libc(void **state)
{
	static const char *const names[] = {"malloc", "qsort", "getenv", "bsearch"};
	struct symbol_files *symbol_files = open_symbol_files();
	struct symbol_source source = {.path = "/nonexistent/libc.so.6"};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct symbol_file *file;
	size_t i;

	if (!libc)
		skip();
	source.fd = open(place_of(dlsym(libc, "malloc")).path, O_RDONLY | O_CLOEXEC);
	assert_true(source.fd >= 0);
	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct place place = place_of(dlsym(libc, names[i]));

		assert_symbol(file, place.offset, names[i], place.address);
		assert_symbol(file, place.offset + 1, names[i], place.address);
	}
	symbol_files_close(symbol_files);
	assert_int_equal(fcntl(source.fd, F_GETFD), FD_CLOEXEC);
	close(source.fd);
	dlclose(libc);
}

static size_t vdso_bytes(const char *image)
{
	const Elf64_Ehdr *header = (const void *)image;

	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

static void test_vdso(void **state)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	struct symbol_source source = {.path = "[vdso]", .fd = -1, .image = image};
	struct symbol symbol;
	uint64_t offset;
	bool found = false;
	uint8_t id[64];

	if (!image || sizeof(void *) != 8)
		skip();
	symbol_files = open_symbol_files();
	source.image_bytes = vdso_bytes(image);
	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	for (offset = 0; offset < source.image_bytes; offset++)
		if (!symbol_file_lookup(file, offset, &symbol))
			found |= strstr(symbol.name, "clock_gettime") != NULL;
	assert_true(found);
	assert_int_equal(file_build_id(file, id, sizeof(id)), 20);
	symbol_files_close(symbol_files);
}

/* ---- libraries made here ------------------------------------------------------ */

/* The file offset of a section, and its ELF address. */
static uint64_t section_offset(const char *name, const char *section_name, uint64_t *address)
{
	const struct elf_section *section;
	struct elf_file *file;
	uint64_t offset;

	assert_int_equal(fixture_open(&file, fixture_path(name)), 0);
	section = elf_file_named(file, section_name);
	assert_non_null(section);
	offset = section->offset;
	if (address)
		*address = section->address;
	elf_file_close(file);
	return offset;
}

/* Whether the function of that name is somewhere in the 256 bytes at `offset`. */
static bool has_function(struct symbol_file *file, uint64_t offset, const char *name)
{
	struct symbol symbol;
	uint64_t i;

	for (i = 0; i < 256; i++)
		if (!symbol_file_lookup(file, offset + i, &symbol) && !strcmp(symbol.name, name))
			return true;
	return false;
}

static void test_library(void **state)
{
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	uint8_t id[20], part[8];
	uint64_t text;

	if (!fixture_make_library())
		skip();
	symbol_files = open_symbol_files();
	file = add_path(symbol_files, fixture_path("lib.so"));
	text = section_offset("lib.so", ".text", NULL);
	assert_true(has_function(file, text, "outer_function"));
	assert_true(has_function(file, text, "hidden_function"));
	assert_int_equal(file_build_id(file, id, sizeof(id)), 20);
	assert_int_equal(file_build_id(file, part, sizeof(part)), 8);
	assert_memory_equal(id, part, 8);
	symbol_files_close(symbol_files);
}

/* In a stripped library, what is not exported has no name, and does not get a neighbour's. */
static void test_stripped_library(void **state)
{
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	uint64_t text;

	if (!fixture_make_library() || !fixture_run("strip -o stripped.so lib.so"))
		skip();
	symbol_files = open_symbol_files();
	file = add_path(symbol_files, fixture_path("stripped.so"));
	text = section_offset("stripped.so", ".text", NULL);
	assert_true(has_function(file, text, "outer_function"));
	assert_false(has_function(file, text, "hidden_function"));
	symbol_files_close(symbol_files);
}

/* Where a function starts, and how long it is, is the same in the file that was stripped: its stack frames still are described. */
static void test_functions_of_stripped(void **state)
{
	struct symbol_files *symbol_files;
	struct symbol_file *whole, *stripped;
	struct symbol symbol, function;
	uint64_t text, offset;
	unsigned int hidden = 0;

	if (!fixture_make_library() || !fixture_run("strip -o stripped.so lib.so"))
		skip();
	symbol_files = open_symbol_files();
	whole = add_path(symbol_files, fixture_path("lib.so"));
	stripped = add_path(symbol_files, fixture_path("stripped.so"));
	text = section_offset("lib.so", ".text", NULL);
	for (offset = text; offset < text + 256; offset++) {
		if (symbol_file_lookup(whole, offset, &symbol))
			continue;
		assert_int_equal(symbol_file_function(stripped, offset, &function), 0);
		assert_null(function.name);
		assert_int_equal(function.address, symbol.address);
		assert_int_equal(function.size, symbol.size);
		hidden += !strcmp(symbol.name, "hidden_function");
	}
	assert_true(hidden > 0);
	assert_int_equal(symbol_file_function(stripped, 0, &function), -ENOENT);
	symbol_files_close(symbol_files);
}

static void write_text(const char *name, const char *text)
{
	fixture_write(name, text, strlen(text));
}

/*
 * asm_first, which has no size, 16 bytes; a function that is not exported, 16 bytes; nothing known, 96 bytes; asm_second,
 * which has no size, either, and 8 KiB behind it.
 */
static bool make_assembly(void)
{
	write_text(
		"asm.s",
		".text\n.balign 4096\n"
		".globl asm_first\nasm_first:\n.skip 16, 0x90\n"
		".type hidden, @function\nhidden:\n.cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\n"
		".size hidden, 16\n.skip 96, 0x90\n"
		".globl asm_second\nasm_second:\n.skip 8192, 0x90\n"
		".section .note.GNU-stack,\"\",@progbits\n");
	return fixture_run(
		"cc -shared -nostdlib -o asm.so asm.s && strip -o asm.stripped.so asm.so");
}

static void assert_unknown(struct symbol_file *file, uint64_t offset)
{
	struct symbol symbol;

	assert_int_equal(symbol_file_lookup(file, offset, &symbol), -ENOENT);
}

/* A function without a size reaches to the next one. In a stripped file that may be far away, so it reaches less far. */
static void test_without_size(void **state)
{
	struct symbol_files *symbol_files;
	struct symbol_file *whole, *stripped;
	uint64_t text, address;

	if (!make_assembly())
		skip();
	symbol_files = open_symbol_files();
	whole = add_path(symbol_files, fixture_path("asm.so"));
	stripped = add_path(symbol_files, fixture_path("asm.stripped.so"));
	text = section_offset("asm.so", ".text", NULL);
	assert_int_equal(file_address(whole, text, &address), 0);
	assert_symbol(whole, text + 15, "asm_first", address);
	assert_symbol(whole, text + 16, "hidden", address + 16);
	assert_symbol(whole, text + 128 + 8191, "asm_second", address + 128);
	assert_symbol(stripped, text, "asm_first", address);
	assert_symbol(stripped, text + 15, "asm_first", address);
	assert_unknown(stripped, text + 16);
	assert_unknown(stripped, text + 31);
	assert_unknown(stripped, text + 32);
	assert_unknown(stripped, text + 127);
	assert_symbol(stripped, text + 128, "asm_second", address + 128);
	assert_symbol(stripped, text + 128 + 4095, "asm_second", address + 128);
	assert_unknown(stripped, text + 128 + 4096);
	symbol_files_close(symbol_files);
}

static void check_stub(const char *compile, const char *section, uint64_t skip_bytes)
{
	struct symbol_files *symbol_files = open_symbol_files();
	struct symbol_file *file = add_path(symbol_files, fixture_path("stubs.so"));
	uint64_t address, offset;
	struct symbol symbol;

	if (!fixture_run("%s", compile)) {
		symbol_files_close(symbol_files);
		skip();
	}
	offset = section_offset("stubs.so", section, &address) + skip_bytes;
	address += skip_bytes;
	assert_symbol(file, offset, "imported_function@plt", address);
	assert_symbol(file, offset + 7, "imported_function@plt", address);
	assert_int_equal(symbol_file_lookup(file, offset, &symbol), 0);
	assert_true(symbol.size == 8 || symbol.size == 16);
	symbol_files_close(symbol_files);
}

static void test_linkage_stubs(void **state)
{
#ifndef __x86_64__
	skip();
#endif
	if (!fixture_make_library())
		skip();
	check_stub(
		"cc -O1 -fPIC -shared -nostdlib -fcf-protection=none -Wl,-z,lazy -o stubs.so lib.c",
		".plt", 16);
	check_stub("cc -O1 -fPIC -shared -nostdlib -fcf-protection -Wl,-z,lazy,-z,ibtplt -o "
		   "stubs.so lib.c",
		   ".plt.sec", 0);
	/* Called and its address taken, bound at start: its stub shares the other's slot. */
	write_text("lib.c", "int imported_function(int);\n"
			    "int (*f(void))(int) { return imported_function; }\n"
			    "int g(int x) { return imported_function(x) + 1; }\n");
	check_stub(
		"cc -O1 -fPIC -shared -nostdlib -fcf-protection=none -Wl,-z,now -o stubs.so lib.c",
		".plt.got", 0);
}

static void test_32_bit_library(void **state)
{
	struct symbol_files *symbol_files;
	struct symbol_file *file;

	if (!fixture_make_library() ||
	    !fixture_run("cc -m32 -O1 -shared -nostdlib -o lib32.so lib.c"))
		skip();
	symbol_files = open_symbol_files();
	file = add_path(symbol_files, fixture_path("lib32.so"));
	assert_true(
		has_function(file, section_offset("lib32.so", ".text", NULL), "outer_function"));
	assert_true(
		has_function(file, section_offset("lib32.so", ".text", NULL), "hidden_function"));
	symbol_files_close(symbol_files);
}

static void test_cplusplus_and_raw(void **state)
{
	static const char source[] = "namespace a { int b(int x) { return x + 1; } }\n";
	const struct symbol_options options = {.raw_names = true};
	struct symbol_files *symbol_files;
	uint64_t text;

	fixture_write("cpp.cc", source, sizeof(source) - 1);
	if (!fixture_run("c++ -O1 -fPIC -shared -nostdlib -o cpp.so cpp.cc"))
		skip();
	text = section_offset("cpp.so", ".text", NULL);
	symbol_files = open_symbol_files();
	assert_true(
		has_function(add_path(symbol_files, fixture_path("cpp.so")), text, "a::b(int)"));
	symbol_files_close(symbol_files);
	assert_int_equal(symbol_files_open(&symbol_files, &options), 0);
	assert_true(
		has_function(add_path(symbol_files, fixture_path("cpp.so")), text, "_ZN1a1bEi"));
	symbol_files_close(symbol_files);
}

/* ---- what cannot be read ------------------------------------------------------ */

static void test_errors(void **state)
{
	struct symbol_files *symbol_files = open_symbol_files();
	struct symbol symbol = {.name = "untouched"};
	struct symbol_file *file;
	uint64_t value = 7;
	uint8_t id[20];
	const struct {
		struct symbol_source source;
		int err;
	} sources[] = {
		{{.path = "/nonexistent", .fd = -1}, -ENOENT},
		{{.path = NULL, .fd = -1}, -ENOENT},
		{{.path = "/etc/passwd", .fd = -1}, -ENOEXEC},
		{{.path = "/", .fd = -1}, -ENOEXEC},
		{{.path = "closed", .fd = 999}, -EBADF},
		{{.path = "short", .fd = -1, .image = "\177ELF", .image_bytes = 4}, -ENOEXEC},
		{{.path = "empty", .fd = -1, .image = "", .image_bytes = 0}, -ENOEXEC},
	};
	size_t i;

	for (i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		assert_int_equal(symbol_files_add(symbol_files, &sources[i].source, &file), 0);
		assert_int_equal(symbol_file_lookup(file, 0, &symbol), sources[i].err);
		assert_int_equal(symbol_file_lookup(file, 0, &symbol), sources[i].err);
		assert_int_equal(file_address(file, 0, &value), sources[i].err);
		assert_int_equal(file_base(file, &value), sources[i].err);
		assert_int_equal(file_build_id(file, id, sizeof(id)), 0);
	}
	assert_string_equal(symbol.name, "untouched");
	assert_int_equal(value, 7);
	/* An offset that no segment has. */
	file = add_path(symbol_files, "/proc/self/exe");
	assert_int_equal(symbol_file_lookup(file, UINT64_MAX, &symbol), -ENOENT);
	assert_int_equal(symbol_file_lookup(file, UINT64_MAX, &symbol), -ENOENT);
	symbol_files_close(symbol_files);
	symbol_files_close(NULL);
}

/* Looks at everything that a file says about itself. Only certain errors may come of it. */
static void exercise(const char *image, size_t size)
{
	const struct symbol_source source = {
		.path = "/nonexistent/dir/lib.so", .fd = -1, .image = image, .image_bytes = size};
	struct symbol_files *symbol_files = open_symbol_files();
	struct symbol_file *file;
	struct symbol symbol;
	uint64_t offset, base;
	uint8_t id[64];

	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	for (offset = 0; offset < size + 64; offset += 29) {
		int err = symbol_file_lookup(file, offset, &symbol);

		assert_true(!err || err == -ENOENT || err == -ENOEXEC || err == -ENOMEM);
		if (!err)
			assert_true(strlen(symbol.name) > 0);
		err = symbol_file_function(file, offset, &symbol);
		assert_true(!err || err == -ENOENT || err == -ENOEXEC || err == -ENOMEM);
		assert_true(err || !symbol.name || symbol.name[0]);
	}
	file_base(file, &base);
	assert_true(file_build_id(file, id, sizeof(id)) <= sizeof(id));
	symbol_files_close(symbol_files);
}

static void damage(const char *image, size_t size)
{
	char *copy = malloc(size);
	unsigned int seed = 11, round, flips;
	size_t cut;

	assert_non_null(copy);
	for (cut = 0; cut < size; cut += 1 + size / 150) {
		memcpy(copy, image, cut);
		exercise(copy, cut);
	}
	for (round = 0; round < 400; round++) {
		memcpy(copy, image, size);
		for (flips = 0; flips < 1 + round % 20; flips++)
			copy[(size_t)rand_r(&seed) % size] ^= (char)(1 << rand_r(&seed) % 8);
		/* Half of the damage goes where it hurts: the headers. */
		if (round % 2) {
			copy[16 + (size_t)rand_r(&seed) % 300] = (char)rand_r(&seed);
			copy[size - 1 - (size_t)rand_r(&seed) % 1000] = (char)rand_r(&seed);
		}
		exercise(copy, size);
	}
	free(copy);
}

static void test_damaged_vdso(void **state)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);

	if (!image || sizeof(void *) != 8)
		skip();
	damage(image, vdso_bytes(image));
}

static void test_damaged_library(void **state)
{
	size_t size;
	char *image;

	if (!fixture_make_library())
		skip();
	image = fixture_read("lib.so", &size);
	damage(image, size);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_functions),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_stripped_library),
		cmocka_unit_test(test_functions_of_stripped),
		cmocka_unit_test(test_without_size),
		cmocka_unit_test(test_linkage_stubs),
		cmocka_unit_test(test_32_bit_library),
		cmocka_unit_test(test_cplusplus_and_raw),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_damaged_vdso),
		cmocka_unit_test(test_damaged_library),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
