/* SPDX-License-Identifier: BSD-2-Clause */
/* test_section.c - raw captures: whole, cut off at every length, and with every bit turned. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "archive/section.h"
#include "base/fd.h"

#define SECTIONS 4
#define HEAD_BYTES 16

static const char *const contents[SECTIONS] = {"first", "", "the third one, longer, longer, longer",
					       "4"};

static uint64_t ends[SECTIONS]; /* where they end in the file */

static int make_file(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int write_fd(void *context, const void *bytes, size_t size)
{
	return fd_write_all(*(int *)context, bytes, size);
}

static struct section_sink sink_of(int *fd)
{
	return (struct section_sink){write_fd, fd};
}

/* As much as was written so far. */
static uint64_t bytes_of(int fd)
{
	return (uint64_t)lseek(fd, 0, SEEK_CUR);
}

static uint64_t write_sections(int fd)
{
	const struct section_sink sink = sink_of(&fd);
	struct section_writer *writer;
	uint64_t bytes;
	int i;

	assert_int_equal(section_writer_open(&writer, &sink), 0);
	for (i = 0; i < SECTIONS; i++) {
		assert_int_equal(
			section_write(writer, (uint16_t)(i + 1), contents[i], strlen(contents[i])),
			0);
		ends[i] = bytes_of(fd);
	}
	bytes = bytes_of(fd);
	section_writer_close(writer);
	return bytes;
}

/* Reads what there is; each section must be one of those written, in order. Returns how many. */
static int read_sections(int fd, struct section_damage *damage)
{
	struct section_reader *reader;
	struct section section;
	int count = 0, last = 0, got;

	assert_int_equal(section_reader_open(&reader, fd), 0);
	while ((got = section_read(reader, &section)) == 1) {
		assert_true(section.kind > last && section.kind <= SECTIONS);
		last = section.kind;
		assert_int_equal(section.size, strlen(contents[last - 1]));
		assert_memory_equal(section.bytes, contents[last - 1], section.size);
		count++;
	}
	assert_int_equal(got, 0);
	assert_int_equal(section_reader_at(reader), section_reader_size(reader));
	*damage = section_reader_damage(reader);
	section_reader_close(reader);
	return count;
}

static void test_round_trip(void **state)
{
	struct section_damage damage;
	int fd = make_file();
	uint64_t bytes = write_sections(fd);

	(void)state;
	assert_int_equal(bytes, lseek(fd, 0, SEEK_END));
	assert_int_equal(read_sections(fd, &damage), SECTIONS);
	assert_int_equal(damage.sections, 0);
	assert_int_equal(damage.bytes, 0);
	close(fd);
}

static void test_every_truncation(void **state)
{
	int fd = make_file(), whole = SECTIONS;
	uint64_t length = write_sections(fd);

	(void)state;
	for (; length >= HEAD_BYTES; length--) {
		struct section_damage damage;

		while (whole && ends[whole - 1] > length)
			whole--;
		assert_int_equal(ftruncate(fd, (off_t)length), 0);
		assert_int_equal(read_sections(fd, &damage), whole);
		assert_int_equal(damage.bytes, length - (whole ? ends[whole - 1] : HEAD_BYTES));
	}
	close(fd);
}

static void test_cut_head(void **state)
{
	struct section_reader *reader;
	int fd = make_file(), length;

	(void)state;
	write_sections(fd);
	for (length = 15; length >= 0; length--) {
		assert_int_equal(ftruncate(fd, length), 0);
		assert_int_equal(section_reader_open(&reader, fd), -EBADMSG);
	}
	close(fd);
}

static void test_every_bit(void **state)
{
	int fd = make_file();
	uint64_t bytes = write_sections(fd), at;

	(void)state;
	for (at = HEAD_BYTES * 8; at < bytes * 8; at++) {
		struct section_damage damage;
		uint8_t byte, turned;
		int count;

		assert_int_equal(pread(fd, &byte, 1, (off_t)(at / 8)), 1);
		turned = (uint8_t)(byte ^ 1U << at % 8);
		assert_int_equal(pwrite(fd, &turned, 1, (off_t)(at / 8)), 1);
		count = read_sections(fd, &damage);
		/* One section is gone; some bits of a zstd frame's head say nothing of its content. */
		assert_true(count >= SECTIONS - 1);
		assert_true(count == SECTIONS || damage.bytes > 0);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(at / 8)), 1);
	}
	close(fd);
}

/* The first, which was in no release, and the next; their crcs are right. */
static void test_other_version(void **state)
{
	static const uint8_t heads[][16] = {
		{'g', 'e', 'c', 'k', 'o', 'b', 'p', 'f', 1, 0, 0, 0, 0x0a, 0xde, 0x74, 0x52},
		{'g', 'e', 'c', 'k', 'o', 'b', 'p', 'f', 6, 0, 0, 0, 0xb3, 0xe6, 0xa3, 0xcf},
	};
	struct section_reader *reader;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		int fd = make_file();

		assert_int_equal(write(fd, heads[i], sizeof(heads[i])), sizeof(heads[i]));
		assert_int_equal(section_reader_open(&reader, fd), -EPROTONOSUPPORT);
		close(fd);
	}
}

static void test_version_2(void **state)
{
	static const uint8_t head[] = {'g', 'e', 'c', 'k', 'o',  'b',  'p',  'f',
				       2,   0,   0,   0,   0xe4, 0x71, 0xc1, 0x40};
	struct section_reader *reader;
	int fd = make_file();

	(void)state;
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(section_reader_open(&reader, fd), 0);
	section_reader_close(reader);
	close(fd);
}

static void test_too_large(void **state)
{
	struct section_writer *writer;
	int fd = make_file();
	const struct section_sink sink = sink_of(&fd);

	(void)state;
	assert_int_equal(section_writer_open(&writer, &sink), 0);
	assert_int_equal(section_write(writer, 1, contents, SECTION_MAX_BYTES + 1), -E2BIG);
	/* The first error sticks. */
	assert_int_equal(section_write(writer, 1, "x", 1), -E2BIG);
	section_writer_close(writer);
	close(fd);
}

/* Headers without what they speak of: the reader does not look for it, and gives up at last. */
static void test_headers_alone(void **state)
{
	enum { COUNT = 20000, BYTES = 20 };
	struct section_damage damage;
	uint8_t header[BYTES];
	int fd = make_file(), i;

	write_sections(fd);
	/* As if the third had lost its content, again and again. */
	assert_int_equal(fd_pread_all(fd, header, BYTES, (off_t)ends[1]), 0);
	for (i = 0; i < COUNT; i++)
		assert_int_equal(fd_write_all(fd, header, BYTES), 0);
	assert_int_equal(read_sections(fd, &damage), SECTIONS);
	assert_int_equal(damage.sections, COUNT);
	assert_int_equal(damage.bytes, COUNT * BYTES);
	close(fd);
}

static void test_small_file_with_much_in_it(void **state)
{
	enum { COUNT = 40 };
	struct section_writer *writer;
	struct section_reader *reader;
	struct section section;
	char *zeros = calloc(1, SECTION_MAX_BYTES);
	int fd = make_file(), count = 0, i;
	const struct section_sink sink = sink_of(&fd);
	uint64_t bytes;

	assert_non_null(zeros);
	assert_int_equal(section_writer_open(&writer, &sink), 0);
	for (i = 0; i < COUNT; i++)
		assert_int_equal(section_write(writer, 1, zeros, SECTION_MAX_BYTES), 0);
	bytes = bytes_of(fd);
	section_writer_close(writer);
	free(zeros);
	assert_int_equal(section_reader_open(&reader, fd), 0);
	while (section_read(reader, &section) == 1)
		count++;
	assert_in_range(count, 32, 33); /* 512 MB, and a hundred times the file */
	assert_int_equal(section_reader_damage(reader).bytes, bytes / COUNT * (COUNT - count));
	section_reader_close(reader);
	close(fd);
}

static void test_full_disk(void **state)
{
	struct section_writer *writer;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	const struct section_sink sink = sink_of(&fd);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(section_writer_open(&writer, &sink), -ENOSPC);
	close(fd);
}

static int attempt(void *context)
{
	struct section_writer *writer = NULL;
	struct section_reader *reader = NULL;
	struct section section;
	int fd = *(int *)context, err;
	const struct section_sink sink = sink_of(&fd);

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	err = section_writer_open(&writer, &sink);
	if (!err)
		err = section_write(writer, 1, "some bytes", 10);
	section_writer_close(writer);
	if (!err)
		err = section_reader_open(&reader, fd);
	if (!err)
		err = section_read(reader, &section);
	section_reader_close(reader);
	return err == 1 ? 0 : err;
}

static void test_no_memory(void **state)
{
	int fd = make_file();

	(void)state;
	assert_true(alloc_fail_each(attempt, &fd) >= 4);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_cut_head),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_headers_alone),
		cmocka_unit_test(test_small_file_with_much_in_it),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
