/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a file anybody looks at: summed up, and copied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "elf/elf_file.h"
#include "elf/elf_parts.h"

#include "alloc.h"

static const struct elf_digest_key key = {{1, 2}};

/* A copy of this program in memory, to be spoiled. */
static int copy_self(void)
{
	int fd = memfd_create("self", MFD_CLOEXEC);
	char *bytes;
	size_t length;

	assert_int_equal(fd_read_file("/proc/self/exe", &bytes, &length), 0);
	assert_int_equal(fd_write_all(fd, bytes, length), 0);
	free(bytes);
	return fd;
}

static struct elf_section section_of(int fd, uint32_t type)
{
	struct elf_section found;
	struct elf_file *file;

	assert_int_equal(elf_file_open_fd(&file, fd), 0);
	found = *elf_file_typed(file, type);
	elf_file_close(file);
	return found;
}

static void turn_byte(int fd, uint64_t offset)
{
	char byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte = (char)~byte;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

static struct elf_digest digest_of(int fd, const struct elf_digest_key *with)
{
	struct elf_digest digest;

	assert_int_equal(elf_digest_read(fd, with, &digest), 0);
	return digest;
}

static void equal_files(void **state)
{
	const struct elf_digest_key other_key = {{1, 3}};
	int one = copy_self(), other = copy_self();
	const struct elf_section symbols = section_of(one, SHT_SYMTAB);
	const struct elf_digest digest = digest_of(one, &key);
	struct elf_digest found = digest_of(other, &key);

	assert_true(elf_digest_equal(&digest, &found));
	found = digest_of(other, &other_key);
	assert_false(elf_digest_equal(&digest, &found));
	turn_byte(other, symbols.offset + symbols.size - 1);
	found = digest_of(other, &key);
	assert_false(elf_digest_equal(&digest, &found));
	turn_byte(other, symbols.offset + symbols.size - 1);
	turn_byte(other, sizeof(Elf64_Ehdr) - 1);
	found = digest_of(other, &key);
	assert_false(elf_digest_equal(&digest, &found));
	close(one);
	close(other);
}

static void copies(void **state)
{
	struct elf_copy_limit limit = {64u << 20, false};
	int fd = copy_self(), copy = elf_copy_make(fd, &limit);
	const struct elf_section symbols = section_of(fd, SHT_SYMTAB);
	char *ours = malloc(symbols.size), *theirs = malloc(symbols.size);
	struct stat all, parts;

	assert_true(copy >= 0 && ours && theirs);
	assert_int_equal(fstat(fd, &all), 0);
	assert_int_equal(fstat(copy, &parts), 0);
	assert_true(parts.st_size <= all.st_size);
	assert_true(parts.st_blocks < all.st_blocks);
	assert_int_equal(fd_pread_all(fd, ours, symbols.size, (off_t)symbols.offset), 0);
	assert_int_equal(fd_pread_all(copy, theirs, symbols.size, (off_t)symbols.offset), 0);
	assert_memory_equal(ours, theirs, symbols.size);
	assert_int_equal(pwrite(copy, "x", 1, 0), -1);
	close(copy);
	limit.bytes = symbols.size - 1;
	assert_int_equal(elf_copy_make(fd, &limit), -EFBIG);
	limit = (struct elf_copy_limit){64u << 20, true};
	copy = elf_copy_make(fd, &limit);
	assert_true(copy >= 0);
	close(copy);
	close(fd);
	free(ours);
	free(theirs);
}

static void no_elf_files(void **state)
{
	const struct elf_copy_limit limit = {1 << 20, true};
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct elf_digest digest;

	assert_int_equal(elf_copy_make(fd, &limit), -ENOEXEC);
	assert_int_equal(elf_digest_read(fd, &key, &digest), -ENOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_files),
		cmocka_unit_test(copies),
		cmocka_unit_test(no_elf_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
