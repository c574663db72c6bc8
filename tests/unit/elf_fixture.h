/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_fixture.h - a temporary directory in which tests make ELF files with the system's tools.
 * After cmocka.h.
 *
 *   int main(void) { ... return cmocka_run_group_tests(tests, fixture_make, fixture_remove); }
 *   if (fixture_run("cc -o x x.c"))    a command in that directory; true: it worked
 */
#ifndef GECKOBPF_TESTS_ELF_FIXTURE_H
#define GECKOBPF_TESTS_ELF_FIXTURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/elf_open.h"

static char fixture_dir[] = "/tmp/geckobpf-elf.XXXXXX";

/* "fixture_dir/name", valid until the fourth call from now. */
static inline const char *fixture_path(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", fixture_dir, name);
	return path;
}

__attribute__((format(printf, 1, 2))) static inline bool fixture_run(const char *format, ...)
{
	char command[2048];
	va_list args;
	int used;

	used = snprintf(command, sizeof(command), "cd %s && exec 2>/dev/null && ", fixture_dir);
	va_start(args, format);
	vsnprintf(command + used, sizeof(command) - (size_t)used, format, args);
	va_end(args);
	return system(command) == 0;
}

static inline void fixture_write(const char *name, const void *data, size_t size)
{
	FILE *file = fopen(fixture_path(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* All of a file, the caller's to free. */
static inline char *fixture_read(const char *name, size_t *size)
{
	FILE *file = fopen(fixture_path(name), "r");
	char *data;
	long length;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	length = ftell(file);
	assert_true(length > 0);
	rewind(file);
	data = malloc((size_t)length);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)length, file), (size_t)length);
	fclose(file);
	*size = (size_t)length;
	return data;
}

/*
 * lib.c and lib.so, which has its full .symtab: outer_function, hidden_function (static), and a
 * linkage stub for imported_function. False where there is no compiler.
 */
static inline bool fixture_make_library(void)
{
	static const char source[] =
		"int imported_function(int);\n"
		"static __attribute__((noinline)) int hidden_function(int x)\n"
		"{ return imported_function(x) * 3; }\n"
		"int outer_function(int x) { return hidden_function(x) + 1; }\n";

	fixture_write("lib.c", source, sizeof(source) - 1);
	return fixture_run("cc -O1 -fPIC -shared -nostdlib -Wl,--build-id=sha1 -o lib.so lib.c");
}

/* As elf_open_path() and elf_file_adopt_fd(). */
static inline int fixture_open(struct elf_file **out, const char *path)
{
	int fd = elf_open_path(NULL, path);

	return fd < 0 ? fd : elf_file_adopt_fd(out, fd);
}

static inline int fixture_make(void **state)
{
	return mkdtemp(fixture_dir) ? 0 : -1;
}

static inline int fixture_remove(void **state)
{
	return fixture_run("rm -rf %s", fixture_dir) ? 0 : -1;
}

#endif
