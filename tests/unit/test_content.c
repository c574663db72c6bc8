/* SPDX-License-Identifier: BSD-2-Clause */
/* test_content.c - files as they are, gzip and zstd: whole, cut off at every length, too large. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "alloc.h"
#include "format/content.h"
#include "base/error.h"
#include "base/file_rights.h"
#include "format/out_file.h"

#define TEXT_BYTES 300000 /* more than the first piece of room */
#define MAX_BYTES (1 << 20)

static char text[TEXT_BYTES];
static char gzip[TEXT_BYTES], zstd[TEXT_BYTES];
static size_t gzip_bytes, zstd_bytes;

static int set_up(void **state)
{
	z_stream stream = {.next_in = (Bytef *)text,
			   .avail_in = TEXT_BYTES,
			   .next_out = (Bytef *)gzip,
			   .avail_out = sizeof(gzip)};
	size_t i;

	(void)state;
	for (i = 0; i < TEXT_BYTES; i++)
		text[i] = (char)('a' + i / 7 % 26);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	gzip_bytes = stream.total_out;
	deflateEnd(&stream);
	zstd_bytes = ZSTD_compress(zstd, sizeof(zstd), text, TEXT_BYTES, 1);
	assert_false(ZSTD_isError(zstd_bytes));
	return 0;
}

static int read_bytes(const char *bytes, size_t size, size_t max, char **out, size_t *out_size,
		      struct error *error)
{
	int fd = memfd_create("content", MFD_CLOEXEC), err;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = content_read(path, max, out, out_size, error);
	close(fd);
	return err;
}

static void expect_text(const char *bytes, size_t size)
{
	char *out;
	size_t out_size;

	assert_int_equal(read_bytes(bytes, size, MAX_BYTES, &out, &out_size, NULL), 0);
	assert_int_equal(out_size, TEXT_BYTES);
	assert_memory_equal(out, text, TEXT_BYTES);
	free(out);
}

static void test_whole(void **state)
{
	char *out;
	size_t size;

	(void)state;
	expect_text(text, TEXT_BYTES);
	expect_text(gzip, gzip_bytes);
	expect_text(zstd, zstd_bytes);
	assert_int_equal(read_bytes("", 0, MAX_BYTES, &out, &size, NULL), 0);
	assert_int_equal(size, 0);
	free(out);
}

static void expect_cut(const char *bytes, size_t size, size_t magic_bytes, const char *why)
{
	size_t length;

	for (length = magic_bytes; length < size; length++) {
		struct error error;
		char *out = NULL;
		size_t out_size;

		assert_int_equal(read_bytes(bytes, length, MAX_BYTES, &out, &out_size, &error),
				 -EBADMSG);
		assert_null(out);
		assert_string_equal(error.cause, why);
	}
}

static void test_every_truncation(void **state)
{
	(void)state;
	expect_cut(gzip, gzip_bytes, 2, "its gzip data end early");
	expect_cut(zstd, zstd_bytes, 4, "its zstd data end early");
}

static void test_damaged(void **state)
{
	struct error error;
	char *out;
	size_t size;

	(void)state;
	gzip[gzip_bytes - 8] ^= 1; /* the checksum */
	assert_int_equal(read_bytes(gzip, gzip_bytes, MAX_BYTES, &out, &size, &error), -EBADMSG);
	assert_string_equal(error.cause, "its gzip data are broken");
	gzip[gzip_bytes - 8] ^= 1;
	zstd[4] ^= 8; /* a bit of the head that is reserved */
	assert_int_equal(read_bytes(zstd, zstd_bytes, MAX_BYTES, &out, &size, &error), -EBADMSG);
	assert_memory_equal(error.cause, "its zstd data are broken: ", 26);
	zstd[4] ^= 8;
}

/* So many of them that they are not unpacked. */
static size_t compress_zeroes(char *out, size_t room)
{
	const size_t count = 24 << 20;
	char *plain = calloc(1, count);
	size_t size;

	assert_non_null(plain);
	size = ZSTD_compress(out, room, plain, count, 1);
	assert_false(ZSTD_isError(size));
	free(plain);
	return size;
}

static void test_too_large(void **state)
{
	static char zeroes[32768];
	struct error error;
	char *out;
	size_t size, zeroes_bytes;

	(void)state;
	assert_int_equal(read_bytes(gzip, gzip_bytes, TEXT_BYTES - 1, &out, &size, &error), -EFBIG);
	assert_string_equal(error.cause, "its content is larger than 299999 bytes");
	assert_int_equal(read_bytes(zstd, zstd_bytes, TEXT_BYTES - 1, &out, &size, NULL), -EFBIG);
	assert_int_equal(read_bytes(text, TEXT_BYTES, TEXT_BYTES - 1, &out, &size, NULL), -EFBIG);
	assert_int_equal(read_bytes(text, TEXT_BYTES, TEXT_BYTES, &out, &size, NULL), 0);
	free(out);
	/* What was made to be much larger than it is. */
	zeroes_bytes = compress_zeroes(zeroes, sizeof(zeroes));
	assert_int_equal(read_bytes(zeroes, zeroes_bytes, 64 << 20, &out, &size, &error), -EFBIG);
	/* It has no end. */
	assert_int_equal(content_read("/dev/zero", MAX_BYTES, &out, &size, NULL), -EFBIG);
}

static void test_no_file(void **state)
{
	char *out;
	size_t size;

	(void)state;
	assert_int_equal(content_read("/nowhere/at/all", MAX_BYTES, &out, &size, NULL), -ENOENT);
	assert_int_equal(content_read("/", MAX_BYTES, &out, &size, NULL), -EISDIR);
}

static int attempt(void *context)
{
	bool is_gzip = context;
	char *out;
	size_t size;
	int err = read_bytes(is_gzip ? gzip : zstd, is_gzip ? gzip_bytes : zstd_bytes, MAX_BYTES,
			     &out, &size, NULL);

	if (!err)
		free(out);
	return err;
}

static void test_no_memory(void **state)
{
	static int is_gzip;

	(void)state;
	assert_true(alloc_fail_each(attempt, &is_gzip) >= 4);
	assert_true(alloc_fail_each(attempt, NULL) >= 4);
}

/* ---- files that are written ------------------------------------------------------------ */

static char directory[] = "/tmp/geckobpf-content-XXXXXX";

static void expect_in_directory(const char *path, const char *content)
{
	char *out;
	size_t size;

	assert_int_equal(content_read(path, 100, &out, &size, NULL), 0);
	assert_int_equal(size, strlen(content));
	assert_memory_equal(out, content, size);
	free(out);
}

static int write_out(const char *path, const char *content, bool is_committed)
{
	const struct file_rights rights = {.mode = 0640};
	struct out_file *file;
	int err = out_file_open(&file, path);

	if (err)
		return err;
	fputs(content, out_file_stream(file));
	if (is_committed)
		err = out_file_commit(file, &rights, true);
	out_file_close(file);
	return err;
}

static int attempt_to_write(void *context)
{
	return write_out(context, "third", true);
}

static void test_out_file(void **state)
{
	char path[sizeof(directory) + 16];
	struct stat at;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/x.folded", directory);
	assert_int_equal(write_out(path, "first", true), 0);
	expect_in_directory(path, "first");
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(at.st_mode & 07777, 0640);
	assert_int_equal(write_out(path, "second", false), 0);
	expect_in_directory(path, "first");
	assert_int_equal(alloc_fail_each(attempt_to_write, path), 3);
	expect_in_directory(path, "third");
	assert_int_equal(write_out("/nowhere/x.folded", "", true), -ENOENT);
	assert_int_equal(write_out(directory, "", true), -EISDIR);
	/* Nothing else is left in it. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),    cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_damaged),  cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_no_file),  cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_out_file),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
