/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of files in memory that does not hold them all: who waits, who goes, who is tried again, and when. */
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
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/compile_pool.h"
#include "capture/file_tables.h"
#include "service/service.h"
#include "target/object.h"
#include "unwind/table.h"
#include "unwind/table_store.h"

#include "alloc.h"
#include "made_fixture.h"

#define NOW 1000000000000ULL
#define GRACE TABLE_STORE_GRACE_NS
#define MAX_FILES 2000
#define NOT_ELF (MAX_FILES - 1)
#define TOO_LARGE (MAX_FILES - 2)
#define GREEDY 1000 /* the first of GREEDY_FILES */
#define GREEDY_FILES 9
#define GREEDY_RULES 8180
#define GREEDY_OWNER 65534
#define TOO_LARGE_BYTES (40u << 20) /* of code without unwind information */

/* Many objects that are one file, the C library; and the memory, one pool. */
static struct object objects[MAX_FILES];
static uint64_t code_offset, code_address;
static struct unwind_memory memory;
static struct gb_chunk *chunks;
static struct file_tables *tables;
static struct compile_pool *pool;
static bool changed;

static int give_pool(void *context, uint32_t index, struct gb_chunk **out)
{
	assert_int_equal(index, 0);
	*out = chunks;
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *fd)
{
	if (*(int *)fd < 0 && strstr(info->dlpi_name, "/libc.so"))
		*(int *)fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	return 0;
}

/* Where its code is. */
static int find_code(int fd)
{
	struct unwind_table *table;
	uint32_t i;

	if (unwind_table_compile(&table, &(struct unwind_source){.fd = fd}))
		return -1;
	for (i = 0; i < table->segment_count; i++)
		if (table->segments[i].is_code) {
			code_offset = table->segments[i].offset;
			code_address = table->segments[i].address;
		}
	unwind_table_close(table);
	return 0;
}

/* An ELF file that is nearly nothing but a hole; -1: failure. */
static int open_too_large(void)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr code;
	} image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		.code = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_filesz = TOO_LARGE_BYTES,
			 .p_memsz = TOO_LARGE_BYTES,
			 .p_align = 4096},
	};
	int fd = memfd_create("too large", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, TOO_LARGE_BYTES) ||
	    pwrite(fd, &image, sizeof(image), 0) != sizeof(image))
		return -1;
	return fd;
}

static int setup_memory(void **state)
{
	int fd = -1;
	uint32_t i;

	dl_iterate_phdr(find_libc, &fd);
	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < MAX_FILES; i++)
		objects[i] = (struct object){.number = i, .fd = fd, .work_fd = -1, .path = "file"};
	objects[NOT_ELF].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	objects[TOO_LARGE].fd = open_too_large();
	chunks = calloc(GB_POOL_CHUNKS, sizeof(*chunks));
	memory = (struct unwind_memory){
		.pages = calloc(GB_MAX_PAGES, sizeof(*memory.pages)),
		.rules = calloc(GB_MAX_RULES, sizeof(*memory.rules)),
		.add_pool = give_pool,
		.max_pools = 1,
	};
	return fd >= 0 && objects[TOO_LARGE].fd >= 0 && chunks && memory.pages && memory.rules
		       ? find_code(fd)
		       : -1;
}

static int teardown_memory(void **state)
{
	close(objects[0].fd);
	close(objects[NOT_ELF].fd);
	close(objects[TOO_LARGE].fd);
	free(memory.pages);
	free(memory.rules);
	free(chunks);
	return 0;
}

static int setup(void **state)
{
	if (compile_pool_open(&pool))
		return -1;
	memset(memory.pages, 0, GB_MAX_PAGES * sizeof(*memory.pages));
	return file_tables_open(&tables, &memory, pool);
}

static int teardown(void **state)
{
	file_tables_close(tables);
	compile_pool_close(pool);
	pool = NULL;
	return 0;
}

static void load(uint64_t now_ns)
{
	const uint64_t until_ns = clock_now_ns() + 60 * NS_PER_SEC;

	assert_int_equal(file_tables_load(tables, now_ns, until_ns, &changed), 0);
}

/* Every second. Returns how often tables came that were waited for. */
static uint32_t load_for(uint32_t seconds, uint64_t now_ns)
{
	uint32_t count = 0;

	for (; seconds--; now_ns += GRACE) {
		load(now_ns);
		count += changed;
	}
	return count;
}

static void want(uint32_t first, uint32_t count)
{
	for (; count--; first++)
		assert_int_equal(file_tables_want(tables, &objects[first], NOW), 0);
}

static void use(uint32_t first, uint32_t count, int change, uint64_t now_ns)
{
	for (; count--; first++)
		file_tables_use(tables, first, change, now_ns);
}

static bool is_stored(uint32_t number)
{
	struct gb_mapping mapping = {.begin = 0x7f0000000000};

	assert_true(file_tables_resolve(tables, number, code_offset, &mapping));
	assert_int_equal(mapping.bias, 0x7f0000000000 - code_address);
	return !(mapping.flags & GB_MAPPING_NO_TABLE);
}

static void assert_stats(uint64_t stored, uint64_t compiled, uint64_t waiting, uint64_t evicted)
{
	struct file_tables_stats stats = file_tables_get_stats(tables);

	assert_int_equal(stats.tables, stored);
	assert_int_equal(stats.compiled, compiled);
	assert_int_equal(stats.waiting, waiting);
	assert_int_equal(stats.evicted, evicted);
}

/* Maps files until `more` wait. Returns how many are stored: the first ones. */
static uint32_t fill(uint32_t more)
{
	uint32_t i, count = 0;

	for (i = 0; i < count + more || !count; i++) {
		assert_true(i < NOT_ELF);
		want(i, 1);
		load(NOW);
		assert_false(changed);
		use(i, 1, 1, NOW);
		if (!count && !is_stored(i))
			count = i;
		assert_int_equal(is_stored(i), !count);
	}
	assert_stats(count, count + more, more, 0);
	return count;
}

static void one_file(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};

	want(0, 1);
	want(0, 1);
	assert_false(file_tables_resolve(tables, 0, code_offset, &mapping)); /* not loaded */
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE | GB_MAPPING_AWAITED);
	load(NOW);
	load(NOW);
	assert_stats(1, 1, 0, 0);
	assert_true(is_stored(0));
	assert_false(file_tables_resolve(tables, 0, 1ULL << 40, &mapping));
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE);
	assert_false(file_tables_resolve(tables, 7, code_offset, &mapping));
}

static void not_an_elf_file(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};

	want(NOT_ELF, 1);
	load(NOW);
	use(NOT_ELF, 1, 1, NOW);
	assert_false(file_tables_resolve(tables, NOT_ELF, 0, &mapping));
	load(NOW + GRACE);
	assert_stats(0, 0, 0, 0);
}

/* That is told, with how much it is. */
static void too_large_to_look_at(void **state)
{
	struct file_tables_stats stats;

	want(0, 1);
	load(NOW);
	assert_int_equal(file_tables_get_stats(tables).skipped_files, 0);
	want(TOO_LARGE, 1);
	load(NOW);
	stats = file_tables_get_stats(tables);
	assert_int_equal(stats.compiled, 2);
	assert_int_equal(stats.skipped_files, 1);
	assert_int_equal(stats.skipped_bytes, TOO_LARGE_BYTES);
}

/* Nothing is compiled again as long as nothing changes. */
static void waiting_does_not_spin(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};
	uint32_t count = fill(3);
	uint64_t now;

	assert_true(file_tables_resolve(tables, count, code_offset, &mapping));
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE);
	for (now = NOW; now < NOW + 10 * GRACE; now += GRACE / 4)
		load(now);
	assert_stats(count, count + 3, 3, 0);
	assert_int_equal(file_tables_get_stats(tables).no_room, 3);
}

/* A second after others are in nobody's way, and once the pieces are one: two that wait get their room, and the mappings that were there are told. */
static void waiting_gets_room(void **state)
{
	struct gb_mapping mapping = {.begin = 0x7f0000000000};
	uint32_t count = fill(3), i;

	assert_true(file_tables_resolve(tables, count, code_offset, &mapping));
	assert_false(file_tables_refresh(tables, count, &mapping));
	use(7, 1, -1, NOW);
	use(3, 1, -1, NOW + 1);
	load(NOW + GRACE - 1);
	assert_stats(count, count + 3, 3, 0);
	assert_true(load_for(10, NOW + GRACE + 1) > 0);
	assert_int_equal(file_tables_get_stats(tables).waiting, 1);
	assert_int_equal(file_tables_get_stats(tables).tables, count);
	assert_int_equal(file_tables_get_stats(tables).evicted, 2);
	assert_false(is_stored(3) || is_stored(7));
	assert_int_equal(is_stored(count) + is_stored(count + 1) + is_stored(count + 2), 2);
	for (i = count; !is_stored(i); i++)
		;
	mapping = (struct gb_mapping){.begin = 4096, .flags = GB_MAPPING_NO_TABLE};
	assert_true(file_tables_refresh(tables, i, &mapping));
	assert_int_equal(mapping.flags & GB_MAPPING_NO_TABLE, 0);
	assert_false(file_tables_refresh(tables, i, &mapping));
}

/* The longest unused goes first, and no more than needed. */
static void longest_unused_goes(void **state)
{
	uint32_t count = fill(1);

	use(5, 1, -1, NOW + 2);
	use(9, 1, -1, NOW + 1);
	use(2, 1, -1, NOW + 3);
	use(7, 1, -1, NOW + GRACE); /* not long enough */
	load(NOW + GRACE + 3);
	assert_false(is_stored(9));
	assert_true(is_stored(2) && is_stored(7));
	assert_true(file_tables_get_stats(tables).evicted <= 2);
	(void)load_for(5, NOW + 2 * GRACE + 3);
	assert_true(is_stored(count));
	assert_true(is_stored(2) && is_stored(7));
	/* One that has gone comes back when it is wanted. */
	want(9, 1);
	load(NOW + 8 * GRACE);
	use(9, 1, 1, NOW + 8 * GRACE);
	(void)load_for(5, NOW + 9 * GRACE);
	assert_true(is_stored(9));
	assert_true(is_stored(7));
}

/* Nothing goes for a table that would not fit then either: a small one that nobody uses stays, though a large one waits. */
static void nothing_goes_in_vain(void **state)
{
	uint32_t count = fill(1), i = count;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while (file_tables_get_stats(tables).waiting == 1) { /* the room that is left */
		objects[++i].fd = fd;
		want(i, 1);
		load(NOW);
		use(i, 1, 1, NOW);
	}
	assert_true(i > count + 1);
	use(i, 1, -1, NOW); /* that one waits for nothing any more */
	use(i - 1, 1, -1, NOW);
	assert_int_equal(load_for(5, NOW + GRACE), 0);
	assert_stats(i - 1, i + 1, 1, 0);
	/* A large one that goes does make room. */
	use(0, 1, -1, NOW + 5 * GRACE);
	assert_true(load_for(5, NOW + 6 * GRACE) > 0);
	assert_true(is_stored(count));
	while (i > count)
		objects[i--].fd = objects[0].fd;
	close(fd);
}

/* Whoever waits and is mapped no more is not compiled; and is tried afresh when it is wanted. */
static void waiting_no_more(void **state)
{
	uint32_t count = fill(1);

	use(count, 1, -1, NOW);
	use(0, count, -1, NOW);
	load(NOW + GRACE);
	assert_stats(count, count + 1, 0, 0);
	want(count, 1);
	load(NOW + 2 * GRACE);
	use(count, 1, 1, NOW + 2 * GRACE);
	(void)load_for(5, NOW + 3 * GRACE);
	assert_true(is_stored(count));
}

/* Not while it is mapped, nor a moment later, nor while its descriptor is to be read. Its number may be another file's then. */
static void forgotten(void **state)
{
	size_t bytes;

	assert_true(file_tables_forget(tables, 0, NOW));
	want(0, 1);
	load(NOW);
	use(0, 1, 1, NOW);
	bytes = file_tables_bytes(tables);
	assert_false(file_tables_forget(tables, 0, NOW + 9 * GRACE));
	use(0, 1, -1, NOW + 9 * GRACE);
	assert_false(file_tables_forget(tables, 0, NOW + 10 * GRACE - 1));
	want(1, 1);
	assert_false(file_tables_forget(tables, 1, NOW + 10 * GRACE));
	load(NOW + 10 * GRACE);
	assert_stats(2, 2, 0, 0);
	assert_true(file_tables_forget(tables, 0, NOW + 10 * GRACE));
	assert_stats(1, 2, 0, 0);
	assert_int_equal(file_tables_bytes(tables), bytes); /* of the other one now */
	want(0, 1);
	load(NOW + 12 * GRACE);
	assert_stats(2, 3, 0, 0);
	assert_true(is_stored(0));
}

/* Who waits for room in vain waits no more. */
static void forgotten_while_waiting(void **state)
{
	uint32_t count = fill(2);

	use(count, 1, -1, NOW);
	assert_true(file_tables_forget(tables, count, NOW + GRACE));
	assert_stats(count, count + 2, 1, 0);
	use(0, 1, -1, NOW);
	assert_true(file_tables_forget(tables, 0, NOW + GRACE));
	assert_true(load_for(4, NOW + GRACE) > 0);
	assert_stats(count, count + 3, 0, 0);
	assert_true(is_stored(count + 1));
}

/* A file of somebody else, with rules that no other has. */
static void make_greedy(uint32_t number)
{
	struct made made = made_begin(GREEDY_RULES * 16, 4096 + GREEDY_RULES * 32);
	int fd = memfd_create("greedy", MFD_CLOEXEC);
	uint32_t i;

	for (i = 0; i < GREEDY_RULES; i++)
		made_distinct(&made, i * 16, 16, number * GREEDY_RULES + i);
	made_headers(&made, GREEDY_RULES * 16, made.size - made.frames);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, made.bytes, made.size, 0), made.size);
	assert_int_equal(fchown(fd, GREEDY_OWNER, GREEDY_OWNER), 0);
	objects[GREEDY + number].fd = fd;
	objects[GREEDY + number].file.owner = GREEDY_OWNER;
	free(made.bytes);
}

static bool has_table(uint32_t number)
{
	struct gb_mapping mapping = {0};

	assert_true(file_tables_resolve(tables, number, MADE_TEXT, &mapping));
	return !(mapping.flags & GB_MAPPING_NO_TABLE);
}

/* Eight files have all rules that there are, and stay mapped. The C library gets its own all the same, and keeps them. */
static void who_takes_all_makes_room(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};
	const int fd = objects[GREEDY].fd;
	uint32_t i, kept = 0;

	if (geteuid())
		skip(); /* files of others cannot be made */
	for (i = 0; i < GREEDY_FILES; i++)
		make_greedy(i);
	want(GREEDY, GREEDY_FILES);
	load(NOW);
	use(GREEDY, GREEDY_FILES, 1, NOW);
	assert_stats(8, GREEDY_FILES, 1, 0);
	assert_true(file_tables_resolve(tables, GREEDY, MADE_TEXT, &mapping));

	want(0, 1);
	load(NOW);
	use(0, 1, 1, NOW);
	assert_true(changed); /* the mappings of one that had a table are to be published again */
	assert_false(is_stored(0)); /* its room may still be read */
	assert_int_equal(file_tables_get_stats(tables).displaced, 1);
	(void)load_for(3, NOW + GRACE);
	assert_true(is_stored(0));
	for (i = 0; i < GREEDY_FILES; i++)
		kept += has_table(GREEDY + i);
	assert_int_equal(kept, 7);
	assert_int_equal(file_tables_refresh(tables, GREEDY, &mapping), !has_table(GREEDY));
	(void)load_for(10, NOW + 10 * GRACE);
	assert_true(is_stored(0));
	assert_int_equal(file_tables_get_stats(tables).displaced, 1);
	for (i = 0; i < GREEDY_FILES; i++) {
		close(objects[GREEDY + i].fd);
		objects[GREEDY + i].fd = fd;
	}
}

static int live(void *context)
{
	int err = compile_pool_open(&pool);

	if (!err)
		err = file_tables_open(&tables, &memory, pool);
	if (err) {
		compile_pool_close(pool);
		pool = NULL;
		return err;
	}
	err = file_tables_want(tables, &objects[0], NOW);
	if (!err)
		err = file_tables_want(tables, &objects[20], NOW);
	if (!err)
		err = file_tables_load(tables, NOW, clock_now_ns() + 60 * NS_PER_SEC, &changed);
	file_tables_close(tables);
	compile_pool_close(pool);
	pool = NULL;
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(live, NULL) > 5);
	file_tables_close(NULL);
}

/* What is not there in time comes later, and is told to those that map the file. */
static void later(void **state)
{
	struct gb_mapping mapping = {.begin = 0x7f0000000000};
	const uint64_t end_ns = clock_now_ns() + 60 * NS_PER_SEC;

	want(0, 1);
	assert_int_equal(file_tables_load(tables, NOW, 0, &changed), 0);
	assert_false(file_tables_forget(tables, 0, NOW + 10 * GRACE));
	use(0, 1, 1, NOW);
	assert_int_equal(file_tables_get_stats(tables).compiled, 0);
	assert_false(file_tables_resolve(tables, 0, code_offset, &mapping));
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE | GB_MAPPING_AWAITED);
	mapping.begin += 4096; /* something else was mapped over its first page */
	while (!changed && clock_now_ns() < end_ns)
		load(NOW);
	assert_true(changed);
	assert_true(file_tables_resolve_late(tables, 0, &mapping));
	assert_int_equal(mapping.bias, 0x7f0000000000 - code_address);
	assert_int_equal(mapping.flags & (GB_MAPPING_NO_TABLE | GB_MAPPING_AWAITED), 0);
	assert_stats(1, 1, 0, 0);
}

/* Those that map it are told that nothing is awaited any more. */
static void awaited_in_vain(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};

	want(NOT_ELF, 1);
	assert_true(file_tables_is_awaited(tables, NOT_ELF));
	assert_false(file_tables_resolve(tables, NOT_ELF, 0, &mapping));
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE | GB_MAPPING_AWAITED);
	use(NOT_ELF, 1, 1, NOW);
	load(NOW);
	assert_true(changed);
	assert_false(file_tables_resolve(tables, NOT_ELF, 0, &mapping));
	assert_int_equal(mapping.flags, GB_MAPPING_NO_TABLE);
}

/* A table that does not come is awaited for a while only: its job is not even begun here. */
static void awaited_for_too_long(void **state)
{
	struct gb_mapping mapping = {.begin = 4096};
	uint64_t end_ns;

	want(0, 1);
	use(0, 1, 1, NOW);
	end_ns = clock_now_ns() + FILE_TABLE_AWAITED_NS;
	while (clock_now_ns() < end_ns)
		assert_true(file_tables_is_awaited(tables, 0));
	/* By now it is not awaited, or it is there. */
	assert_int_equal(file_tables_load(tables, NOW, 0, &changed), 0);
	assert_true(changed);
	assert_false(file_tables_is_awaited(tables, 0));
	(void)file_tables_resolve(tables, 0, code_offset, &mapping);
	assert_int_equal(mapping.flags & GB_MAPPING_AWAITED, 0);
	load(NOW);
	assert_true(is_stored(0));
}

int main(int argc, char **argv)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(one_file),
		FRESH(later),
		FRESH(awaited_in_vain),
		FRESH(awaited_for_too_long),
		FRESH(not_an_elf_file),
		FRESH(too_large_to_look_at),
		FRESH(waiting_does_not_spin),
		FRESH(waiting_gets_room),
		FRESH(longest_unused_goes),
		FRESH(nothing_goes_in_vain),
		FRESH(waiting_no_more),
		FRESH(forgotten),
		FRESH(forgotten_while_waiting),
		FRESH(who_takes_all_makes_room),
		cmocka_unit_test(failing_allocations),
	};

	service_main(argc, argv);
	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
