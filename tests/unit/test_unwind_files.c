/* SPDX-License-Identifier: BSD-2-Clause */
/* test_unwind_files.c - tables of real files, and of files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <search.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc.h"
#include "table_fixture.h"

/* ---- real files ---- */

static struct unwind_table *table_of_file(const char *path)
{
	struct unwind_source source = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct unwind_table *table = NULL;

	assert_true(source.fd >= 0);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	close(source.fd);
	assert_sound(table);
	return table;
}

struct loaded {
	const char *part; /* of the name */
	char path[4096];
	uint64_t bias;
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;

	if (!strstr(info->dlpi_name, loaded->part) || (!loaded->part[0] && info->dlpi_name[0]))
		return 0;
	snprintf(loaded->path, sizeof(loaded->path), "%s",
		 loaded->part[0] ? info->dlpi_name : "/proc/self/exe");
	loaded->bias = info->dlpi_addr;
	return 1;
}

static struct unwind_table *table_of_loaded(const char *part, uint64_t *bias)
{
	struct loaded loaded = {.part = part};

	assert_int_equal(dl_iterate_phdr(find_loaded, &loaded), 1);
	*bias = loaded.bias;
	return table_of_file(loaded.path);
}

static void test_own_program(void **state)
{
	uint64_t bias;
	struct unwind_table *table = table_of_loaded("", &bias);
	const struct gb_unwind_rule *rule;

	/* Before its first instruction, a function has its return address at the top of the stack. */
	rule = unwind_table_find(table, (uintptr_t)test_own_program - bias);
	assert_non_null(rule);
	assert_int_equal(rule->cfa, GB_CFA_SP);
	assert_int_equal(rule->cfa_off, 8);
	assert_int_equal(rule->fp, GB_FP_SAME);
	assert_true(table->stats.fdes > 20);
	assert_int_equal(table->stats.bad_fdes, 0);
	unwind_table_close(table);
}

static uint64_t restorer;

static void on_signal(int number)
{
	restorer = (uintptr_t)__builtin_return_address(0);
}

static void test_libc(void **state)
{
	uint64_t bias;
	struct unwind_table *table = table_of_loaded("/libc.so", &bias);

	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	assert_cfa(table, restorer - bias, GB_CFA_SIGNAL, 0);
	assert_cfa(table, restorer - 1 - bias, GB_CFA_SIGNAL, 0);
	/* Not one that sanitizers replace. */
	assert_cfa(table, (uintptr_t)lfind - bias, GB_CFA_SP, 8);
	assert_true(table->stats.fdes > 1000);
	assert_true(table->row_count > 5000);
	assert_int_equal(table->stats.bad_fdes, 0);
	assert_int_equal(table->stats.dense_pages, 0);
	unwind_table_close(table);
}

static void test_dynamic_linker(void **state)
{
	uint64_t bias;
	struct unwind_table *table = table_of_loaded("/ld-linux", &bias);
	size_t i, by_rbx = 0, ends = 0;

	for (i = 0; i < table->rule_count; i++) {
		const struct gb_unwind_rule *rule = &table->rules[i];

		by_rbx += rule->cfa == GB_CFA_REG && rule->reg == GB_REG_RBX;
		ends += rule->cfa == GB_CFA_END;
	}
	/* _dl_runtime_resolve; _start and others, and what a file without coroutines has, too. */
	assert_true(table->tracks_reg);
	assert_true(by_rbx >= 1);
	assert_int_equal(ends, 2);
	unwind_table_close(table);
}

static void test_vdso(void **state)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table *table = NULL;

	if (!vdso)
		skip();
	assert_int_equal(compile_image(&table, vdso, 8192), 0);
	assert_sound(table);
	assert_false(table->has_no_eh_frame);
	assert_true(table->stats.fdes >= 4);
	assert_int_equal(table->stats.bad_fdes, 0);
	unwind_table_close(table);
}

/* ---- files that lie ---- */

static int compile_fd_of(const char *path)
{
	struct unwind_source source = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct unwind_table *table = NULL;
	int err = unwind_table_compile(&table, &source);

	assert_true(source.fd >= 0);
	close(source.fd);
	unwind_table_close(table);
	return err;
}

static void test_no_elf_file(void **state)
{
	struct unwind_source source = {.fd = 999999};
	struct unwind_table *table = NULL;

	assert_int_equal(compile_fd_of("/dev/null"), -ENOEXEC);
	assert_int_equal(compile_fd_of("/etc/passwd"), -ENOEXEC);
	assert_int_equal(compile_fd_of("/"), -ENOEXEC);
	assert_int_equal(compile_image(&table, (const uint8_t *)"", 0), -ENOEXEC);
	assert_int_equal(unwind_table_compile(&table, &source), -EBADF);
	assert_null(table);
}

/* `size` bytes at `offset` of the image's header are others. */
static int compile_changed(size_t offset, const void *bytes, size_t size)
{
	struct unwind_table *table = NULL;
	struct elf_image image;
	int err;

	image_make(&image, 1, NULL, IMAGE_WITHOUT_FRAMES);
	memcpy(image.bytes + offset, bytes, size);
	err = compile_image(&table, image.bytes, image.size);
	image_free(&image);
	unwind_table_close(table);
	return err;
}

#define TEXT_HEADER (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))

static void test_headers(void **state)
{
	const uint64_t huge = UINT64_MAX - 0x800, gigabytes = 5ull << 30;
	const uint16_t arm = EM_AARCH64, core = ET_CORE, none = 0, many = PN_XNUM;
	const uint32_t note = PT_NOTE;

	assert_int_equal(compile_changed(0, "\x7f", 1), 0);
	assert_int_equal(compile_changed(0, "x", 1), -ENOEXEC);
	assert_int_equal(compile_changed(EI_CLASS, "\1", 1), -ENOEXEC);
	assert_int_equal(compile_changed(EI_DATA, "\2", 1), -ENOEXEC);
	assert_int_equal(compile_changed(offsetof(Elf64_Ehdr, e_machine), &arm, 2), -ENOEXEC);
	assert_int_equal(compile_changed(offsetof(Elf64_Ehdr, e_type), &core, 2), -ENOEXEC);
	assert_int_equal(compile_changed(offsetof(Elf64_Ehdr, e_phnum), &none, 2), -ENOEXEC);
	assert_int_equal(compile_changed(offsetof(Elf64_Ehdr, e_phnum), &many, 2), -ENOEXEC);
	assert_int_equal(compile_changed(offsetof(Elf64_Ehdr, e_phoff), &huge, 8), -ENOEXEC);
	assert_int_equal(compile_changed(TEXT_HEADER, &note, 4), -ENOEXEC);
	/* The text ends where the file does, whatever it says. */
	assert_int_equal(compile_changed(TEXT_HEADER + offsetof(Elf64_Phdr, p_filesz), &huge, 8),
			 0);
	assert_int_equal(compile_changed(TEXT_HEADER + offsetof(Elf64_Phdr, p_offset), &huge, 8),
			 -ENOEXEC);
	assert_int_equal(compile_changed(TEXT_HEADER + offsetof(Elf64_Phdr, p_vaddr), &huge, 8),
			 -ENOEXEC);
	assert_int_equal(
		compile_changed(TEXT_HEADER + offsetof(Elf64_Phdr, p_vaddr), &gigabytes, 8), 0);
}

/* Two pages of code with terabytes between them are not worth a table of that size. */
static void test_text_far_apart(void **state)
{
	struct unwind_table *table = NULL;
	struct elf_image image;
	const uint32_t load[2] = {PT_LOAD, PF_R | PF_X};
	const uint64_t far = 1ull << 40, size = 0x1000;
	size_t last = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);

	image_make(&image, 1, NULL, IMAGE_WITHOUT_FRAMES);
	memcpy(image.bytes + last, load, sizeof(load));
	memcpy(image.bytes + last + offsetof(Elf64_Phdr, p_vaddr), &far, 8);
	memcpy(image.bytes + last + offsetof(Elf64_Phdr, p_filesz), &size, 8);
	assert_int_equal(compile_image(&table, image.bytes, image.size), -EFBIG);
	image_free(&image);
}

/* In memory of exactly that size. What comes out, if anything does, is a sound table. */
static void compile_exactly(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = test_malloc(size + !size);
	struct unwind_table *table = NULL;
	int err;

	memcpy(copy, bytes, size);
	err = compile_image(&table, copy, size);
	assert_true(err == 0 || err == -ENOEXEC || err == -ENODATA || err == -EFBIG);
	if (!err)
		assert_sound(table);
	unwind_table_close(table);
	test_free(copy);
}

static void check_cuts_and_flips(enum image_sections sections)
{
	struct frame_bytes frames = some_frames(2);
	struct elf_image image;
	size_t i, frames_at = image_frames_at(2);

	image_make(&image, 2, &frames, sections);
	for (i = 0; i < image.size; i += i < IMAGE_TEXT || i >= frames_at ? 1 : 257)
		compile_exactly(image.bytes, i);
	for (i = 0; i < 8 * image.size; i++) {
		if (i == 8 * (IMAGE_SECTIONS + 3 * sizeof(Elf64_Shdr)))
			i = 8 * frames_at;
		image.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		compile_exactly(image.bytes, image.size);
		image.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	image_free(&image);
}

static void test_cuts_and_flips(void **state)
{
	check_cuts_and_flips(IMAGE_WITH_SECTIONS);
	check_cuts_and_flips(IMAGE_STRIPPED);
}

/* A file that has shrunk since its headers were read, as far as a descriptor can show it. */
static void test_file_cut_short(void **state)
{
	struct frame_bytes frames = some_frames(2);
	struct unwind_table *table = NULL;
	struct unwind_source source;
	struct elf_image image;
	int fd = memfd_create("cut", MFD_CLOEXEC);

	image_make(&image, 2, &frames, IMAGE_WITH_SECTIONS);
	assert_int_equal(write(fd, image.bytes, image.size), image.size);
	source = (struct unwind_source){.fd = fd};
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	assert_sound(table);
	assert_cfa(table, TEXT + 0x801, GB_CFA_SP, 16);
	unwind_table_close(table);
	/* Without its .eh_frame: as if there were none. */
	assert_int_equal(ftruncate(fd, (off_t)image_frames_at(2)), 0);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	assert_true(table->has_no_eh_frame);
	unwind_table_close(table);
	close(fd);
	image_free(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_program),    cmocka_unit_test(test_libc),
		cmocka_unit_test(test_dynamic_linker), cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_no_elf_file),    cmocka_unit_test(test_headers),
		cmocka_unit_test(test_text_far_apart), cmocka_unit_test(test_cuts_and_flips),
		cmocka_unit_test(test_file_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
