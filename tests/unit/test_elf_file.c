/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_file.c - opening ELF files, what is refused, their layout and build id, and unpacking
 * .xz.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "elf_fixture.h"
#include "elf/elf_file.h"
#include "elf/elf_layout.h"
#include "elf/xz.h"

static const uint8_t build_id[20] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				     11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

/* A program without sections: three PT_LOADs, of which two share the page at 0x1000, and notes. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	struct {
		uint32_t name_bytes, data_bytes, type;
		char name[4];
		uint8_t data[20];
	} notes[2];
	char rest[0x3000];
};

static struct program make_program(void)
{
	struct program program = {0};

	memcpy(program.header.e_ident, ELFMAG, SELFMAG);
	program.header.e_ident[EI_CLASS] = ELFCLASS64;
	program.header.e_ident[EI_DATA] = ELFDATA2LSB;
	program.header.e_ident[EI_VERSION] = EV_CURRENT;
	program.header.e_type = ET_EXEC;
	program.header.e_machine = EM_X86_64;
	program.header.e_version = EV_CURRENT;
	program.header.e_ehsize = sizeof(Elf64_Ehdr);
	program.header.e_phoff = offsetof(struct program, segments);
	program.header.e_phentsize = sizeof(Elf64_Phdr);
	program.header.e_phnum = 4;
	program.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R,
					   .p_offset = 0x1000,
					   .p_vaddr = 0x403000,
					   .p_filesz = 0x400,
					   .p_memsz = 0x5000};
	program.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_X,
					   .p_offset = 0x1400,
					   .p_vaddr = 0x401400,
					   .p_filesz = 0x900,
					   .p_memsz = 0x900};
	program.segments[2] = (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R,
					   .p_offset = 0,
					   .p_vaddr = 0x400120,
					   .p_filesz = 0x800,
					   .p_memsz = 0x800};
	program.segments[3] = (Elf64_Phdr){.p_type = PT_NOTE,
					   .p_offset = offsetof(struct program, notes),
					   .p_filesz = sizeof(program.notes),
					   .p_align = 4};
	program.notes[0].name_bytes = program.notes[1].name_bytes = 4;
	program.notes[0].data_bytes = program.notes[1].data_bytes = 20;
	program.notes[0].type = NT_GNU_ABI_TAG;
	program.notes[1].type = NT_GNU_BUILD_ID;
	memcpy(program.notes[0].name, "GNU", 4);
	memcpy(program.notes[1].name, "GNU", 4);
	memcpy(program.notes[1].data, build_id, sizeof(build_id));
	return program;
}

static int open_program(const struct program *program, struct elf_layout *layout)
{
	struct elf_file *file;
	int err = elf_file_open_image(&file, program, sizeof(*program));

	if (err)
		return err;
	err = elf_layout_read(layout, file);
	elf_file_close(file);
	return err;
}

static void test_layout(void **state)
{
	struct program program = make_program();
	struct elf_layout layout = {0};
	uint64_t address = 7;

	assert_int_equal(open_program(&program, &layout), 0);
	assert_int_equal(layout.segment_count, 3);
	assert_int_equal(layout.base, 0x400000);
	assert_int_equal(layout.build_id_bytes, 20);
	assert_memory_equal(layout.build_id, build_id, 20);

	assert_int_equal(elf_layout_address(&layout, 0x1400, &address), 0);
	assert_int_equal(address, 0x401400);
	assert_int_equal(elf_layout_address(&layout, 0x1cff, &address), 0);
	assert_int_equal(address, 0x401cff);
	/* The code's first page, which it does not begin: a data segment has these bytes, too, but they are asked for as code. */
	assert_int_equal(elf_layout_address(&layout, 0x13ff, &address), 0);
	assert_int_equal(address, 0x4013ff);
	assert_int_equal(elf_layout_address(&layout, 0x1000, &address), 0);
	assert_int_equal(address, 0x401000);
	/* In no page of a code segment: a program that makes code of its data. */
	assert_int_equal(elf_layout_address(&layout, 0x7ff, &address), 0);
	assert_int_equal(address, 0x40091f);
	/* Behind the code, up to the end of its page. */
	assert_int_equal(elf_layout_address(&layout, 0x1d00, &address), 0);
	assert_int_equal(address, 0x401d00);
	assert_int_equal(elf_layout_address(&layout, 0x1fff, &address), 0);
	assert_int_equal(address, 0x401fff);
	address = 7;
	assert_int_equal(elf_layout_address(&layout, 0x2000, &address), -ENOENT);
	assert_int_equal(elf_layout_address(&layout, UINT64_MAX, &address), -ENOENT);
	assert_int_equal(elf_layout_address(&layout, 0x800, &address), -ENOENT);
	assert_int_equal(address, 7);
	elf_layout_free(&layout);
	assert_null(layout.segments);
}

static void test_layout_without_anything(void **state)
{
	struct program program = make_program();
	struct elf_layout layout = {0};

	program.header.e_phnum = 0;
	program.header.e_phoff = 0;
	assert_int_equal(open_program(&program, &layout), 0);
	assert_int_equal(layout.segment_count, 0);
	assert_int_equal(layout.build_id_bytes, 0);
	elf_layout_free(&layout);
}

static void test_wild_segments(void **state)
{
	struct program program = make_program();
	struct elf_layout layout = {0};
	uint64_t address;

	program.segments[0].p_offset = UINT64_MAX - 8;
	program.segments[0].p_filesz = UINT64_MAX;
	program.segments[1].p_filesz = UINT64_MAX;
	program.segments[1].p_vaddr = UINT64_MAX - 0x10;
	assert_int_equal(open_program(&program, &layout), 0);
	assert_int_equal(elf_layout_address(&layout, 0x1400, &address), 0);
	assert_int_equal(address, UINT64_MAX - 0x10);
	assert_int_equal(elf_layout_address(&layout, UINT64_MAX - 9, &address), 0);
	elf_layout_free(&layout);
}

static size_t build_id_of(const struct program *program)
{
	struct elf_layout layout = {0};
	size_t bytes;

	assert_int_equal(open_program(program, &layout), 0);
	bytes = layout.build_id_bytes;
	elf_layout_free(&layout);
	return bytes;
}

static void test_odd_notes(void **state)
{
	struct program program = make_program();

	program.notes[0].data_bytes = UINT32_MAX;
	assert_int_equal(build_id_of(&program), 0);
	program.notes[0].data_bytes = 20;
	program.notes[0].name_bytes = UINT32_MAX;
	assert_int_equal(build_id_of(&program), 0);
	program.notes[0].name_bytes = 0;
	program.notes[0].data_bytes = 0;
	assert_int_equal(build_id_of(&program), 0);
	program = make_program();
	program.notes[1].data_bytes = 0;
	assert_int_equal(build_id_of(&program), 0);
	program.notes[1].data_bytes = 21;
	assert_int_equal(build_id_of(&program), 0);
	program.notes[1].data_bytes = 8;
	assert_int_equal(build_id_of(&program), 8);
	program.notes[1].name[0] = 'X';
	assert_int_equal(build_id_of(&program), 0);
	program = make_program();
	program.segments[3].p_filesz = sizeof(program.notes) - 1;
	assert_int_equal(build_id_of(&program), 0);
	program.segments[3].p_filesz = UINT64_MAX;
	assert_int_equal(build_id_of(&program), 20);
	program.segments[3].p_offset = UINT64_MAX;
	assert_int_equal(build_id_of(&program), 0);
}

static void assert_refused(const struct program *program)
{
	struct elf_file *file = (void *)1;

	assert_int_equal(elf_file_open_image(&file, program, sizeof(*program)), -ENOEXEC);
	assert_ptr_equal(file, (void *)1);
}

static void test_refusals(void **state)
{
	struct program program = make_program();
	struct elf_file *file = (void *)1;
	size_t size;

	program.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_refused(&program);
	program = make_program();
	program.header.e_ident[EI_CLASS] = 3;
	assert_refused(&program);
	program = make_program();
	program.header.e_ident[0] = 0;
	assert_refused(&program);
	program = make_program();
	program.header.e_type = ET_REL;
	assert_refused(&program);
	program = make_program();
	program.header.e_phnum = PN_XNUM;
	assert_refused(&program);
	program = make_program();
	program.header.e_phentsize--;
	assert_refused(&program);
	program = make_program();
	program.header.e_phoff = sizeof(program) - 4 * sizeof(Elf64_Phdr) + 1;
	assert_refused(&program);
	program = make_program();
	for (size = 0; size < sizeof(program.header); size++)
		assert_int_equal(elf_file_open_image(&file, &program, size), -ENOEXEC);
	memcpy(&program, "!<arch>\n", 8);
	assert_refused(&program);
	assert_int_equal(fixture_open(&file, "/nonexistent"), -ENOENT);
	assert_int_equal(fixture_open(&file, "/"), -ENOEXEC);
	assert_int_equal(fixture_open(&file, "/dev/null"), -ENOEXEC);
	assert_int_equal(fixture_open(&file, "/etc/passwd"), -ENOEXEC);
	assert_ptr_equal(file, (void *)1);
	elf_file_close(NULL);
}

static void test_fifo_does_not_block(void **state)
{
	struct elf_file *file;

	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	assert_int_equal(fixture_open(&file, fixture_path("fifo")), -ENOEXEC);
}

static void test_reading(void **state)
{
	struct program program = make_program();
	struct elf_file *file;
	char bytes[16];

	assert_int_equal(elf_file_open_image(&file, &program, sizeof(program)), 0);
	assert_int_equal(elf_file_read(file, 0, bytes, 4), 0);
	assert_memory_equal(bytes, ELFMAG, 4);
	assert_int_equal(elf_file_read(file, sizeof(program) - 16, bytes, 16), 0);
	assert_int_equal(elf_file_read(file, sizeof(program) - 15, bytes, 16), -ENODATA);
	assert_int_equal(elf_file_read(file, UINT64_MAX, bytes, 16), -ENODATA);
	assert_int_equal(elf_file_read(file, sizeof(program), bytes, 0), 0);
	elf_file_close(file);
}

static size_t count_sections(const struct program *program)
{
	struct elf_file *file;
	size_t count;

	assert_int_equal(elf_file_open_image(&file, program, sizeof(*program)), 0);
	count = file->section_count;
	elf_file_close(file);
	return count;
}

/* Counts that do not fit the ELF header are in the first section header. What cannot be is as if there were no sections. */
static void test_section_counts(void **state)
{
	struct program program = make_program();
	Elf64_Shdr first = {.sh_size = 5, .sh_link = 3}, names = {.sh_type = SHT_STRTAB};
	const size_t at = sizeof(program) - 0x2800;
	char *bytes = (char *)&program + at;
	struct elf_file *file;

	program.header.e_shoff = at;
	program.header.e_shentsize = sizeof(first);
	program.header.e_shstrndx = SHN_XINDEX;
	names.sh_offset = at + 5 * sizeof(first);
	names.sh_size = 8;
	names.sh_name = 1;
	memcpy(bytes, &first, sizeof(first));
	memcpy(bytes + 3 * sizeof(first), &names, sizeof(names));
	memcpy(bytes + 5 * sizeof(first), "\0.names", 8);
	assert_int_equal(elf_file_open_image(&file, &program, sizeof(program)), 0);
	assert_int_equal(file->section_count, 5);
	assert_string_equal(file->sections[3].name, ".names");
	assert_ptr_equal(elf_file_typed(file, SHT_STRTAB), &file->sections[3]);
	elf_file_close(file);

	program.header.e_shentsize--;
	assert_int_equal(count_sections(&program), 0);
	program.header.e_shentsize++;
	first.sh_size = 65536;
	memcpy(bytes, &first, sizeof(first));
	assert_int_equal(count_sections(&program), 0);
	first.sh_size = UINT64_MAX;
	memcpy(bytes, &first, sizeof(first));
	assert_int_equal(count_sections(&program), 0);
	program.header.e_shnum = 200;
	program.header.e_shstrndx = 3;
	assert_int_equal(count_sections(&program), 0);
	program.header.e_shnum = 5;
	assert_int_equal(count_sections(&program), 5);
	program.header.e_shstrndx = 77;
	assert_int_equal(count_sections(&program), 5);
}

/*
 * A descriptor that was only lent stays open. A file that became shorter gives an error, not a
 * signal.
 */
static void test_borrowed_and_shrinking(void **state)
{
	struct elf_file *file;
	const struct elf_section *symbols;
	char *data = NULL;
	int fd;

	if (!fixture_make_library())
		skip();
	fd = open(fixture_path("lib.so"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open_fd(&file, fd), 0);
	symbols = elf_file_typed(file, SHT_SYMTAB);
	assert_non_null(symbols);
	assert_string_equal(symbols->name, ".symtab");
	assert_ptr_equal(elf_file_named(file, ".symtab"), symbols);
	assert_null(elf_file_named(file, ".nothing"));
	assert_int_equal(elf_file_read_section(file, symbols, &data), 0);
	assert_int_equal(data[symbols->size], '\0');
	free(data);
	assert_int_equal(ftruncate(fd, 60), 0);
	assert_int_equal(elf_file_read_section(file, symbols, &data), -ENODATA);
	elf_file_close(file);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(elf_file_adopt_fd(&file, fd), -ENOEXEC);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_sections_not_read(void **state)
{
	struct program program = make_program();
	struct elf_file *file;
	struct elf_section section = {.type = SHT_PROGBITS, .size = 16, .name = ""};
	char *data = NULL;

	assert_int_equal(elf_file_open_image(&file, &program, sizeof(program)), 0);
	assert_int_equal(elf_file_read_section(file, &section, &data), 0);
	assert_memory_equal(data, ELFMAG, 4);
	free(data);
	data = NULL;
	section.type = SHT_NOBITS;
	assert_int_equal(elf_file_read_section(file, &section, &data), -ENOEXEC);
	section.type = SHT_PROGBITS;
	section.flags = SHF_COMPRESSED;
	assert_int_equal(elf_file_read_section(file, &section, &data), -ENOEXEC);
	section.flags = 0;
	section.size = 0;
	assert_int_equal(elf_file_read_section(file, &section, &data), -ENOEXEC);
	section.size = UINT64_MAX;
	assert_int_equal(elf_file_read_section(file, &section, &data), -EFBIG);
	section.size = sizeof(program) + 1;
	assert_int_equal(elf_file_read_section(file, &section, &data), -ENODATA);
	assert_null(data);
	elf_file_close(file);
}

/* ---- xz ----------------------------------------------------------------------- */

static char plain[300000];
static uint8_t packed[400000];

static size_t pack_plain(size_t size)
{
	size_t used = 0, i;
	unsigned int seed = 3;

	for (i = 0; i < size; i++)
		plain[i] = (char)(rand_r(&seed) % 7);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (uint8_t *)plain, size,
						 packed, &used, sizeof(packed)),
			 LZMA_OK);
	return used;
}

static void test_xz(void **state)
{
	size_t used = pack_plain(sizeof(plain)), size = 0, cut;
	char *data = NULL;

	assert_int_equal(xz_unpack(packed, used, sizeof(plain), &data, &size), 0);
	assert_int_equal(size, sizeof(plain));
	assert_memory_equal(data, plain, sizeof(plain));
	free(data);
	data = NULL;
	size = 5;
	assert_int_equal(xz_unpack(packed, used, sizeof(plain) - 1, &data, &size), -EFBIG);
	for (cut = 0; cut < used; cut += 1 + used / 50)
		assert_int_equal(xz_unpack(packed, cut, sizeof(plain), &data, &size), -ENOEXEC);
	packed[used / 2] ^= 1;
	assert_int_equal(xz_unpack(packed, used, sizeof(plain), &data, &size), -ENOEXEC);
	assert_null(data);
	assert_int_equal(size, 5);
	used = pack_plain(0);
	assert_int_equal(xz_unpack(packed, used, sizeof(plain), &data, &size), -ENOEXEC);
}

/* ---- memory ------------------------------------------------------------------- */

static int open_once(void *context)
{
	struct elf_layout layout = {0};
	struct elf_file *file;
	int err = fixture_open(&file, context);

	if (err)
		return err;
	err = elf_layout_read(&layout, file);
	elf_layout_free(&layout);
	elf_file_close(file);
	return err;
}

static int open_image_once(void *context)
{
	struct elf_layout layout = {0};
	int err = open_program(context, &layout);

	elf_layout_free(&layout);
	return err;
}

static int unpack_once(void *context)
{
	size_t size, used = *(size_t *)context;
	char *data;
	int err = xz_unpack(packed, used, sizeof(plain), &data, &size);

	if (!err)
		free(data);
	return err;
}

static int borrow_once(void *context)
{
	struct elf_file *file;
	int err = elf_file_open_fd(&file, *(int *)context);

	if (!err)
		elf_file_close(file);
	return err;
}

static void test_no_memory(void **state)
{
	struct program program = make_program();
	size_t used = pack_plain(sizeof(plain));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(alloc_fail_each(open_once, "/proc/self/exe"), 7);
	assert_int_equal(alloc_fail_each(borrow_once, &fd), 6);
	assert_int_equal(alloc_fail_each(open_image_once, &program), 4);
	assert_true(alloc_fail_each(unpack_once, &used) > 1);
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_layout_without_anything),
		cmocka_unit_test(test_wild_segments),
		cmocka_unit_test(test_odd_notes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_section_counts),
		cmocka_unit_test(test_fifo_does_not_block),
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_borrowed_and_shrinking),
		cmocka_unit_test(test_sections_not_read),
		cmocka_unit_test(test_xz),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
