/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces that are packed by two threads are, put together in any way, the middle of one gzip member; nothing else changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "format/json.h"
#include "base/output.h"
#include "base/deflater.h"
#include "format/spool.h"

#include "alloc.h"

#define JOBS 100

/* Rows of a profile, more or less: number `number` of them, with a text of `size` bytes. */
static void fill(char *bytes, size_t size, unsigned int number)
{
	size_t at = 0;
	unsigned int row;

	for (row = 0; at < size; row++) {
		char text[48];
		size_t length = (size_t)snprintf(text, sizeof(text), "[%u,%u.%06u,0,%u],", number,
						 row, row * 7919 % 1000000, row % 1013 * 977);

		length = length < size - at ? length : size - at;
		memcpy(bytes + at, text, length);
		at += length;
	}
}

static void fill_job(struct deflater_job *job, unsigned int number, size_t size)
{
	memset(job, 0, sizeof(*job));
	job->piece.bytes = malloc(DEFLATER_PIECE_BYTES);
	assert_non_null(job->piece.bytes);
	job->piece.size = (uint32_t)size;
	fill(job->piece.bytes, size, number);
}

/* What a packed piece was. */
static void expect_piece(const struct piece *piece, unsigned int number, size_t size)
{
	static char expected[DEFLATER_PIECE_BYTES];
	static unsigned char found[DEFLATER_PIECE_BYTES + 1];
	z_stream stream = {0};

	fill(expected, size, number);
	assert_true(piece->is_packed);
	assert_int_equal(piece->plain_size, size);
	assert_int_equal(piece->crc, crc32(0, (const Bytef *)expected, (uInt)size));
	assert_int_equal(inflateInit2(&stream, -15), Z_OK);
	stream.next_in = (Bytef *)piece->bytes;
	stream.avail_in = piece->size;
	stream.next_out = found;
	stream.avail_out = sizeof(found);
	/* No last block: it goes on behind. */
	assert_int_equal(inflate(&stream, Z_SYNC_FLUSH), Z_OK);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, size);
	assert_memory_equal(found, expected, size);
	inflateEnd(&stream);
}

static size_t size_of(unsigned int number)
{
	return number % 3 ? DEFLATER_PIECE_BYTES : 2000 + number * 100;
}

static void all_come_back_packed(void **state)
{
	static struct deflater_job jobs[JOBS];
	struct deflater_job *job;
	struct deflater *deflater;
	unsigned int i, back = 0;

	assert_int_equal(deflater_open(&deflater), 0);
	assert_null(deflater_wait(deflater));
	for (i = 0; i < JOBS; i++) {
		fill_job(&jobs[i], i, size_of(i));
		deflater_give(deflater, &jobs[i]);
		while ((job = deflater_take(deflater)))
			back++;
	}
	while ((job = deflater_wait(deflater)))
		back++;
	assert_int_equal(back, JOBS);
	assert_null(deflater_take(deflater));
	deflater_close(deflater);
	for (i = 0; i < JOBS; i++) {
		expect_piece(&jobs[i].piece, i, size_of(i));
		free(jobs[i].piece.bytes);
	}
}

static void what_does_not_shrink_stays(void **state)
{
	struct deflater_job noise, nothing;
	char before[1000];
	uint32_t seed = 1;
	struct deflater *deflater;
	size_t i;

	fill_job(&noise, 0, sizeof(before));
	for (i = 0; i < sizeof(before); i++) {
		seed = seed * 1664525 + 1013904223;
		noise.piece.bytes[i] = before[i] = (char)(seed >> 24);
	}
	fill_job(&nothing, 0, 0);
	assert_int_equal(deflater_open(&deflater), 0);
	deflater_give(deflater, &noise);
	deflater_give(deflater, &nothing);
	assert_non_null(deflater_wait(deflater));
	assert_non_null(deflater_wait(deflater));
	assert_null(deflater_wait(deflater));
	assert_false(noise.piece.is_packed);
	assert_int_equal(noise.piece.size, sizeof(before));
	assert_memory_equal(noise.piece.bytes, before, sizeof(before));
	assert_false(nothing.piece.is_packed);
	assert_int_equal(nothing.piece.size, 0);
	deflater_close(deflater);
	deflater_close(NULL);
	free(noise.piece.bytes);
	free(nothing.piece.bytes);
}

/* ---- through spool and output --------------------------------------------------------- */

#define SPOOLS 3
#define ROWS 40000

struct whole {
	struct deflater *deflater;
	struct spool_pool *pool;
	struct spool *spools[SPOOLS];
	struct output *output;
	struct json *json;
};

static int to_output(void *context, const void *data, size_t size)
{
	const struct whole *whole = context;

	return output_write(whole->output, data, size);
}

static int splice_to_output(void *context, const struct piece *piece)
{
	const struct whole *whole = context;

	return output_splice(whole->output, piece);
}

static int put_row(struct spool *spool, unsigned int number, unsigned int row)
{
	char *room = spool_room(spool, 64);

	if (!room)
		return spool_error(spool);
	spool_advance(spool, (size_t)snprintf(room, 64, "%s[%u,%u.%06u]", row ? "," : "", number,
					      row, row * 7919 % 1000000));
	return 0;
}

static int put_rows(struct whole *whole)
{
	unsigned int row, i;
	int err = 0;

	/* The first gets all rows, the next a half, the last one a third. */
	for (row = 0; row < ROWS && !err; row++)
		for (i = 0; i < SPOOLS && !err; i++)
			if (row % (i + 1) == 0)
				err = put_row(whole->spools[i], i, row);
	return err;
}

static int write_spools(struct whole *whole)
{
	unsigned int i;
	int err = 0;

	json_array_begin(whole->json);
	for (i = 0; i < SPOOLS && !err; i++) {
		json_array_begin(whole->json);
		err = spool_splice(whole->spools[i], whole->json);
		json_array_end(whole->json);
	}
	json_array_end(whole->json);
	if (!err)
		err = json_flush(whole->json);
	return err ? err : output_commit(whole->output);
}

static void close_whole(struct whole *whole)
{
	unsigned int i;

	for (i = 0; i < SPOOLS; i++)
		spool_close(whole->spools[i]);
	spool_pool_close(whole->pool);
	deflater_close(whole->deflater);
	json_close(whole->json);
	output_close(whole->output);
}

static int open_whole(struct whole *whole, const char *path, size_t bound_bytes)
{
	const struct json_sink sink = {to_output, whole, splice_to_output};
	unsigned int i;
	int err = output_open(&whole->output, path, NULL);

	if (!err)
		err = json_open(&whole->json, &sink);
	if (!err && output_splices(whole->output))
		err = deflater_open(&whole->deflater);
	if (!err)
		err = spool_pool_open(&whole->pool, bound_bytes, whole->deflater);
	for (i = 0; i < SPOOLS && !err; i++)
		err = spool_open(&whole->spools[i], whole->pool);
	return err;
}

struct attempt {
	char path[64];
	size_t bound_bytes;
	uint64_t spilled;
};

static int write_whole(void *context)
{
	struct attempt *attempt = context;
	struct whole whole = {0};
	int err = open_whole(&whole, attempt->path, attempt->bound_bytes);

	if (!err)
		err = put_rows(&whole);
	if (!err)
		err = write_spools(&whole);
	if (!err) {
		attempt->spilled = spool_pool_spilled(whole.pool);
		assert_true(output_bytes_in(whole.output) > 500000);
	}
	close_whole(&whole);
	return err;
}

static char *plain_text(size_t *length)
{
	struct attempt attempt;
	char *text;

	snprintf(attempt.path, sizeof(attempt.path), "/tmp/test_deflater.%d.json", (int)getpid());
	attempt.bound_bytes = 0;
	assert_int_equal(write_whole(&attempt), 0);
	assert_int_equal(fd_read_file(attempt.path, &text, length), 0);
	unlink(attempt.path);
	return text;
}

/* The file is one gzip member, of exactly this. */
static void expect_member(const char *path, const char *expected, size_t length)
{
	unsigned char *found = malloc(length + 1);
	z_stream stream = {0};
	size_t packed_length;
	char *packed;

	assert_int_equal(fd_read_file(path, &packed, &packed_length), 0);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = (Bytef *)packed;
	stream.avail_in = (uInt)packed_length;
	stream.next_out = found;
	stream.avail_out = (uInt)length + 1;
	/* Checksum and length are looked at as well. */
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, length);
	assert_memory_equal(found, expected, length);
	inflateEnd(&stream);
	free(found);
	free(packed);
}

static void one_member_in_memory_and_spilled(void **state)
{
	static const size_t bounds[] = {0, 500000, 200000, 1};
	struct attempt attempt;
	size_t length, i;
	char *text = plain_text(&length);

	snprintf(attempt.path, sizeof(attempt.path), "/tmp/test_deflater.%d.json.gz",
		 (int)getpid());
	for (i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		attempt.bound_bytes = bounds[i];
		assert_int_equal(write_whole(&attempt), 0);
		assert_true(!bounds[i] == !attempt.spilled);
		expect_member(attempt.path, text, length);
	}
	unlink(attempt.path);
	free(text);
}

/* Some allocations are only worth it: without them the file is larger, and the same. */
static void failing_allocations(void **state)
{
	struct attempt attempt = {.bound_bytes = 300000};
	size_t length, n;
	char *text = plain_text(&length);
	unsigned int failed = 0;

	snprintf(attempt.path, sizeof(attempt.path), "/tmp/test_deflater.%d.json.gz",
		 (int)getpid());
	for (n = 1;; n++) {
		int err;

		alloc_fail_at(n);
		err = write_whole(&attempt);
		if (!alloc_fail_stop())
			break;
		assert_true(!err || err == -ENOMEM);
		if (!err)
			expect_member(attempt.path, text, length);
		failed += err != 0;
	}
	assert_true(failed > 10);
	unlink(attempt.path);
	free(text);
}

static void only_gzip_takes_pieces(void **state)
{
	struct piece piece = {.bytes = "x", .size = 1, .plain_size = 1, .is_packed = true};
	struct output *output;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/test_deflater.%d.json", (int)getpid());
	assert_int_equal(output_open(&output, path, NULL), 0);
	assert_false(output_splices(output));
	assert_int_equal(output_splice(output, &piece), -EINVAL);
	assert_int_equal(output_commit(output), -EINVAL);
	output_close(output);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_back_packed),
		cmocka_unit_test(what_does_not_shrink_stays),
		cmocka_unit_test(one_member_in_memory_and_spilled),
		cmocka_unit_test(failing_allocations),
		cmocka_unit_test(only_gzip_takes_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
