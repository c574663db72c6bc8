/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed chunks: what they say of themselves, that they come back, and what damage does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"

#include "alloc.h"
#include "codec_fixture.h"

#define MAX_BYTES (256 * 1024)

static int setup(void **state)
{
	struct chunk_codec *codec;

	assert_int_equal(chunk_codec_open(&codec, MAX_BYTES, CODEC_WRITE), 0);
	*state = codec;
	return 0;
}

static int teardown(void **state)
{
	chunk_codec_close(*state);
	return 0;
}

/* Into exactly as many bytes as there should be; `wanted` holds them. */
static int expand_exact(struct chunk_codec *codec, const struct chunk *twin,
			const struct chunk *wanted)
{
	uint32_t size = twin->header.offset_past_last_block;
	uint8_t *exact = malloc(size ? size : 1);
	int err;

	assert_non_null(exact);
	err = chunk_expand(codec, twin, exact);
	if (!err && wanted)
		assert_memory_equal(exact, wanted->bytes, size);
	free(exact);
	return err;
}

static void assert_round_trip(struct chunk_codec *codec, const struct chunk *chunk)
{
	struct chunk *twin;

	assert_int_equal(chunk_compress(codec, chunk, &twin), 0);
	assert_true(twin->header.stored_bytes <= chunk->header.stored_bytes * 7 / 8);
	assert_int_equal(expand_exact(codec, twin, chunk), 0);
	chunk_destroy(twin);
}

static void header_says_what_it_is(void **state)
{
	struct chunk *chunk = entry_chunk(20000, 17, 1), *twin;
	struct chunk_header wanted;

	assert_int_equal(chunk->header.stored_bytes, 20000);
	assert_int_equal(chunk->header.flags, 0);
	assert_int_equal(chunk_compress(*state, chunk, &twin), 0);
	wanted = chunk->header;
	wanted.flags = CHUNK_COMPRESSED;
	wanted.stored_bytes = twin->header.stored_bytes;
	assert_memory_equal(&twin->header, &wanted, sizeof(wanted));
	assert_true(twin->header.stored_bytes > 5000 && twin->header.stored_bytes < 14000);
	assert_null(twin->owner);
	assert_int_equal(expand_exact(*state, twin, chunk), 0);
	chunk_destroy(chunk);
	chunk_destroy(twin);
}

static void chunks_of_entries(void **state)
{
	static const uint32_t sizes[] = {500, 4096, 65536, MAX_BYTES};
	struct chunk *chunk;
	uint32_t i, tail;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (tail = 0; tail < 300; tail += 100) {
			chunk = entry_chunk(sizes[i], tail, i * 300 + tail + 1);
			assert_round_trip(*state, chunk);
			chunk_destroy(chunk);
		}
	}
}

/* The same block again and again, cut at the end or not. */
static void blocks_of_one_size(void **state)
{
	static const uint32_t sizes[] = {1, 2, 13, 14, 127, 128, 129, 20000, 65536};
	struct chunk *chunk;
	uint8_t payload[65536];
	uint32_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(payload, 0x83 + (int)i, sizeof(payload));
		chunk = begin_chunk(100001, 3);
		while (add_block(chunk, payload, sizes[i]))
			;
		chunk_mark_done(chunk);
		assert_round_trip(*state, chunk);
		chunk_destroy(chunk);
	}
}

static void nothing_in_it(void **state)
{
	struct chunk *chunk = begin_chunk(4096, 0);

	chunk_mark_done(chunk);
	assert_round_trip(*state, chunk);
	chunk_destroy(chunk);
}

/* Room that was not used does not count against it; what is stored decides. */
static void hardly_filled(void **state)
{
	struct chunk *chunk = begin_chunk(4096, 0);

	add_block(chunk, "\x90\x01", 2);
	chunk_mark_done(chunk);
	assert_round_trip(*state, chunk);
	chunk_destroy(chunk);
}

/* All of it belongs to a block that began before and does not end here. */
static void nothing_but_a_tail(void **state)
{
	struct chunk *chunk = begin_chunk(4096, 4096);

	chunk_mark_done(chunk);
	assert_round_trip(*state, chunk);
	chunk_destroy(chunk);
}

static void noise_stays_as_it_is(void **state)
{
	struct chunk *chunk, *twin = NULL;
	uint32_t size;

	for (size = 1; size <= MAX_BYTES; size *= 4) {
		chunk = noise_chunk(size, size);
		assert_int_equal(chunk_compress(*state, chunk, &twin), -ENOSPC);
		chunk_destroy(chunk);
	}
	assert_null(twin);
}

/* 20 verbatim bytes make 20 and a directory of 17 bytes and one more. */
static void an_eighth_is_enough(void **state)
{
	struct chunk *chunk = noise_chunk(20, 5), *twin;

	chunk->header.stored_bytes = 43; /* 38 is more than seven eighths */
	assert_int_equal(chunk_compress(*state, chunk, &twin), -ENOSPC);
	chunk->header.stored_bytes = 44; /* 38 is less */
	assert_int_equal(chunk_compress(*state, chunk, &twin), 0);
	assert_int_equal(twin->header.stored_bytes, 38);
	chunk_destroy(twin);
	chunk_destroy(chunk);
}

static void too_large_for_the_codec(void **state)
{
	struct chunk *chunk = entry_chunk(5000, 0, 1), *twin;
	struct chunk_codec *small;

	assert_int_equal(chunk_codec_open(&small, 4999, CODEC_WRITE), 0);
	assert_int_equal(chunk_compress(small, chunk, &twin), -ENOSPC);
	assert_int_equal(chunk_compress(*state, chunk, &twin), 0);
	assert_int_equal(expand_exact(small, twin, chunk), -EBADMSG);
	chunk_codec_close(small);
	chunk_destroy(chunk);
	chunk_destroy(twin);
}

static void expanding_does_not_allocate(void **state)
{
	struct chunk *chunk = entry_chunk(MAX_BYTES, 0, 1), *twin;
	struct chunk_codec *reader;
	uint8_t *out = malloc(MAX_BYTES);
	size_t before;

	assert_non_null(out);
	assert_int_equal(chunk_compress(*state, chunk, &twin), 0);
	assert_int_equal(chunk_codec_open(&reader, MAX_BYTES, CODEC_READ), 0);
	before = alloc_count();
	assert_int_equal(chunk_expand(reader, twin, out), 0);
	assert_int_equal(alloc_count(), before);
	assert_memory_equal(out, chunk->bytes, MAX_BYTES);
	chunk_codec_close(reader);
	free(out);
	chunk_destroy(chunk);
	chunk_destroy(twin);
}

/* ---- damage ----------------------------------------------------------------------- */

/* A copy with no byte to spare, so that a read beyond its end is found. */
static struct chunk *copy_twin(const struct chunk *twin, uint32_t stored_bytes)
{
	struct chunk *copy = chunk_create(stored_bytes);

	assert_non_null(copy);
	copy->header = twin->header;
	copy->header.stored_bytes = stored_bytes;
	memcpy(copy->bytes, twin->bytes, stored_bytes);
	return copy;
}

static struct chunk *small_twin(struct chunk_codec *codec)
{
	struct chunk *chunk = entry_chunk(1500, 40, 9), *twin;

	assert_int_equal(chunk_compress(codec, chunk, &twin), 0);
	chunk_destroy(chunk);
	return twin;
}

static void every_truncation(void **state)
{
	struct chunk *twin = small_twin(*state), *copy;
	uint32_t size;

	for (size = 1; size < twin->header.stored_bytes; size++) {
		copy = copy_twin(twin, size);
		assert_int_equal(expand_exact(*state, copy, NULL), -EBADMSG);
		chunk_destroy(copy);
	}
	chunk_destroy(twin);
}

static void a_byte_too_many(void **state)
{
	struct chunk *twin = small_twin(*state),
		     *longer = chunk_create(twin->header.stored_bytes + 1);

	assert_non_null(longer);
	memcpy(longer->bytes, twin->bytes, twin->header.stored_bytes);
	longer->bytes[twin->header.stored_bytes] = 0;
	longer->header = twin->header;
	longer->header.stored_bytes++;
	assert_int_equal(expand_exact(*state, longer, NULL), -EBADMSG);
	chunk_destroy(longer);
	chunk_destroy(twin);
}

/* A byte that is only copied may be wrong unnoticed, never anything worse. */
static void every_flipped_bit(void **state)
{
	struct chunk *twin = small_twin(*state), *copy;
	uint32_t bit, noticed = 0;
	int err;

	for (bit = 0; bit < twin->header.stored_bytes * 8; bit++) {
		copy = copy_twin(twin, twin->header.stored_bytes);
		copy->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		err = expand_exact(*state, copy, NULL);
		assert_true(err == 0 || err == -EBADMSG);
		noticed += err != 0;
		chunk_destroy(copy);
	}
	assert_true(noticed > 0 && noticed < bit);
	chunk_destroy(twin);
}

static void damaged_headers(void **state)
{
	struct chunk *twin = small_twin(*state);
	struct chunk_header header = twin->header;

	twin->header.offset_first_block = UINT32_MAX;
	assert_int_equal(expand_exact(*state, twin, NULL), -EBADMSG);
	twin->header = header;
	twin->header.offset_past_last_block--;
	assert_int_equal(expand_exact(*state, twin, NULL), -EBADMSG);
	twin->header.offset_past_last_block = 0;
	assert_int_equal(expand_exact(*state, twin, NULL), -EBADMSG);
	twin->header = header;
	twin->header.buffer_bytes = header.offset_past_last_block - 1;
	assert_int_equal(expand_exact(*state, twin, NULL), -EBADMSG);
	twin->header = header;
	assert_int_equal(expand_exact(*state, twin, NULL), 0);
	chunk_destroy(twin);
}

/* ---- memory ------------------------------------------------------------------------- */

static int compress_once(void *context)
{
	struct chunk_codec *codec;
	struct chunk *twin;
	int err = chunk_codec_open(&codec, MAX_BYTES, CODEC_WRITE);

	if (err)
		return err;
	err = chunk_compress(codec, context, &twin);
	if (!err) {
		err = expand_exact(codec, twin, context);
		chunk_destroy(twin);
	}
	chunk_codec_close(codec);
	return err;
}

static void out_of_memory(void **state)
{
	struct chunk *chunk = entry_chunk(MAX_BYTES, 0, 1), *twin = NULL;

	/* The codec, its columns twice, its scratch memory. */
	alloc_fail_at(5);
	assert_int_equal(compress_once(chunk), -ENOMEM);
	assert_true(alloc_fail_stop());
	alloc_fail_at(1);
	assert_int_equal(chunk_compress(*state, chunk, &twin), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_null(twin);
	assert_int_equal(chunk_compress(*state, chunk, &twin), 0);
	chunk_destroy(twin);
	chunk_destroy(chunk);
}

static int open_and_close(void *context)
{
	struct chunk_codec *codec;
	int err = chunk_codec_open(&codec, MAX_BYTES, CODEC_WRITE);

	if (!err)
		chunk_codec_close(codec);
	return err;
}

static void opening(void **state)
{
	struct chunk_codec *codec = NULL;

	assert_int_equal(chunk_codec_open(&codec, 0, CODEC_READ), -EINVAL);
	assert_null(codec);
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 4);
	chunk_codec_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(header_says_what_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(chunks_of_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_of_one_size, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_in_it, setup, teardown),
		cmocka_unit_test_setup_teardown(hardly_filled, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_but_a_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(noise_stays_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(an_eighth_is_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(too_large_for_the_codec, setup, teardown),
		cmocka_unit_test_setup_teardown(expanding_does_not_allocate, setup, teardown),
		cmocka_unit_test_setup_teardown(every_truncation, setup, teardown),
		cmocka_unit_test_setup_teardown(a_byte_too_many, setup, teardown),
		cmocka_unit_test_setup_teardown(every_flipped_bit, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(out_of_memory, setup, teardown),
		cmocka_unit_test(opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
