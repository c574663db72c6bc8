/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel, or libc, does for a stack: functions that say nothing of it do their callers' work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "alloc.h"
#include "profile/frame_kind.h"
#include "profile/frames.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbols.h"
#include "target/process.h"

struct room {
	struct kernel_symbols *kernel;
	struct symbols *symbols;
	struct frames *frames;
	struct process process;
};

static int open_room(struct room *room)
{
	static const char kallsyms[] = "ffffffff81000000 T startup_64\nffffffff81001000 T do_work\n"
				       "ffffffff81f00000 T tcp_ack\nffffffff81f01000 T kfree\n"
				       "ffffffff82000000 T _etext\n";
	char path[] = "/tmp/test_kernel_work.XXXXXX";
	struct symbol_sources sources = {0};
	struct frames_source source = {.process = &room->process, .has_kernel = true};
	int fd = mkstemp(path), err;

	memset(&room->process, 0, sizeof(room->process));
	assert_int_equal(write(fd, kallsyms, sizeof(kallsyms) - 1), sizeof(kallsyms) - 1);
	close(fd);
	err = kernel_symbols_open(&room->kernel, path);
	unlink(path);
	sources.kernel = room->kernel;
	if (!err)
		err = symbols_open(&room->symbols, &sources);
	source.symbols = room->symbols;
	return err ? err : frames_open(&room->frames, &source);
}

static void close_room(struct room *room)
{
	frames_close(room->frames);
	symbols_close(room->symbols);
	kernel_symbols_close(room->kernel);
}

static uint32_t kernel_frame(struct room *room, uint64_t address)
{
	const struct frame code = {.value = address, .kind = GB_FRAME_KERNEL};
	uint32_t id;

	assert_int_equal(frames_locate(room->frames, &code, true, &id), 0);
	return id;
}

static void assert_work(const struct room *room, uint32_t id, unsigned int work, uint32_t function)
{
	assert_int_equal(frames_at(room->frames, id)->category, CATEGORY_KERNEL);
	assert_int_equal(frames_at(room->frames, id)->subcategory, work);
	assert_int_equal(frames_at(room->frames, id)->function, function);
}

/* A function of the kernel that says nothing of its work does its caller's, and stays the same function. */
static void kernel_work(void **state)
{
	struct room room;
	uint32_t tcp, memory, plain, heir, again, function;

	assert_int_equal(open_room(&room), 0);
	plain = heir = again = kernel_frame(&room, 0xffffffff81001010);
	tcp = kernel_frame(&room, 0xffffffff81f00010);
	memory = kernel_frame(&room, 0xffffffff81f01010);
	function = frames_at(room.frames, plain)->function;
	assert_int_equal(frames_inherit(room.frames, tcp, &heir), 0);
	assert_int_equal(frames_inherit(room.frames, tcp, &again), 0);
	assert_int_equal(heir, again);
	assert_work(&room, heir, KERNEL_NETWORK, function);
	assert_work(&room, plain, 0, function);
	/* So do its callees; others keep their own. */
	again = plain;
	assert_int_equal(frames_inherit(room.frames, heir, &again), 0);
	assert_int_equal(again, heir);
	again = memory;
	assert_int_equal(frames_inherit(room.frames, tcp, &again), 0);
	assert_int_equal(again, memory);
	assert_int_equal(frames_inherit(room.frames, plain, &again), 0);
	assert_work(&room, again, KERNEL_MEMORY, frames_at(room.frames, memory)->function);
	close_room(&room);
}

/* Code of a libc: a number is the name's, those beyond have none. */
enum { MALLOC, MEMSET, RESTORE, UNNAMED, ALSO_UNNAMED };

static int find_libc(const struct frame_query *query, struct frame_finding *found)
{
	static const char *const names[] = {"malloc", "memset", "__restore_rt"};

	found->function.lib = "libc.so.6";
	found->is_unnamed = query->value >= UNNAMED;
	found->function.value = found->is_unnamed ? query->value : 0;
	found->function.name = found->is_unnamed ? NULL : names[query->value];
	return 0;
}

static const struct frame_kind libc_frames = {
	.kind = GB_FRAME_USER,
	.category = CATEGORY_USER,
	.find = find_libc,
};

/* The subcategory of libc's `callee`, which is called by its `caller`; *id is its frame. */
static unsigned int libc_work(struct frames *frames, uint32_t caller, uint64_t callee, uint32_t *id)
{
	const struct frame code = {.value = callee, .kind = GB_FRAME_USER};

	assert_int_equal(frames_locate(frames, &code, true, id), 0);
	assert_int_equal(frames_inherit(frames, caller, id), 0);
	assert_int_equal(frames_at(frames, *id)->category, CATEGORY_LIBC);
	return frames_at(frames, *id)->subcategory;
}

/* What an allocation calls in libc is one, with a name or without; nothing else is as its caller is. */
static void allocation_work(void **state)
{
	static const struct frame_kind *const kinds[] = {&libc_frames, NULL};
	const struct frame code = {.value = MALLOC, .kind = GB_FRAME_USER};
	struct process process = {0};
	const struct frames_source source = {.process = &process, .kinds = kinds};
	struct frames *frames;
	uint32_t malloc_id, inner, unnamed, id;

	assert_int_equal(frames_open(&frames, &source), 0);
	assert_int_equal(frames_locate(frames, &code, true, &malloc_id), 0);
	assert_int_equal(frames_at(frames, malloc_id)->subcategory, USER_ALLOCATION);
	assert_int_equal(libc_work(frames, malloc_id, UNNAMED, &inner), USER_ALLOCATION);
	assert_int_equal(libc_work(frames, inner, MEMSET, &id), USER_ALLOCATION);
	assert_int_equal(libc_work(frames, malloc_id, RESTORE, &id), 0);
	assert_int_equal(libc_work(frames, id, UNNAMED, &unnamed), USER_UNNAMED);
	assert_int_equal(libc_work(frames, unnamed, MEMSET, &id), 0);
	assert_int_equal(libc_work(frames, id, ALSO_UNNAMED, &id), USER_UNNAMED);
	frames_close(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_work),
		cmocka_unit_test(allocation_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
