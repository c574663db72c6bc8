/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pack.c - numbers and strings through bytes and back; bytes that make no sense. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/pack.h"

static struct unpacker unpacker_of(const struct packer *packer)
{
	return (struct unpacker){.at = packer->items, .end = packer->items + packer->count};
}

static void test_round_trip(void **state)
{
	struct packer packer = {0};
	struct unpacker in;
	char text[4], *copy;

	(void)state;
	pack_number(&packer, 0);
	pack_number(&packer, UINT64_MAX);
	pack_string(&packer, "name");
	pack_string(&packer, NULL);
	pack_string(&packer, "");
	pack_string(&packer, "too long");
	pack_bytes(&packer, "\0\1", 2);
	assert_int_equal(packer.error, 0);
	in = unpacker_of(&packer);
	assert_int_equal(unpack_number(&in, 0), 0);
	assert_true(unpack_number(&in, UINT64_MAX) == UINT64_MAX);
	copy = unpack_string(&in);
	assert_string_equal(copy, "name");
	free(copy);
	assert_null(unpack_string(&in));
	copy = unpack_string(&in);
	assert_string_equal(copy, "");
	free(copy);
	unpack_text(&in, text, sizeof(text));
	assert_string_equal(text, "too");
	assert_memory_equal(unpack_bytes(&in, 2), "\0\1", 2);
	assert_int_equal(in.error, 0);
	assert_ptr_equal(in.at, in.end);
	packer_clear(&packer);
}

static void test_limit(void **state)
{
	const uint8_t bytes[] = {100};
	struct unpacker in = {bytes, bytes + 1, 0};

	(void)state;
	assert_int_equal(unpack_number(&in, 99), 0);
	assert_int_equal(in.error, -EBADMSG);
	/* The first error sticks. */
	assert_int_equal(unpack_number(&in, 100), 0);
	assert_null(unpack_bytes(&in, 0));
}

static void test_cut(void **state)
{
	const uint8_t number[] = {0x80}, string[] = {5, 'a', 'b'};
	struct unpacker in = {number, number + 1, 0};
	char text[8] = "before";

	(void)state;
	assert_int_equal(unpack_number(&in, UINT64_MAX), 0);
	assert_int_equal(in.error, -EBADMSG);
	in = (struct unpacker){string, string + sizeof(string), 0};
	assert_null(unpack_string(&in));
	assert_int_equal(in.error, -EBADMSG);
	in = (struct unpacker){string, string + sizeof(string), 0};
	unpack_text(&in, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(in.error, -EBADMSG);
}

static int attempt(void *context)
{
	struct packer packer = {0};
	struct unpacker in;
	char *copy = NULL;
	int err;

	(void)context;
	pack_string(&packer, "a string that is longer than the first few items of an array are");
	err = packer.error;
	if (!err) {
		in = unpacker_of(&packer);
		copy = unpack_string(&in);
		err = in.error;
	}
	free(copy);
	packer_clear(&packer);
	return err;
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_true(alloc_fail_each(attempt, NULL) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
