/* SPDX-License-Identifier: BSD-2-Clause */
/* test_entry_hostile.c - the grammar: bytes that nobody should have written. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "entry_pair.h"

static const struct frame frames_a[] = {{.value = 0x10}, {.value = 0x20}, {.value = 0x18}};

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

static int decode_alone(struct listener *listener, const uint8_t *bytes, size_t size)
{
	struct entry_decoder *decoder;
	uint8_t *exact = malloc(size ? size : 1);
	int result;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	assert_int_equal(entry_decoder_open(&decoder), 0);
	result = entry_decode(decoder, exact, size, &visitor, listener);
	entry_decoder_close(decoder);
	free(exact);
	return result;
}

#define ASSERT_REFUSED(listener, text)                                                             \
	assert_int_equal(decode_alone(listener, (const uint8_t *)(text), sizeof(text) - 1),        \
			 -EBADMSG)

/* A sample without a stack: period 1 ns, thread 0, time 0; running on. The first in the grammar of version 2. */
#define HEAD "\x8b\x01\x00\x00"
#define HEAD_3 "\x8b\x00\x03\x01\x00\x00"

static void bytes_that_make_no_sense_are_refused(void **state)
{
	struct pair *pair = *state;
	struct listener *listener = &pair->listener;

	ASSERT_REFUSED(listener, ""); /* nothing at all */
	ASSERT_REFUSED(listener, "\x00\x00\x00"); /* not a kind */
	ASSERT_REFUSED(listener, "\x01\x01\x00\x00");
	ASSERT_REFUSED(listener, "\x7f\x01\x00\x00");
	ASSERT_REFUSED(listener, "\x8a\x00\x00"); /* no epoch */
	ASSERT_REFUSED(listener, "\x8b\x00\x00\x00"); /* no period */
	ASSERT_REFUSED(listener, "\x89\x01\x00"); /* no thread */
	ASSERT_REFUSED(listener, "\x8b\x01\x80\x80\x80\x80\x20\x00"); /* thread 2^32 */
	ASSERT_REFUSED(listener, "\x8b\x01\x01"); /* a user end, but none */
	ASSERT_REFUSED(listener, "\xcb\x01\x00\x00\x00"); /* a run of 0 us */
	ASSERT_REFUSED(listener,
		       "\xcb\x01\x00\x00\xf0\xcf\x9a\xde\xf4\xa6\xe2\x20"); /* of 2^64 ns */
	ASSERT_REFUSED(listener, "\x9b\x01\x00\x00\x01"); /* up from nowhere */
	ASSERT_REFUSED(listener, "\xab\x01\x00\x00\x00"); /* a node that was never told */
	ASSERT_REFUSED(listener, "\xbb\x01\x00\x00\x00");
	ASSERT_REFUSED(listener, HEAD "\x02"); /* what is expected when nothing was told */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x02"); /* or nothing that came after this frame */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x05\x00"); /* a run of no frames */
	ASSERT_REFUSED(listener, HEAD "\x05"); /* a frame that was never told */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x07");
	ASSERT_REFUSED(listener, HEAD "\x01"); /* a frame without address */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x80"); /* half a token */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x05\xfe\x1f"); /* 2049 frames */
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x05\xfc\x1f\x05");
	ASSERT_REFUSED(listener, HEAD "\x01\x20\x05\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
	assert_int_equal(listener->samples, 0);
	assert_int_equal(decode_alone(listener, (const uint8_t *)HEAD, 4), 0);
	assert_int_equal(listener->samples, 1);
	assert_int_equal(decode_alone(listener, (const uint8_t *)HEAD "\x01\x20\x05\xfc\x1f", 9),
			 0);
	assert_int_equal(listener->node_count, SAMPLE_MAX_FRAMES);
}

static void senseless_bytes_of_version_3_are_refused(void **state)
{
	struct pair *pair = *state;
	struct listener *listener = &pair->listener;

	ASSERT_REFUSED(listener, "\x8b\x00\x02\x01\x00\x00"); /* no version that is told so */
	ASSERT_REFUSED(listener, "\x8b\x00\x04\x01\x00\x00");
	ASSERT_REFUSED(listener, "\x8b\x00\x03\x00\x00\x00"); /* no period */
	ASSERT_REFUSED(listener, HEAD_3 "\x05"); /* no kind of frame */
	ASSERT_REFUSED(listener, HEAD_3 "\x05\x10\x00"); /* one too high */
	ASSERT_REFUSED(listener, HEAD_3 "\x01\x20"); /* user code without a size */
	ASSERT_REFUSED(listener, HEAD_3 "\x01\x20\x80\x80\x04"); /* of 65536 words */
	ASSERT_REFUSED(listener, HEAD_3 "\x07"); /* a frame that was never told */
	ASSERT_REFUSED(listener, "\x03\x00\x03\x01\x10\x8a\x00\x00"); /* a field not known */
	ASSERT_REFUSED(listener,
		       "\x03\x00\x03\x01\x01\x80\x80\x80\x80\x10\x8a\x00\x00"); /* event 2^32 */
	ASSERT_REFUSED(listener, "\x03\x00\x03\x01\x00"); /* no sample */
	ASSERT_REFUSED(listener, "\x03\x00\x03\x01\x00\x0a\x00\x00"); /* something else */
	ASSERT_REFUSED(listener, "\x03\x00\x03\x01\x00\x8b\x00\x03\x01\x00\x00"); /* it restarts */
	ASSERT_REFUSED(listener, "\x05\x00\x03\x01\x8a\x00\x00"); /* not a kind */
	assert_int_equal(listener->samples, 0);
	assert_int_equal(decode_alone(listener, (const uint8_t *)HEAD_3 "\x01\x20\xff\xff\x03", 11),
			 0);
	assert_int_equal(decode_alone(listener, (const uint8_t *)HEAD_3 "\x05\x0f\x00", 9), 0);
	assert_int_equal(
		decode_alone(listener, (const uint8_t *)"\x03\x00\x03\x01\x00\x8a\x00\x00", 8), 0);
	assert_int_equal(listener->samples, 3);
}

static void every_truncation_is_refused(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1,
				      .thread = 300,
				      .user_end = 1,
				      .time_ns = 1000000,
				      .cpu_ns = 70000,
				      .run_ns = 300,
				      .frames = frames_a,
				      .frame_count = 1};
	const uint8_t *bytes;
	size_t size, cut;

	/* With one frame, so that no shorter stack is a stack as well, but for none at all. */
	assert_int_equal(entry_encode_sample(pair->encoder, &sample, true, &bytes, &size), 0);
	for (cut = 0; cut < size; cut++)
		assert_int_equal(decode_alone(&pair->listener, bytes, cut),
				 cut == size - 3 ? 0 : -EBADMSG);
	assert_int_equal(pair->listener.samples, 1);
	assert_int_equal(decode_alone(&pair->listener, bytes, size), 0);
	assert_heard(&pair->listener, &sample);
}

static void random_bytes_do_no_harm(void **state)
{
	struct pair *pair = *state;
	uint32_t random = 99;
	size_t n, good = 0;

	for (n = 0; n < 100000; n++) {
		uint8_t bytes[24];
		size_t size = 1 + next_random(&random) % sizeof(bytes), i;
		int result;

		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)(next_random(&random) >> next_random(&random) % 8);
		bytes[0] |= n % 4 ? 0x80 : 0;
		if (n % 4 == 0 && n % 8)
			bytes[0] = 2 | (bytes[0] & 1);
		if (pair->listener.node_count > NODES_MAX - SAMPLE_MAX_FRAMES)
			bytes[0] |= 1;
		result = entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener);
		assert_true(result == 0 || result == -EBADMSG);
		good += !result;
	}
	assert_int_equal(good, pair->listener.samples);
	assert_true(good > 100 && good < n);
}

static void what_a_visitor_returns_ends_the_decoding(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames_a, .frame_count = 3};
	struct listener *listener = &pair->listener;
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, &sample, true, &bytes, &size), 0);
	listener->restart_result = 5;
	assert_int_equal(decode_alone(listener, bytes, size), 5);
	listener->restart_result = 0;
	listener->node_result = -6;
	assert_int_equal(decode_alone(listener, bytes, size), -6);
	assert_int_equal(listener->node_count, 1);
	listener->node_result = 0;
	listener->sample_result = 7;
	assert_int_equal(decode_alone(listener, bytes, size), 7);
	assert_int_equal(listener->samples, 1);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(bytes_that_make_no_sense_are_refused),
		PAIR_TEST(senseless_bytes_of_version_3_are_refused),
		PAIR_TEST(every_truncation_is_refused),
		PAIR_TEST(random_bytes_do_no_harm),
		PAIR_TEST(what_a_visitor_returns_ends_the_decoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
