/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_symbols.c - kallsyms texts, real and made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/fd.h"
#include "symbol/kernel_symbols.h"

static char path[] = "/tmp/test_kernel_symbols.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int remove_file(void **state)
{
	return unlink(path);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static struct kernel_symbols *open_text(const char *text)
{
	struct kernel_symbols *symbols = NULL;

	write_file(text);
	assert_int_equal(kernel_symbols_open(&symbols, path), 0);
	assert_non_null(symbols);
	return symbols;
}

static void assert_name(const struct kernel_symbols *symbols, uint64_t address, const char *name,
			const char *module, uint64_t start)
{
	const char *found_module = "untouched", *found;
	uint64_t found_start = 1;

	found = kernel_symbols_lookup(symbols, address, &found_module, &found_start);
	assert_non_null(found);
	assert_string_equal(found, name);
	if (module)
		assert_string_equal(found_module, module);
	else
		assert_null(found_module);
	assert_int_equal(found_start, start);
	assert_ptr_equal(kernel_symbols_lookup(symbols, address, NULL, NULL), found);
}

static void test_functions_and_modules(void **state)
{
	/*
	 * Modules come after the kernel proper, in any order of addresses; data is not looked at.
	 */
	struct kernel_symbols *symbols = open_text("ffffffff81000000 T first\n"
						   "ffffffff81000100 t second\n"
						   "ffffffff81000180 D data\n"
						   "ffffffff81000200 W third\n"
						   "ffffffff81000300 w fourth\n"
						   "ffffffffc0200000 t late\t[beta]\n"
						   "ffffffffc0200040 t later\t[beta]\n"
						   "ffffffffc0100000 t early\t[alpha]\n"
						   "ffffffffc0200080 t last\t[beta]");

	assert_null(kernel_symbols_lookup(symbols, 0, NULL, NULL));
	assert_null(kernel_symbols_lookup(symbols, 0xffffffff80ffffff, NULL, NULL));
	assert_name(symbols, 0xffffffff81000000, "first", NULL, 0xffffffff81000000);
	assert_name(symbols, 0xffffffff810000ff, "first", NULL, 0xffffffff81000000);
	assert_name(symbols, 0xffffffff81000100, "second", NULL, 0xffffffff81000100);
	assert_name(symbols, 0xffffffff81000190, "second", NULL, 0xffffffff81000100);
	assert_name(symbols, 0xffffffff81000200, "third", NULL, 0xffffffff81000200);
	assert_name(symbols, 0xffffffff81000300, "fourth", NULL, 0xffffffff81000300);
	assert_name(symbols, 0xffffffffc0100001, "early", "alpha", 0xffffffffc0100000);
	assert_name(symbols, 0xffffffffc0200000, "late", "beta", 0xffffffffc0200000);
	assert_name(symbols, 0xffffffffc0200041, "later", "beta", 0xffffffffc0200040);
	assert_name(symbols, 0xffffffffc0200080, "last", "beta", 0xffffffffc0200080);
	kernel_symbols_close(symbols);
}

static void test_gaps(void **state)
{
	struct kernel_symbols *symbols = open_text("ffffffff81000000 T kernel\n"
						   "ffffffffc0100000 t module\t[m]\n");

	assert_name(symbols, 0xffffffff81100000, "kernel", NULL, 0xffffffff81000000);
	assert_null(kernel_symbols_lookup(symbols, 0xffffffff81100001, NULL, NULL));
	assert_null(kernel_symbols_lookup(symbols, 0xffffffffc00fffff, NULL, NULL));
	assert_name(symbols, 0xffffffffc0200000, "module", "m", 0xffffffffc0100000);
	assert_null(kernel_symbols_lookup(symbols, 0xffffffffffffffff, NULL, NULL));
	kernel_symbols_close(symbols);
}

static void test_aliases(void **state)
{
	struct kernel_symbols *symbols = open_text("1000 t local\n"
						   "1000 W weak\n"
						   "1000 T ___global\n"
						   "1000 T _global\n"
						   "1000 T _other\n"
						   "2000 T a\n"
						   "2000 T b\n");

	assert_name(symbols, 0x1000, "_global", NULL, 0x1000);
	assert_name(symbols, 0x2000, "a", NULL, 0x2000);
	kernel_symbols_close(symbols);
}

static void test_odd_lines(void **state)
{
	struct kernel_symbols *symbols = open_text("\n"
						   "garbage\n"
						   "1000\n"
						   "1000 t\n"
						   "1000 t \n"
						   "1000 tt name\n"
						   "10000000000000000 t too_long\n"
						   "100g t no_number\n"
						   "0 t hidden\n"
						   "1000  t   spaced\t[m]  more things\n"
						   "2000 t no_module\t[]\n"
						   "3000 t cut\t[m\n"
						   "4000 t bytes\x01\xff\t[\x02]\n"
						   " \t \n");

	assert_null(kernel_symbols_lookup(symbols, 0xfff, NULL, NULL));
	assert_name(symbols, 0x1000, "spaced", "m", 0x1000);
	assert_name(symbols, 0x2000, "no_module", NULL, 0x2000);
	assert_name(symbols, 0x3000, "cut", NULL, 0x3000);
	assert_name(symbols, 0x4000, "bytes??", "?", 0x4000);
	kernel_symbols_close(symbols);
}

static void test_module_names_are_whole(void **state)
{
	struct kernel_symbols *symbols = open_text("1000 t a\t[net]\n"
						   "2000 t b\t[netfilter]\n"
						   "3000 t c\t[net]\n");

	assert_name(symbols, 0x1000, "a", "net", 0x1000);
	assert_name(symbols, 0x2000, "b", "netfilter", 0x2000);
	assert_name(symbols, 0x3000, "c", "net", 0x3000);
	kernel_symbols_close(symbols);
}

static void assert_refused(const char *text, int err)
{
	struct kernel_symbols *symbols = (void *)1;

	write_file(text);
	assert_int_equal(kernel_symbols_open(&symbols, path), err);
	assert_ptr_equal(symbols, (void *)1);
}

static void test_refusals(void **state)
{
	struct kernel_symbols *symbols = (void *)1;

	assert_refused("0000000000000000 T a\n0000000000000000 t b\t[m]\n", -EACCES);
	assert_refused("", -ENODATA);
	assert_refused("ffffffff81000000 D data\n", -ENODATA);
	assert_int_equal(kernel_symbols_open(&symbols, "/nonexistent/kallsyms"), -ENOENT);
	assert_int_equal(kernel_symbols_open(&symbols, "/proc"), -EISDIR);
	assert_ptr_equal(symbols, (void *)1);
	kernel_symbols_close(NULL);
}

/* Every line must be found under its address, or another name of that address. */
/* Of a copy, since the list changes whenever somebody loads a BPF program. */
static void test_this_kernel(void **state)
{
	struct kernel_symbols *symbols = NULL;
	char *text, *line, *next;
	size_t checked = 0;
	int err = kernel_symbols_open(&symbols, NULL);

	if (err == -EACCES || err == -ENOENT || err == -ENODATA)
		skip();
	assert_int_equal(err, 0);
	kernel_symbols_close(symbols);
	assert_int_equal(fd_read_file("/proc/kallsyms", &text, NULL), 0);
	write_file(text);
	assert_int_equal(kernel_symbols_open(&symbols, path), 0);
	for (line = text; (next = strchr(line, '\n')); line = next + 1) {
		char *letter;
		uint64_t address = strtoull(line, &letter, 16), start;

		if (!memchr("tTwW", letter[1], 4))
			continue;
		assert_non_null(kernel_symbols_lookup(symbols, address, NULL, &start));
		assert_int_equal(start, address);
		checked++;
	}
	assert_true(checked > 1000);
	free(text);
	kernel_symbols_close(symbols);
}

static void test_no_memory(void **state)
{
	struct kernel_symbols *symbols = NULL;
	char text[4096] = "";
	size_t n;
	int err;

	for (n = 20; n; n--)
		sprintf(text + strlen(text), "%zx000 t f%zu\t[m]\n", n, n);
	write_file(text);
	for (n = 1;; n++) {
		alloc_fail_at(n);
		err = kernel_symbols_open(&symbols, path);
		if (!alloc_fail_stop())
			break;
		/* Only the one that gives memory back may fail without consequence. */
		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		assert_name(symbols, 0x1000, "f1", "m", 0x1000);
		kernel_symbols_close(symbols);
	}
	assert_true(n > 5);
	assert_int_equal(err, 0);
	assert_name(symbols, 0x14000, "f20", "m", 0x14000);
	kernel_symbols_close(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_and_modules),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_module_names_are_whole),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_this_kernel),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
