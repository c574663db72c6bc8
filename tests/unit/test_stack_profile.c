/* SPDX-License-Identifier: BSD-2-Clause */
/* test_stack_profile.c - profiles of stacks: names, sharing of stacks, counts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "stack_fixture.h"

static void expect_function(const char *text, const char *name, const char *lib)
{
	struct stack_profile *profile;
	struct stack_function function;
	uint32_t id;

	assert_int_equal(stack_profile_open(&profile), 0);
	assert_int_equal(stack_profile_add_function(profile, text, strlen(text), &id), 0);
	function = stack_profile_function(profile, id);
	assert_string_equal(stack_profile_text(profile, function.name), name);
	if (lib)
		assert_string_equal(stack_profile_text(profile, function.lib), lib);
	else
		assert_int_equal(function.lib, STACK_NONE);
	stack_profile_close(profile);
}

static void test_names(void **state)
{
	(void)state;
	expect_function("main (in app)", "main", "app");
	expect_function("f(int) (in libc.so.6)", "f(int)", "libc.so.6");
	expect_function("schedule (in [kernel])", "schedule", "[kernel]");
	/* The last one counts. */
	expect_function("f (in a) (in b)", "f (in a)", "b");
	expect_function("f (in (in b)", "f (in", "b");
	expect_function(" (in b)", "", "b");
	expect_function("f (in )", "f", "");
	/* None of these is a lib. */
	expect_function("f (in a))", "f (in a))", NULL);
	expect_function("f (in a", "f (in a", NULL);
	expect_function("f(in a)", "f(in a)", NULL);
	expect_function("(in a)", "(in a)", NULL);
	expect_function("f (in a) ", "f (in a) ", NULL);
	expect_function("0x1234", "0x1234", NULL);
	expect_function("(truncated: frames out of order)", "(truncated: frames out of order)",
			NULL);
	expect_function(")", ")", NULL);
	expect_function("", "", NULL);
}

static void test_numbers(void **state)
{
	struct stack_fixture fixture;
	struct stack stack;
	uint32_t again;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(fixture.main, STACK_OF_NONE + 1);
	assert_true(fixture.main < fixture.work && fixture.work < fixture.recursion);
	again = fixture_stack(&fixture, fixture.main, "work (in app)");
	assert_int_equal(again, fixture.work);
	stack = stack_profile_stack(fixture.profile, fixture.recursion);
	assert_int_equal(stack.prefix, fixture.work);
	assert_int_equal(stack.function,
			 stack_profile_stack(fixture.profile, fixture.work).function);
	assert_int_not_equal(stack.function,
			     stack_profile_stack(fixture.profile, fixture.kernel).function);
	/* "(no stack)", main, and work twice. */
	assert_int_equal(stack_profile_function_count(fixture.profile), 4);
	stack = stack_profile_stack(fixture.profile, STACK_OF_NONE);
	assert_int_equal(stack.prefix, STACK_NONE);
	assert_string_equal(
		stack_profile_text(fixture.profile,
				   stack_profile_function(fixture.profile, stack.function).name),
		"(no stack)");
	stack_profile_close(fixture.profile);
}

static void test_counts(void **state)
{
	struct stack_fixture fixture;
	const struct stack_thread *thread;
	const struct stack_count expected[] = {
		{0, 0, 500000}, {1, 1, 1000000}, {2, 2, 2000400}, {3, 3, 3000000}};
	size_t i;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	thread = &fixture.profile->threads.items[0];
	assert_int_equal(thread->counts.count, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(thread->counts.items[i].stack, expected[i].stack);
		assert_int_equal(thread->counts.items[i].samples, expected[i].samples);
		assert_int_equal(thread->counts.items[i].cpu_ns, expected[i].cpu_ns);
	}
	assert_int_equal(fixture.profile->threads.count, 3);
	assert_int_equal(fixture.profile->threads.items[1].process, 0);
	assert_int_equal(fixture.profile->threads.items[2].process, 1);
	assert_ptr_equal(stack_profile_source_of(fixture.profile, thread),
			 &fixture.profile->sources.items[0]);
	stack_profile_close(fixture.profile);
}

static void test_merge_of_nothing(void **state)
{
	struct stack_count one = {7, 1, 2};
	struct stack_counts counts = {.items = NULL};

	(void)state;
	stack_counts_merge(&counts);
	assert_int_equal(counts.count, 0);
	counts = (struct stack_counts){&one, 1, 1};
	stack_counts_merge(&counts);
	assert_int_equal(counts.count, 1);
	assert_int_equal(one.samples, 1);
}

static int attempt(void *context)
{
	struct stack_fixture fixture;
	int err = fixture_open(&fixture);

	stack_profile_close(fixture.profile);
	return err;
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_true(alloc_fail_each(attempt, NULL) >= 14);
}

/* What was overwritten is a loss unless it was wanted; ticks and cut stacks are none. */
static void losses(void **state)
{
	static const struct {
		const char *name;
		uint64_t value;
		const char *options;
		bool is_loss;
	} cases[] = {
		{"samples_lost_ring_full", 1, "", true},
		{"samples_lost_damaged", 1, "--ring", true},
		{"mappings_lost_ring_full", 1, "", true},
		{"samples_lost_ring_full", 0, "", false},
		{"samples_overwritten", 1, "--rate 99", true},
		{"samples_overwritten", 1, "--rate 99 --ring", false},
		{"samples_overwritten", 1, "--ring --all", false},
		{"samples_overwritten", 1, "--ringing", true},
		{"samples_overwritten", 1, "", true},
		{"timer_ticks_missed", 1, "", false},
		{"samples_recorded", 1, "", false},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stack_source source = {.stacks_truncated = 5};

		stack_source_add_fact(&source, cases[i].name, cases[i].value);
		stack_source_add_text(&source, "kernel", "--ring");
		stack_source_add_text(&source, "options", cases[i].options);
		assert_int_equal(stack_source_has_losses(&source), cases[i].is_loss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_merge_of_nothing),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
