/* SPDX-License-Identifier: BSD-2-Clause */
/* Build ids: of this program, of files made by hand in both ELF classes, and of the same files damaged everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/build_id.h"
#include "elf/elf_file.h"

#include "alloc.h"

/* ---- a file by hand -------------------------------------------------------------------------- */

/* header | program headers | notes, at the end: what a test adds is the last. */
struct image {
	uint8_t bytes[8192];
	size_t size;
};

static void append(struct image *image, const void *data, size_t size)
{
	assert_true(image->size + size <= sizeof(image->bytes));
	memcpy(image->bytes + image->size, data, size);
	image->size += size;
}

static void add_note(struct image *image, const char *name, uint32_t type, uint32_t desc_bytes)
{
	const uint32_t header[] = {(uint32_t)strlen(name) + 1, desc_bytes, type};
	uint8_t byte;

	append(image, header, sizeof(header));
	append(image, name, header[0]);
	while (image->size % 4)
		append(image, "", 1);
	for (byte = 1; byte <= desc_bytes; byte++)
		append(image, &byte, 1);
	while (image->size % 4)
		append(image, "", 1);
}

static const Elf64_Ehdr header64 = {
	.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	.e_type = ET_DYN,
	.e_phoff = sizeof(Elf64_Ehdr),
	.e_phentsize = sizeof(Elf64_Phdr),
};

static const Elf32_Ehdr header32 = {
	.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
	.e_type = ET_DYN,
	.e_phoff = sizeof(Elf32_Ehdr),
	.e_phentsize = sizeof(Elf32_Phdr),
	.e_phnum = 2,
};

/* `loads` program headers of another type, then the one whose notes follow. */
static void begin64(struct image *image, size_t loads)
{
	Elf64_Ehdr header = header64;
	Elf64_Phdr program = {.p_type = PT_LOAD, .p_offset = 0, .p_filesz = 4096};
	size_t i;

	image->size = 0;
	header.e_phnum = (uint16_t)(loads + 1);
	append(image, &header, sizeof(header));
	for (i = 0; i < loads; i++)
		append(image, &program, sizeof(program));
	program.p_type = PT_NOTE;
	program.p_offset = image->size + sizeof(program);
	append(image, &program, sizeof(program));
}

/* Tells the last program header how long the notes are. */
static void end64(struct image *image, size_t loads)
{
	size_t at = sizeof(Elf64_Ehdr) + loads * sizeof(Elf64_Phdr);
	Elf64_Phdr program;

	memcpy(&program, image->bytes + at, sizeof(program));
	program.p_filesz = image->size - program.p_offset;
	memcpy(image->bytes + at, &program, sizeof(program));
}

static void make64(struct image *image, size_t loads, uint32_t desc_bytes)
{
	begin64(image, loads);
	add_note(image, "stapsdt", 3, 7);
	add_note(image, "GNU", NT_GNU_ABI_TAG, 16);
	add_note(image, "GNU", NT_GNU_BUILD_ID, desc_bytes);
	end64(image, loads);
}

static void make32(struct image *image)
{
	size_t notes = sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr);
	const Elf32_Phdr load = {.p_type = PT_LOAD, .p_filesz = 64};
	const Elf32_Phdr note = {.p_type = PT_NOTE, .p_offset = (uint32_t)notes, .p_filesz = 36};

	image->size = 0;
	append(image, &header32, sizeof(header32));
	append(image, &load, sizeof(load));
	append(image, &note, sizeof(note));
	add_note(image, "GNU", NT_GNU_BUILD_ID, 20);
}

static int open_image(const struct image *image, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image->bytes, size), size);
	return fd;
}

static int read_image(const struct image *image, struct build_id *id)
{
	int fd = open_image(image, image->size), err = build_id_read(fd, id);

	close(fd);
	return err;
}

static void assert_counted(const struct build_id *id, size_t size)
{
	size_t i;

	assert_int_equal(id->size, size);
	for (i = 0; i < BUILD_ID_MAX_BYTES; i++)
		assert_int_equal(id->bytes[i], i < size ? i + 1 : 0);
}

static void assert_result(const struct image *image, int want)
{
	struct build_id id = {.size = 99};

	assert_int_equal(read_image(image, &id), want);
	if (want)
		assert_int_equal(id.size, 99);
}

/* ---- whole files ------------------------------------------------------------------------------- */

static int find_own_id(struct dl_phdr_info *info, size_t size, void *context)
{
	struct build_id *id = context;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uint8_t *note = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
		const uint8_t *end = note + segment->p_memsz;

		while (segment->p_type == PT_NOTE && note < end) {
			const ElfW(Nhdr) *head = (const void *)note;

			note += sizeof(*head) + ((head->n_namesz + 3) & ~3U);
			if (head->n_type == NT_GNU_BUILD_ID &&
			    head->n_descsz <= sizeof(id->bytes)) {
				id->size = (uint8_t)head->n_descsz;
				memcpy(id->bytes, note, head->n_descsz);
			}
			note += (head->n_descsz + 3) & ~3U;
		}
	}
	return 1;
}

/* What the loader has in memory and what the file says are the same. */
static void test_own_program(void **state)
{
	struct build_id truth = {0}, id = {.size = 99};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err;

	dl_iterate_phdr(find_own_id, &truth);
	err = build_id_read(fd, &id);
	close(fd);
	if (!truth.size) {
		assert_int_equal(err, -ENOENT);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(id.size, truth.size);
	assert_memory_equal(id.bytes, truth.bytes, truth.size);
	assert_true(build_id_equal(&id, &truth));
}

static void test_all_lengths(void **state)
{
	struct build_id id;
	struct image image;
	uint32_t bytes;

	for (bytes = 1; bytes <= BUILD_ID_MAX_BYTES; bytes++) {
		memset(&id, 0xff, sizeof(id));
		make64(&image, 0, bytes);
		assert_int_equal(read_image(&image, &id), 0);
		assert_counted(&id, bytes);
	}
	make64(&image, 0, 0);
	assert_result(&image, -ENOENT);
	make64(&image, 0, BUILD_ID_MAX_BYTES + 1);
	assert_result(&image, -ENOENT);
}

static void test_32_bit(void **state)
{
	struct build_id id;
	struct image image;

	make32(&image);
	assert_int_equal(read_image(&image, &id), 0);
	assert_counted(&id, 20);
}

static void test_other_program_headers(void **state)
{
	struct build_id id;
	struct image image;

	make64(&image, 100, 20);
	assert_int_equal(read_image(&image, &id), 0);
	assert_counted(&id, 20);
}

static void test_without_id(void **state)
{
	struct image image;

	begin64(&image, 0);
	add_note(&image, "GNU", NT_GNU_ABI_TAG, 16);
	add_note(&image, "XYZ", NT_GNU_BUILD_ID, 16);
	add_note(&image, "GN", NT_GNU_BUILD_ID, 16);
	end64(&image, 0);
	assert_result(&image, -ENOENT);
	begin64(&image, 0);
	end64(&image, 0);
	assert_result(&image, -ENOENT);
}

/* ---- not what it seems ---------------------------------------------------------------------------- */

static void test_not_elf(void **state)
{
	struct image image = {.size = 0};

	assert_result(&image, -ENOEXEC);
	append(&image, "#!/bin/sh\n", 10);
	assert_result(&image, -ENOEXEC);
	make64(&image, 0, 20);
	image.bytes[EI_DATA] = ELFDATA2MSB;
	assert_result(&image, -ENOEXEC);
	make64(&image, 0, 20);
	image.bytes[3] = 'f';
	assert_result(&image, -ENOEXEC);
}

static void test_bad_descriptor(void **state)
{
	struct build_id id = {.size = 99};
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(build_id_read(fd, &id), -ENOEXEC);
	close(fd);
	assert_int_equal(build_id_read(-1, &id), -EBADF);
	assert_int_equal(id.size, 99);
}

static void patch64(struct image *image, size_t at, uint64_t value, size_t bytes)
{
	make64(image, 0, 20);
	memcpy(image->bytes + at, &value, bytes);
}

#define HEADER(field) offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)NULL)->field)
#define PROGRAM(field)                                                                             \
	sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, field), sizeof(((Elf64_Phdr *)NULL)->field)

static void test_wild_numbers(void **state)
{
	static const struct {
		size_t at, bytes;
		uint64_t value;
		int want;
	} cases[] = {
		{HEADER(e_phentsize), sizeof(Elf64_Phdr) - 1, -ENOEXEC},
		{HEADER(e_phentsize), 0, -ENOEXEC},
		{HEADER(e_phoff), UINT64_MAX, -ENOEXEC},
		{HEADER(e_phoff), INT64_MAX - 1, -ENOEXEC},
		{HEADER(e_phoff), 1 << 20, -ENOEXEC},
		{HEADER(e_phnum), 0, -ENOENT},
		{HEADER(e_phnum), 2, 0},
		{HEADER(e_phnum), UINT16_MAX, -ENOEXEC},
		{PROGRAM(p_offset), UINT64_MAX, -ENOENT},
		{PROGRAM(p_offset), INT64_MAX / 2, -ENOENT},
		{PROGRAM(p_filesz), UINT64_MAX, -ENOENT},
		{PROGRAM(p_filesz), 0, -ENOENT},
		{PROGRAM(p_filesz), 11, -ENOENT},
	};
	struct image image;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		patch64(&image, cases[i].at, cases[i].value, cases[i].bytes);
		assert_result(&image, cases[i].want);
	}
}

/* Sizes of names and descriptions that would wrap around when padded. */
static void test_wild_notes(void **state)
{
	size_t notes = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 3, 0x80000000, 200};
	struct image image;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		patch64(&image, notes, sizes[i], 4);
		assert_result(&image, -ENOENT);
		patch64(&image, notes + 4, sizes[i], 4);
		assert_result(&image, -ENOENT);
	}
}

static void assert_sane(const struct image *image, size_t size)
{
	struct build_id id = {.size = 99};
	int fd = open_image(image, size), err = build_id_read(fd, &id);

	close(fd);
	if (!err)
		assert_in_range(id.size, 1, BUILD_ID_MAX_BYTES);
	else if (err != -ENOENT && err != -ENOEXEC)
		fail_msg("%d", err);
	else
		assert_int_equal(id.size, 99);
}

static void test_cut_anywhere(void **state)
{
	struct build_id id = {.size = 99};
	struct image image;
	size_t size;
	int fd;

	make64(&image, 2, 20);
	for (size = 0; size < image.size; size++) {
		fd = open_image(&image, size);
		assert_int_equal(build_id_read(fd, &id),
				 size < sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) ? -ENOEXEC
										    : -ENOENT);
		close(fd);
	}
	assert_int_equal(id.size, 99);
	make32(&image);
	for (size = 0; size < image.size; size++)
		assert_sane(&image, size);
}

static void test_every_byte_wrong(void **state)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	struct image good[2], bad;
	size_t i, at, m;

	make64(&good[0], 1, 20);
	make32(&good[1]);
	for (i = 0; i < 2; i++) {
		for (at = 0; at < good[i].size; at++) {
			for (m = 0; m < sizeof(masks); m++) {
				bad = good[i];
				bad.bytes[at] ^= masks[m];
				assert_sane(&bad, bad.size);
			}
		}
	}
}

static void test_equal(void **state)
{
	struct build_id a = {3, {1, 2, 3}}, b = a, none = {0};

	assert_true(build_id_equal(&a, &b));
	b.bytes[10] = 9; /* beyond its size */
	assert_true(build_id_equal(&a, &b));
	b.bytes[2] = 4;
	assert_false(build_id_equal(&a, &b));
	b = a;
	b.size = 2;
	assert_false(build_id_equal(&a, &b));
	assert_true(build_id_equal(&none, &none));
	assert_false(build_id_equal(&a, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_all_lengths),
		cmocka_unit_test(test_32_bit),
		cmocka_unit_test(test_other_program_headers),
		cmocka_unit_test(test_without_id),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_bad_descriptor),
		cmocka_unit_test(test_wild_numbers),
		cmocka_unit_test(test_wild_notes),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_every_byte_wrong),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
