/* SPDX-License-Identifier: BSD-2-Clause */
/* What frames are called: this program's own functions, and files that are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <linux/types.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "buffer/profile_buffer.h"
#include "geckobpf_abi.h"
#include "base/u64_map.h"
#include "format/display_name.h"
#include "profile/frame_kind.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "profile/profile.h"
#include "profile/redaction.h"
#include "symbol/kernel_symbols.h"
#include "symbol/object_files.h"
#include "symbol/named_files.h"
#include "symbol/symbols.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"
#include "display_name_fixture.h"

/* ---- frames ---------------------------------------------------------------------------- */

#define LIB_START 0x7f0000000000ULL
#define ANON_START 0x7e0000000000ULL

static struct kernel_symbols *kernel;

struct room {
	struct named_files *named_files;
	struct libs *libs;
	struct symbols *symbols; /* NULL: addresses are wanted */
	struct frames *frames;
	struct process process;
};

static struct object self = {.number = 0, .path = (char *)"/proc/self/exe", .fd = -1};
static struct object lib = {.number = 1, .path = (char *)"/nonexistent/lib)x.so", .fd = -1};
static struct object anon = {
	.number = 2, .kind = OBJECT_ANONYMOUS, .path = (char *)"//anon", .fd = -1};
static struct object heap = {
	.number = 3, .kind = OBJECT_ANONYMOUS, .path = (char *)"[heap]", .fd = -1};
static struct object vdso = {.number = 4, .kind = OBJECT_VDSO, .path = (char *)"[vdso]", .fd = -1};

static struct mapping self_mapping = {.object = &self};
static char kallsyms_path[] = "/tmp/test_frames.XXXXXX";

/* Fills self_mapping with where this program's code is. */
static int find_self(struct dl_phdr_info *info, size_t size, void *context)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		self_mapping.start = (info->dlpi_addr + segment->p_vaddr) & ~0xfffULL;
		self_mapping.end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
		self_mapping.offset = segment->p_offset & ~0xfffULL;
	}
	return 1;
}

static int setup(void **state)
{
	static const char kallsyms[] =
		"ffffffff81000000 T startup_64\nffffffff81001000 T do_work\n"
		"ffffffff82000000 T _etext\nffffffffc0000000 t mod_fn\t[mod]\n"
		"ffffffffc0001000 t mod_end\t[mod]\n";
	int fd = mkstemp(kallsyms_path);

	if (fd < 0 || write(fd, kallsyms, sizeof(kallsyms) - 1) < 0)
		return -1;
	close(fd);
	if (kernel_symbols_open(&kernel, kallsyms_path))
		return -1;
	dl_iterate_phdr(find_self, NULL);
	return self_mapping.start ? 0 : -1;
}

static int teardown(void **state)
{
	kernel_symbols_close(kernel);
	return unlink(kallsyms_path);
}

static int add_mapping(struct room *room, struct object *object, uint64_t start, uint64_t from_ns)
{
	const struct mapping mapping = {start, start + 0x10000, 0x3000, from_ns, object};

	return address_space_add(&room->process.space, &mapping);
}

static int add_mappings(struct room *room)
{
	uint64_t vdso_start = getauxval(AT_SYSINFO_EHDR);
	struct mapping vdso_mapping = {vdso_start, vdso_start + 0x2000, 0, 0, &vdso};
	int err = address_space_add(&room->process.space, &self_mapping);

	if (!err)
		err = add_mapping(room, &lib, LIB_START, 0);
	if (!err)
		err = add_mapping(room, &anon, ANON_START, 0);
	if (!err)
		err = add_mapping(room, &heap, ANON_START + 0x10000, 0);
	if (!err && vdso_start)
		err = address_space_add(&room->process.space, &vdso_mapping);
	return err;
}

static int open_symbols(struct room *room)
{
	const struct symbol_sources sources = {.files = libs_files(room->libs), .kernel = kernel};

	return symbols_open(&room->symbols, &sources);
}

static int open_redacted(struct room *room, bool addresses, struct redaction *redaction)
{
	int err;

	memset(room, 0, sizeof(*room));
	err = named_files_open(&room->named_files, NULL);
	if (!err)
		err = libs_open(&room->libs, room->named_files, redaction);
	if (!err && !addresses)
		err = open_symbols(room);
	if (!err)
		err = add_mappings(room);
	if (!err)
		err = frames_open(&room->frames, &(struct frames_source){.process = &room->process,
									 .symbols = room->symbols,
									 .libs = room->libs,
									 .redaction = redaction,
									 .has_kernel = true});
	return err;
}

static int open_room(struct room *room, bool addresses)
{
	return open_redacted(room, addresses, NULL);
}

static void close_room(struct room *room)
{
	frames_close(room->frames);
	symbols_close(room->symbols);
	libs_close(room->libs);
	named_files_close(room->named_files);
	address_space_clear(&room->process.space);
}

/* The text of a frame, asserted to be of `category`. */
static const char *text_of(struct room *room, uint64_t value, enum gb_frame_kind kind, bool is_leaf,
			   enum profile_category_index category)
{
	const struct frame code = {.value = value, .kind = (uint8_t)kind};
	const struct profile_frame *frame;
	uint32_t id;

	assert_int_equal(frames_locate(room->frames, &code, is_leaf, &id), 0);
	frame = frames_at(room->frames, id);
	/* Of user code it depends on the file as well: test_categories.c. */
	assert_int_equal(frame->category == CATEGORY_KERNEL, category == CATEGORY_KERNEL);
	return text_of_function(frames_function(room->frames, frame->function));
}

static const char *name_of(struct room *room, uint64_t pc, bool is_kernel, bool is_leaf)
{
	return text_of(room, pc, is_kernel ? GB_FRAME_KERNEL : GB_FRAME_USER, is_leaf,
		       is_kernel ? CATEGORY_KERNEL : CATEGORY_USER);
}

/* A function whose name is looked up; called so that it is there. */
__attribute__((noinline)) int frames_landmark(int a);
__attribute__((noinline)) int frames_landmark(int a)
{
	return a * 3 + getpid();
}

static void user_functions(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)frames_landmark;
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_true(frames_landmark(1) != 0);
	assert_string_equal(name_of(&room, address, false, true), "frames_landmark (in exe)");
	/* A return address right behind a function's last instruction belongs to that function. */
	assert_string_equal(name_of(&room, address + 1, false, false), "frames_landmark (in exe)");
	assert_string_not_equal(name_of(&room, address, false, false), "frames_landmark (in exe)");
	display_name_clear(&display_name);
	close_room(&room);
}

static void user_without_names(void **state)
{
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_string_equal(name_of(&room, LIB_START + 0x123, false, true),
			    "lib]x.so+0x3123 (in lib]x.so)");
	assert_string_equal(name_of(&room, LIB_START + 0x124, false, false),
			    "lib]x.so+0x3123 (in lib]x.so)");
	/* Distinct addresses: the two above were one. */
	assert_int_equal(frames_unnamed(room.frames), 1);
	assert_string_equal(name_of(&room, ANON_START + 5, false, true),
			    "[anonymous code] (in [anon])");
	assert_string_equal(name_of(&room, ANON_START + 6, false, true),
			    "[anonymous code] (in [anon])");
	assert_string_equal(name_of(&room, ANON_START + 0x10000, false, true),
			    "[anonymous code] (in [heap])");
	assert_string_equal(name_of(&room, 0x1000, false, true), "[unknown] (in [unmapped])");
	assert_string_equal(name_of(&room, GB_STACK_END_COUNT, false, true),
			    "[unknown] (in [unmapped])");
	assert_int_equal(frames_unnamed(room.frames), 6);
	display_name_clear(&display_name);
	close_room(&room);
}

/* What was interrupted is where it is, whoever asks; what signal handlers return to has a name. */
static void interrupted_functions(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)frames_landmark;
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_string_equal(text_of(&room, address, GB_FRAME_INTERRUPTED, false, CATEGORY_USER),
			    "frames_landmark (in exe)");
	assert_string_equal(text_of(&room, address, GB_FRAME_SIGNAL, false, CATEGORY_USER),
			    "frames_landmark (in exe)");
	assert_int_equal(frames_count(room.frames), 1);
	assert_string_equal(
		text_of(&room, LIB_START + 0x123, GB_FRAME_INTERRUPTED, false, CATEGORY_USER),
		"lib]x.so+0x3123 (in lib]x.so)");
	assert_int_equal(frames_unnamed(room.frames), 1);
	assert_string_equal(
		text_of(&room, LIB_START + 0x123, GB_FRAME_SIGNAL, false, CATEGORY_USER),
		"__restore_rt (in lib]x.so)");
	assert_int_equal(frames_unnamed(room.frames), 1);
	display_name_clear(&display_name);
	close_room(&room);
}

static void kernel_functions(void **state)
{
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_string_equal(name_of(&room, 0xffffffff81001000, true, true),
			    "do_work (in [kernel])");
	assert_string_equal(name_of(&room, 0xffffffff81001000, true, false),
			    "startup_64 (in [kernel])");
	assert_string_equal(name_of(&room, 0xffffffffc0000010, true, true), "mod_fn (in [mod])");
	assert_string_equal(name_of(&room, 0xffff800000000000, true, true),
			    "[unknown] (in [kernel])");
	display_name_clear(&display_name);
	close_room(&room);
}

static void addresses(void **state)
{
	struct room room;

	assert_int_equal(open_room(&room, true), 0);
	assert_string_equal(name_of(&room, LIB_START + 0x123, false, true), "0x7f0000000123");
	/* Raw: the front-end subtracts. */
	assert_string_equal(name_of(&room, LIB_START + 0x124, false, false), "0x7f0000000124");
	assert_string_equal(name_of(&room, 0xffffffff81001000, true, false), "0xffffffff81001000");
	assert_string_equal(name_of(&room, GB_STACK_END_COUNT, false, false), "0xe");
	assert_int_equal(frames_unnamed(room.frames), 0);
	/* Which libs to list is known here too. */
	assert_int_not_equal(u64_map_get(frames_objects(room.frames), lib.number), U64_MAP_NONE);
	assert_int_equal(u64_map_get(frames_objects(room.frames), self.number), U64_MAP_NONE);
	display_name_clear(&display_name);
	close_room(&room);
}

/* Where no address is to be said, there is a place in a file, or a name for all that has none. */
static void redacted_addresses(void **state)
{
	struct redaction redaction = {0};
	struct room room;

	assert_int_equal(open_redacted(&room, true, &redaction), 0);
	assert_string_equal(name_of(&room, LIB_START + 0x123, false, true), "0x3123");
	assert_string_equal(name_of(&room, LIB_START + 0x124, false, false), "0x3124");
	assert_string_equal(name_of(&room, ANON_START + 5, false, true),
			    "[anonymous code] (in [anon])");
	assert_string_equal(name_of(&room, 0x1000, false, true), "[unknown] (in [unmapped])");
	assert_string_equal(name_of(&room, 0xffffffff81001000, true, false),
			    "[unknown] (in [kernel])");
	assert_int_equal(redaction.counts[REDACTED_ADDRESSES], 4);
	assert_int_equal(redaction.counts[REDACTED_KERNEL_ADDRESSES], 1);
	assert_string_equal(libs_path(room.libs, &lib), "lib)x.so");
	display_name_clear(&display_name);
	close_room(&room);
}

static const char *text_of_end(struct room *room, uint64_t end)
{
	return text_of(room, end, GB_FRAME_TRUNCATED, false, CATEGORY_OTHER);
}

/* Every early end has a reason of its own; the ends that are none have no words. */
static void stack_ends(void **state)
{
	static const char *const reasons[GB_STACK_END_COUNT] = {
		[GB_STACK_FAILED] = "no registers",
		[GB_STACK_FULL] = "more frames than there is room for",
		[GB_STACK_NO_PROCESS] = "process not known yet",
		[GB_STACK_NO_MAPPING] = "return address outside of all code",
		[GB_STACK_NO_RULE] = "unwind information not supported",
		[GB_STACK_FP_FAILED] = "neither unwind information nor frame pointer",
		[GB_STACK_READ_FAILED] = "stack not readable",
		[GB_STACK_NOT_MONOTONIC] = "frames out of order",
		[GB_STACK_COMPAT32] = "32-bit process",
		[GB_STACK_NOT_TAKEN] = "it did not run again",
	};
	struct room room;
	unsigned int end;

	assert_int_equal(open_room(&room, false), 0);
	for (end = 0; end < GB_STACK_END_COUNT; end++) {
		char expected[80];

		if (!reasons[end]) {
			assert_null(profile_stack_end(end));
			continue;
		}
		assert_string_equal(profile_stack_end(end), reasons[end]);
		snprintf(expected, sizeof(expected), "(truncated: %s)", reasons[end]);
		assert_string_equal(text_of_end(&room, end), expected);
	}
	assert_null(profile_stack_end(GB_STACK_END_COUNT));
	assert_null(profile_stack_end(UINT32_MAX));
	assert_string_equal(text_of_end(&room, GB_STACK_NONE), "(truncated: reason not known)");
	assert_string_equal(text_of_end(&room, UINT64_MAX), "(truncated: reason not known)");
	assert_string_equal(text_of_end(&room, (1ULL << 32) + GB_STACK_FULL),
			    "(truncated: reason not known)");
	display_name_clear(&display_name);
	close_room(&room);
}

/* A kind that a later version has is told by its number; so are its frames. */
static void unknown_kinds(void **state)
{
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_string_equal(text_of(&room, 0x12, GB_FRAME_KIND_COUNT, false, CATEGORY_OTHER),
			    "(frame of kind 6: 0x12)");
	assert_string_equal(text_of(&room, UINT64_MAX, FRAME_KINDS_MAX - 1, true, CATEGORY_OTHER),
			    "(frame of kind 15: 0xffffffffffffffff)");
	assert_int_equal(frames_unnamed(room.frames), 0);
	display_name_clear(&display_name);
	close_room(&room);
}

static void rows_are_sound(void **state)
{
	const struct frame_kind *const *row, *const *other;

	for (row = frame_table; *row; row++) {
		assert_true((*row)->kind < FRAME_KINDS_MAX);
		assert_true((*row)->category < CATEGORY_COUNT);
		assert_non_null((*row)->find);
		for (other = frame_table; other != row; other++)
			assert_int_not_equal((*row)->kind, (*other)->kind);
	}
	assert_int_equal(row - frame_table, GB_FRAME_KIND_COUNT);
}

/* A frame that is made for it says why its stack ended early, in both modes; code at a low address does not. */
static void truncated_roots(void **state)
{
	unsigned int end;
	struct room room;
	int mode;

	for (mode = 0; mode < 2; mode++) {
		assert_int_equal(open_room(&room, mode), 0);
		for (end = GB_STACK_FAILED; end < GB_STACK_END_COUNT; end++) {
			char expected[80];
			const char *why = profile_stack_end(end);

			snprintf(expected, sizeof(expected), "(truncated: %s)",
				 why ? why : "reason not known");
			assert_string_equal(
				text_of(&room, end, GB_FRAME_TRUNCATED, false, CATEGORY_OTHER),
				expected);
			assert_string_equal(
				text_of(&room, end, GB_FRAME_TRUNCATED, true, CATEGORY_OTHER),
				expected);
		}
		assert_int_equal(frames_unnamed(room.frames), 0);
		/* Calls to small addresses, a caller behind them, and small addresses in the kernel. */
		assert_string_equal(text_of(&room, 0, GB_FRAME_USER, true, CATEGORY_USER),
				    mode ? "0x0" : "[unknown] (in [unmapped])");
		assert_string_equal(
			text_of(&room, GB_STACK_FULL, GB_FRAME_USER, true, CATEGORY_USER),
			mode ? "0x4" : "[unknown] (in [unmapped])");
		assert_string_equal(
			text_of(&room, GB_STACK_END_COUNT, GB_FRAME_USER, false, CATEGORY_USER),
			mode ? "0xe" : "[unknown] (in [unmapped])");
		assert_string_equal(
			text_of(&room, GB_STACK_FULL, GB_FRAME_KERNEL, true, CATEGORY_KERNEL),
			mode ? "0x4" : "[unknown] (in [kernel])");
		/* They are no addresses of the file's: what is known of roots is not mixed up with them. */
		assert_string_equal(
			text_of(&room, GB_STACK_FULL, GB_FRAME_TRUNCATED, true, CATEGORY_OTHER),
			"(truncated: more frames than there is room for)");
		close_room(&room);
	}
}

static void kernel_without_symbols(void **state)
{
	struct frames_source source;
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	frames_close(room.frames);
	source = (struct frames_source){.process = &room.process, .symbols = room.symbols};
	assert_int_equal(frames_open(&room.frames, &source), 0);
	assert_string_equal(name_of(&room, 0xffffffff81001000, true, false), "0xffffffff81001000");
	display_name_clear(&display_name);
	close_room(&room);
}

static void vdso_functions(void **state)
{
	struct named_file *file;
	struct room room;
	uint8_t id[20];
	size_t size;

	assert_int_equal(open_room(&room, false), 0);
	if (!getauxval(AT_SYSINFO_EHDR)) {
		close_room(&room);
		skip();
	}
	assert_int_equal(object_files_get(libs_files(room.libs), &vdso, &file), 0);
	assert_true(!named_file_build_id(file, id, sizeof(id), &size) && size > 0);
	display_name_clear(&display_name);
	close_room(&room);
}

static void one_symbol_file_for_an_object(void **state)
{
	struct named_file *file, *again;
	struct room room;

	assert_int_equal(open_room(&room, false), 0);
	assert_int_equal(object_files_get(libs_files(room.libs), &lib, &file), 0);
	assert_int_equal(object_files_get(libs_files(room.libs), &self, &again), 0);
	assert_ptr_not_equal(file, again);
	assert_int_equal(object_files_get(libs_files(room.libs), &lib, &again), 0);
	assert_ptr_equal(file, again);
	assert_int_equal(object_files_get(libs_files(room.libs), &anon, &again), -ENOENT);
	display_name_clear(&display_name);
	close_room(&room);
}

/* A file that was replaced by another build since it was mapped names nothing. */
static void another_build_at_the_path(void **state)
{
	struct object rebuilt = self;
	struct named_file *file;
	struct room room;

	rebuilt.number = 5;
	rebuilt.build_id = (struct build_id){.size = 20, .bytes = {1, 2, 3}};
	assert_int_equal(open_room(&room, false), 0);
	assert_int_equal(object_files_get(libs_files(room.libs), &self, &file), 0);
	assert_int_equal(object_files_get(libs_files(room.libs), &rebuilt, &file), -ENOENT);
	assert_int_equal(object_files_get(libs_files(room.libs), &rebuilt, &file), -ENOENT);
	display_name_clear(&display_name);
	close_room(&room);
}

/* The same address is something else once another file is mapped there. */
static void eras(void **state)
{
	struct room room;
	uint32_t epoch;

	assert_int_equal(open_room(&room, false), 0);
	assert_int_equal(add_mapping(&room, &anon, LIB_START, 5000), 0);
	frames_seek(room.frames, 1000);
	epoch = frames_era(room.frames);
	assert_string_equal(name_of(&room, LIB_START, false, true),
			    "lib]x.so+0x3000 (in lib]x.so)");
	frames_seek(room.frames, 4999);
	/* Earlier, but in the same era. */
	frames_seek(room.frames, 500);
	assert_int_equal(frames_era(room.frames), epoch);
	frames_seek(room.frames, 5000);
	assert_true(frames_era(room.frames) > epoch);
	assert_string_equal(name_of(&room, LIB_START, false, true), "[anonymous code] (in [anon])");
	epoch = frames_era(room.frames);
	frames_seek(room.frames, 4000);
	assert_true(frames_era(room.frames) > epoch);
	assert_string_equal(name_of(&room, LIB_START, false, true),
			    "lib]x.so+0x3000 (in lib]x.so)");
	display_name_clear(&display_name);
	close_room(&room);
}

static int attempt(void *context)
{
	static const struct frame nodes[] = {
		{.value = LIB_START},
		{.value = ANON_START},
		{.value = 0x1000},
		{.value = 0xffffffff81001000, .kind = GB_FRAME_KERNEL},
		{.value = GB_STACK_READ_FAILED, .kind = GB_FRAME_TRUNCATED},
		{.value = 1, .kind = FRAME_KINDS_MAX - 1}};
	struct room room;
	uint32_t id;
	size_t i;
	int err = open_room(&room, *(bool *)context);

	for (i = 0; i < 6 && !err; i++) {
		err = frames_locate(room.frames, &nodes[i], true, &id);
	}
	close_room(&room);
	return err;
}

static void failing_allocations(void **state)
{
	bool is_addresses = false;

	assert_true(alloc_fail_each(attempt, &is_addresses) > 20);
	is_addresses = true;
	assert_true(alloc_fail_each(attempt, &is_addresses) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_ends),
		cmocka_unit_test(unknown_kinds),
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(user_functions),
		cmocka_unit_test(user_without_names),
		cmocka_unit_test(interrupted_functions),
		cmocka_unit_test(kernel_functions),
		cmocka_unit_test(addresses),
		cmocka_unit_test(redacted_addresses),
		cmocka_unit_test(truncated_roots),
		cmocka_unit_test(kernel_without_symbols),
		cmocka_unit_test(vdso_functions),
		cmocka_unit_test(one_symbol_file_for_an_object),
		cmocka_unit_test(another_build_at_the_path),
		cmocka_unit_test(eras),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
