/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pprof.c - the bytes of a pprof profile, read back by a decoder that knows the fields from profile.proto. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/leb128.h"
#include "format/content.h"
#include "format/pprof.h"
#include "format/proto.h"
#include "base/pack.h"
#include "stack_fixture.h"

#define MAX_ITEMS 32

/* ---- a decoder ---------------------------------------------------------------------- */

struct bytes {
	const uint8_t *at, *end;
};

struct field {
	unsigned int number;
	uint64_t value; /* of a number */
	struct bytes bytes; /* of all else */
};

static uint64_t take_number(struct bytes *in)
{
	uint64_t value = 0;

	in->at = leb128_get(in->at, in->end, &value);
	assert_non_null(in->at);
	return value;
}

static bool take_field(struct bytes *in, struct field *field)
{
	uint64_t tag;

	*field = (struct field){0};
	if (in->at == in->end)
		return false;
	tag = take_number(in);
	field->number = (unsigned int)(tag >> 3);
	field->value = take_number(in);
	if ((tag & 7) == 0)
		return true;
	assert_int_equal(tag & 7, 2);
	assert_true(field->value <= (uint64_t)(in->end - in->at));
	field->bytes = (struct bytes){in->at, in->at + field->value};
	in->at += field->value;
	return true;
}

/* The number in the field of a message; 0 if it is missing. */
static uint64_t number_in(struct bytes message, unsigned int number)
{
	struct field field;

	while (take_field(&message, &field))
		if (field.number == number)
			return field.value;
	return 0;
}

static struct bytes bytes_in(struct bytes message, unsigned int number)
{
	struct field field;

	while (take_field(&message, &field))
		if (field.number == number)
			return field.bytes;
	fail_msg("no field %u", number);
	return message;
}

struct decoded {
	char *memory;
	struct bytes messages[15][MAX_ITEMS]; /* by field of the profile */
	size_t counts[15];
	uint64_t numbers[15];
};

static void decode(FILE *file, struct decoded *decoded)
{
	char path[64];
	struct bytes in;
	struct field field;
	size_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	memset(decoded, 0, sizeof(*decoded));
	assert_int_equal(content_read(path, 1 << 20, &decoded->memory, &size, NULL), 0);
	in = (struct bytes){(uint8_t *)decoded->memory, (uint8_t *)decoded->memory + size};
	while (take_field(&in, &field)) {
		assert_in_range(field.number, 1, 14);
		assert_true(decoded->counts[field.number] < MAX_ITEMS);
		decoded->messages[field.number][decoded->counts[field.number]++] = field.bytes;
		decoded->numbers[field.number] = field.value;
	}
}

static void expect_named(const struct decoded *decoded, uint64_t id, const char *expected)
{
	struct bytes text;

	assert_true(id < decoded->counts[6]);
	text = decoded->messages[6][id];
	assert_int_equal(text.end - text.at, strlen(expected));
	assert_memory_equal(text.at ? (const char *)text.at : "", expected, strlen(expected));
}

/* ---- tests ---------------------------------------------------------------------------- */

static void write_fixture(struct decoded *decoded)
{
	struct stack_fixture fixture;
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(pprof_write(fixture.profile, file), 0);
	decode(file, decoded);
	fclose(file);
	stack_profile_close(fixture.profile);
}

static void expect_value_type(const struct decoded *decoded, struct bytes message, const char *type,
			      const char *unit)
{
	expect_named(decoded, number_in(message, 1), type);
	expect_named(decoded, number_in(message, 2), unit);
}

static void test_profile(void **state)
{
	struct decoded decoded;

	(void)state;
	write_fixture(&decoded);
	assert_int_equal(decoded.counts[1], 3);
	expect_value_type(&decoded, decoded.messages[1][0], "samples", "count");
	expect_value_type(&decoded, decoded.messages[1][1], "cpu", "nanoseconds");
	expect_value_type(&decoded, decoded.messages[1][2], "wall", "nanoseconds");
	expect_value_type(&decoded, decoded.messages[11][0], "cpu", "nanoseconds");
	expect_named(&decoded, 0, "");
	expect_named(&decoded, decoded.numbers[14], "cpu");
	assert_int_equal(decoded.numbers[9], 1000000000000000000);
	assert_int_equal(decoded.numbers[10], 44500000);
	assert_int_equal(decoded.numbers[12], FIXTURE_INTERVAL_NS);
	free(decoded.memory);
}

static void expect_location(const struct decoded *decoded, size_t at, const char *function,
			    const char *lib)
{
	struct bytes location = decoded->messages[4][at];
	struct bytes named = decoded->messages[5][at];
	uint64_t mapping = number_in(location, 2);

	assert_int_equal(number_in(location, 1), at + 1);
	assert_int_equal(number_in(named, 1), at + 1);
	assert_int_equal(number_in(bytes_in(location, 4), 1), at + 1);
	expect_named(decoded, number_in(named, 2), function);
	if (!lib) {
		assert_int_equal(mapping, 0);
		return;
	}
	assert_in_range(mapping, 1, decoded->counts[3]);
	assert_int_equal(number_in(decoded->messages[3][mapping - 1], 1), mapping);
	assert_int_equal(number_in(decoded->messages[3][mapping - 1], 7), 1);
	expect_named(decoded, number_in(decoded->messages[3][mapping - 1], 5), lib);
}

static void test_names(void **state)
{
	struct decoded decoded;

	(void)state;
	write_fixture(&decoded);
	assert_int_equal(decoded.counts[3], 2);
	assert_int_equal(decoded.counts[4], 4);
	assert_int_equal(decoded.counts[5], 4);
	expect_location(&decoded, 0, "(no stack)", NULL);
	expect_location(&decoded, 1, "main", "app");
	expect_location(&decoded, 2, "work", "app");
	expect_location(&decoded, 3, "work", "[kernel]");
	free(decoded.memory);
}

struct expected_sample {
	uint64_t values[3];
	uint64_t locations[4]; /* ends with 0 */
	const char *thread;
	uint64_t pid, tid;
};

static void expect_labels(const struct decoded *decoded, struct bytes sample,
			  const struct expected_sample *expected)
{
	const char *const keys[] = {"process", "thread", "pid", "tid"};
	struct field field;
	int count = 0;

	while (take_field(&sample, &field)) {
		if (field.number != 3)
			continue;
		assert_true(count < 4);
		expect_named(decoded, number_in(field.bytes, 1), keys[count]);
		if (count == 0)
			expect_named(decoded, number_in(field.bytes, 2), "app");
		else if (count == 1)
			expect_named(decoded, number_in(field.bytes, 2), expected->thread);
		else
			assert_int_equal(number_in(field.bytes, 3),
					 count == 2 ? expected->pid : expected->tid);
		count++;
	}
	assert_int_equal(count, 4);
}

static void expect_sample(const struct decoded *decoded, size_t at,
			  const struct expected_sample *expected)
{
	struct bytes sample = decoded->messages[2][at];
	struct bytes locations = bytes_in(sample, 1), values = bytes_in(sample, 2);
	size_t i;

	for (i = 0; expected->locations[i]; i++)
		assert_int_equal(take_number(&locations), expected->locations[i]);
	assert_ptr_equal(locations.at, locations.end);
	for (i = 0; i < 3; i++)
		assert_int_equal(take_number(&values), expected->values[i]);
	assert_ptr_equal(values.at, values.end);
	expect_labels(decoded, sample, expected);
}

static void test_samples(void **state)
{
	/* Locations: 1 (no stack), 2 main, 3 work, 4 work of the kernel; leaf first. */
	static const struct expected_sample expected[] = {
		{{0, 500000, 0}, {1}, "main thread", 42, 42},
		{{1, 1000000, 2000000}, {2}, "main thread", 42, 42},
		{{2, 2000400, 4000000}, {3, 2}, "main thread", 42, 42},
		{{3, 3000000, 6000000}, {3, 3, 2}, "main thread", 42, 42},
		{{4, 4000000, 8000000}, {3, 2}, "worker", 42, 43},
		{{5, 5000000, 10000000}, {4, 2}, "worker", 42, 43},
		{{6, 6000000, 12000000}, {3, 2}, "worker", 42, 44},
	};
	struct decoded decoded;
	size_t i;

	(void)state;
	write_fixture(&decoded);
	assert_int_equal(decoded.counts[2], 7);
	for (i = 0; i < 7; i++)
		expect_sample(&decoded, i, &expected[i]);
	free(decoded.memory);
}

/* The first mapping is the program's, whichever lib is met first. */
static void test_main_mapping(void **state)
{
	struct stack_fixture fixture = {0};
	struct decoded decoded;
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	assert_int_equal(stack_profile_open(&fixture.profile), 0);
	fixture_source(&fixture);
	fixture_stack(&fixture, fixture_stack(&fixture, STACK_NONE, "start (in libc)"),
		      "main (in app)");
	assert_int_equal(fixture.error, 0);
	assert_int_equal(pprof_write(fixture.profile, file), 0);
	decode(file, &decoded);
	assert_int_equal(decoded.counts[2], 0);
	expect_location(&decoded, 1, "start", "libc");
	assert_int_equal(number_in(decoded.messages[4][1], 2), 2);
	expect_location(&decoded, 2, "main", "app");
	assert_int_equal(number_in(decoded.messages[4][2], 2), 1);
	free(decoded.memory);
	fclose(file);
	stack_profile_close(fixture.profile);
}

static void test_proto(void **state)
{
	struct packer out = {0}, part = {0};

	(void)state;
	proto_number(&out, 1, 150);
	proto_number(&out, 2, 0);
	proto_bytes(&out, 2, "testing", 7);
	proto_number(&part, 16, UINT64_MAX);
	proto_part(&out, 3, &part);
	proto_part(&out, 3, &part);
	assert_int_equal(out.count, 28);
	assert_memory_equal(out.items,
			    "\x08\x96\x01"
			    "\x12\x07testing"
			    "\x1a\x0c\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			    "\x1a\x00",
			    28);
	packer_clear(&part);
	packer_clear(&out);
}

static void test_full_disk(void **state)
{
	struct stack_fixture fixture;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(pprof_write(fixture.profile, full), -ENOSPC);
	fclose(full);
	stack_profile_close(fixture.profile);
}

static int attempt(void *context)
{
	struct stack_fixture *fixture = context;
	FILE *file = tmpfile();
	int err;

	assert_non_null(file);
	err = pprof_write(fixture->profile, file);
	fclose(file);
	return err;
}

static void test_no_memory(void **state)
{
	struct stack_fixture fixture;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	assert_true(alloc_fail_each(attempt, &fixture) >= 10);
	stack_profile_close(fixture.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_samples),   cmocka_unit_test(test_main_mapping),
		cmocka_unit_test(test_proto),     cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
