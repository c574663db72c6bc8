/* SPDX-License-Identifier: BSD-2-Clause */
/* Who knows what code is called: this program's own functions, the kernel's, and code that nobody knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include "geckobpf_abi.h"
#include "symbol/kernel_symbols.h"
#include "symbol/object_files.h"
#include "symbol/symbols.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"
#include "elf_fixture.h"

#define MAPPED 0x7f0000000000ULL
#define LATER 500

static struct {
	struct objects *objects;
	struct processes *processes;
	struct process *process;
	struct object_files *files;
	struct kernel_symbols *kernel;
	struct symbols *symbols;
	uint64_t function; /* offset in lib.so of outer_function */
	uint64_t bytes; /* of it */
} room;

static struct object *see(const char *path)
{
	const struct object_sighting sighting = {.path = path};
	struct object *object = NULL;

	assert_int_equal(objects_get(room.objects, &sighting, &object), 0);
	return object;
}

static void map(const char *path, uint64_t start, uint64_t from_ns)
{
	const struct mapping mapping = {
		.start = start, .end = start + 0x100000, .from_ns = from_ns, .object = see(path)};

	assert_int_equal(address_space_add(&room.process->space, &mapping), 0);
}

static int open_symbols(void *context)
{
	const struct symbol_sources sources = {.files = room.files, .kernel = room.kernel};

	return symbols_open(&room.symbols, &sources);
}

/* Where outer_function is in the file, by the library itself. */
static void find_function(void)
{
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	struct symbol symbol;
	const struct symbol_source source = {.path = fixture_path("lib.so"), .fd = -1};

	assert_int_equal(symbol_files_open(&symbol_files, NULL), 0);
	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	for (room.function = 0; room.function < 0x10000; room.function++)
		if (!symbol_file_lookup(file, room.function, &symbol) &&
		    !strcmp(symbol.name, "outer_function"))
			break;
	room.bytes = symbol.size;
	symbol_files_close(symbol_files);
	assert_true(room.function < 0x10000);
}

static int enter(void **state)
{
	static const char kallsyms[] = "ffffffff81000000 T first_function\n"
				       "ffffffff81000100 T second_function\n"
				       "ffffffffc0000000 t of_module\t[toy]\n";
	const struct gb_task task = {.tgid = 10, .tid = 10, .start_ns = 1, .group_start_ns = 1};
	struct thread *thread;

	memset(&room, 0, sizeof(room));
	if (!fixture_make_library())
		return 0;
	find_function();
	fixture_write("kallsyms", kallsyms, sizeof(kallsyms) - 1);
	assert_int_equal(kernel_symbols_open(&room.kernel, fixture_path("kallsyms")), 0);
	assert_int_equal(objects_open(&room.objects, 100), 0);
	assert_int_equal(processes_open(&room.processes), 0);
	assert_int_equal(processes_thread(room.processes, &task, &thread), 0);
	room.process = thread->process;
	assert_int_equal(object_files_open(&room.files, NULL), 0);
	assert_int_equal(open_symbols(NULL), 0);
	map(fixture_path("lib.so"), MAPPED, 0);
	map("//anon", MAPPED + 0x200000, 0);
	map(fixture_path("nothing.so"), MAPPED, LATER);
	return 0;
}

static int leave(void **state)
{
	symbols_close(room.symbols);
	object_files_close(room.files);
	kernel_symbols_close(room.kernel);
	if (room.processes)
		processes_close(room.processes);
	if (room.objects)
		objects_close(room.objects);
	return 0;
}

static struct symbol_frames frames;

static int ask(const struct process *process, uint64_t address, uint64_t time_ns)
{
	const struct symbol_place place = symbols_place(process, address, time_ns);

	frames.count = 99;
	return symbols_lookup(room.symbols, &place, &frames);
}

static void test_user_code(void **state)
{
	uint64_t address = MAPPED + room.function + 1;
	struct symbol_place place;

	if (!room.symbols)
		skip();
	place = symbols_place(room.process, address, 1);
	assert_non_null(place.mapping);
	assert_int_equal(place.offset, room.function + 1);
	assert_int_equal(ask(room.process, address, 1), 0);
	assert_int_equal(frames.count, 1);
	assert_string_equal(frames.items[0].name, "outer_function");
	assert_int_equal(frames.items[0].size, room.bytes);
	assert_null(frames.items[0].module);
	assert_null(frames.items[0].file);
	assert_int_equal(frames.items[0].line, 0);
}

/* The same address is another file's later. */
static void test_time(void **state)
{
	struct other_file other;

	if (!room.symbols)
		skip();
	assert_int_equal(ask(room.process, MAPPED + room.function, LATER - 1), 0);
	assert_int_equal(ask(room.process, MAPPED + room.function, LATER), -ENOENT);
	assert_int_equal(frames.count, 0);
	assert_int_equal(object_files_trouble(room.files, see(fixture_path("nothing.so")), &other),
			 SYMBOL_TROUBLE_MISSING);
}

static void test_nobody_knows(void **state)
{
	if (!room.symbols)
		skip();
	assert_int_equal(ask(room.process, 0x1000, 1), -ENOENT);
	assert_null(symbols_place(room.process, 0x1000, 1).mapping);
	assert_int_equal(ask(room.process, MAPPED + 0x200000, 1), -ENOENT);
	/* An address of the kernel's in a process is no code of the kernel. */
	assert_int_equal(ask(room.process, 0xffffffff81000001, 1), -ENOENT);
}

static void test_kernel(void **state)
{
	const struct symbol_sources none = {.files = room.files};
	const struct symbol_place place = symbols_place(NULL, 0xffffffff81000101, 7);
	struct symbols *without;

	if (!room.symbols)
		skip();
	assert_int_equal(ask(NULL, 0xffffffff81000101, 7), 0);
	assert_string_equal(frames.items[0].name, "second_function");
	assert_int_equal(frames.items[0].start, 0xffffffff81000100);
	assert_null(frames.items[0].module);
	assert_int_equal(ask(NULL, 0xffffffffc0000004, 7), 0);
	assert_string_equal(frames.items[0].name, "of_module");
	assert_string_equal(frames.items[0].module, "toy");
	assert_int_equal(ask(NULL, 0x1000, 7), -ENOENT);
	/* User code at the same address is none of the kernel's. */
	assert_int_equal(symbols_open(&without, &none), 0);
	assert_int_equal(symbols_lookup(without, &place, &frames), -ENOENT);
	symbols_close(without);
	symbols_close(NULL);
}

static int open_and_close(void *context)
{
	int err = open_symbols(NULL);

	if (!err)
		symbols_close(room.symbols);
	return err;
}

static int ask_once(void *context)
{
	struct object_files *files;
	int err = object_files_open(&files, NULL);

	if (err)
		return err;
	symbols_close(room.symbols);
	object_files_close(room.files);
	room.symbols = NULL;
	room.files = files;
	err = open_symbols(NULL);
	return err ? err : ask(room.process, MAPPED + room.function, 1);
}

static void test_no_memory(void **state)
{
	size_t n, failed = 0;
	int err;

	if (!room.symbols)
		skip();
	/* A table that could not be made smaller does as well. */
	for (n = 1;; n++) {
		alloc_fail_at(n);
		err = ask_once(NULL);
		if (!alloc_fail_stop())
			break;
		assert_true(err == -ENOMEM || !err);
		failed += err == -ENOMEM;
	}
	assert_int_equal(err, 0);
	assert_true(failed > 5);
	symbols_close(room.symbols);
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 1);
	room.symbols = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_user_code, enter, leave),
		cmocka_unit_test_setup_teardown(test_time, enter, leave),
		cmocka_unit_test_setup_teardown(test_nobody_knows, enter, leave),
		cmocka_unit_test_setup_teardown(test_kernel, enter, leave),
		cmocka_unit_test_setup_teardown(test_no_memory, enter, leave),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
