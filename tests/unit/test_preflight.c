/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernels are refused and in what words; capabilities and the rate, each checked in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/preflight.h"

#include "alloc.h"
#include "child.h"

#define TOO_OLD "too old; geckobpf needs Linux 5.10 or later"
#define FREEZES "sampling can freeze this kernel (fixed in 6.1.36 and 6.3.10); update it"
#define DEBIAN(exact) "#1 SMP PREEMPT_DYNAMIC Debian " exact " (2026-01-01)"

/* The error as it is printed. */
static const char *text_of(const struct error *error)
{
	static char text[8192];

	snprintf(text, sizeof(text), "%s: %s; %s", error->object, error->cause, error->remedy);
	return text;
}

/* `problem`: what is said after "kernel RELEASE: "; NULL: nothing is wrong. */
struct kernel_case {
	const char *release, *version, *problem;
};

static void check_kernels(const struct kernel_case *cases, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct error error = {0};
		char want[256];
		int err = preflight_kernel(cases[i].release, cases[i].version, &error);

		snprintf(want, sizeof(want), "kernel %s: %s", cases[i].release,
			 cases[i].problem ? cases[i].problem : "");
		assert_string_equal(cases[i].problem ? text_of(&error) : error.cause,
				    cases[i].problem ? want : "");
		assert_int_equal(error.number, err);
		assert_int_equal(err, cases[i].problem ? -ENOTSUP : 0);
	}
}

#define CHECK_KERNELS(...)                                                                         \
	do {                                                                                       \
		static const struct kernel_case cases[] = {__VA_ARGS__};                           \
		check_kernels(cases, sizeof(cases) / sizeof(cases[0]));                            \
	} while (0)

static void test_too_old(void **state)
{
	CHECK_KERNELS({"5.9.16", "#1 SMP", TOO_OLD},
		      {"5.8.0-63-generic", "#71-Ubuntu SMP", TOO_OLD},
		      {"4.19.300", "#1 SMP", TOO_OLD}, {"2.6.32", "#1 SMP", TOO_OLD},
		      {"5.10.0-46-cloud-amd64", DEBIAN("5.10.262-1"), NULL},
		      {"5.10.0-30-amd64", DEBIAN("5.9.11-1"), TOO_OLD}, {"5.10.0", "#1 SMP", NULL},
		      {"5.14.21", "#1 SMP", NULL}, {"5.15.0-105-generic", "#115-Ubuntu SMP", NULL},
		      {"5.10", "#1 SMP", NULL});
}

/* The bounds of both ranges. */
static void test_freezing(void **state)
{
	CHECK_KERNELS({"5.18.19", "#1 SMP", NULL}, {"5.19.0", "#1 SMP", FREEZES},
		      {"5.19.17", "#1 SMP", FREEZES}, {"6.0.0", "#1 SMP", FREEZES},
		      {"6.0.19", "#1 SMP", FREEZES}, {"6.1.0", "#1 SMP", FREEZES},
		      {"6.1.35", "#1 SMP", FREEZES}, {"6.1.36", "#1 SMP", NULL},
		      {"6.1.200", "#1 SMP", NULL}, {"6.2.0", "#1 SMP", FREEZES},
		      {"6.2.16", "#1 SMP", FREEZES}, {"6.3.0", "#1 SMP", FREEZES},
		      {"6.3.9", "#1 SMP", FREEZES}, {"6.3.10", "#1 SMP", NULL},
		      {"6.4.0", "#1 SMP", NULL}, {"6.12.9", "#1 SMP", NULL},
		      {"7.0.0", "#1 SMP", NULL}, {"10.1.0", "#1 SMP", NULL});
}

/* Debian's release says 6.1.0 whatever is in it. */
static void test_debian(void **state)
{
	CHECK_KERNELS({"6.1.0-9-amd64", DEBIAN("6.1.27-1"), FREEZES},
		      {"6.1.0-10-amd64", DEBIAN("6.1.37-1"), NULL},
		      {"6.1.0-47-amd64", DEBIAN("6.1.192-2"), NULL},
		      {"6.1.0-0.deb11.5-amd64", DEBIAN("6.1.12-1~bpo11+1"), FREEZES},
		      {"6.12.0-1-arm64", DEBIAN("6.12.5-1"), NULL});
}

/* Numbers that are only half there, or not there at all. */
static void test_odd_strings(void **state)
{
	CHECK_KERNELS({"", "", TOO_OLD}, {"garbage", "#1", TOO_OLD}, {"6", "#1", TOO_OLD},
		      {"6.", "#1", TOO_OLD}, {"v6.5.0", "#1", TOO_OLD}, {"6.5-rc1", "#1", NULL},
		      {"6.3-rc1", "#1", FREEZES}, {"6.6.87.2-microsoft-standard", "#1", NULL},
		      {"6.5.0+", "#1 SMP Debian", NULL}, {"6.5.0", "#1 SMP Debian sid", NULL},
		      {"6.5.0", "#1 SMP Debian ", NULL}, {"6.2.0", "#1 SMP Debian 6", FREEZES});
}

/* A release may be as long as it likes, and need not be asked why. */
static void test_problem_is_bounded(void **state)
{
	char release[1000];
	struct error error = {0};

	memset(release, 'x', sizeof(release) - 1);
	release[sizeof(release) - 1] = '\0';
	assert_int_equal(preflight_kernel(release, "", &error), -ENOTSUP);
	assert_true(strlen(error.object) < 100);
	assert_int_equal(preflight_kernel(release, "", NULL), -ENOTSUP);
}

/* ---- this machine ------------------------------------------------------------------------------------ */

#define NO_RIGHTS "not root: missing CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; run it with sudo"

static int check_without_rights(void *context)
{
	struct error error = {0};

	if (setuid(65534) || preflight_check(100, &error) != -EPERM)
		return 1;
	return strcmp(text_of(&error), NO_RIGHTS) ? 2 : 0;
}

static void test_capabilities(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(in_child(check_without_rights, NULL), 0);
}

static void test_mounts(void **state)
{
	struct error error = {0};

	assert_int_equal(preflight_mounts(&error), 0);
	assert_int_equal(error.number, 0);
}

static void test_rate(void **state)
{
	static const char start[] =
		"--rate 4000000000: more than kernel.perf_event_max_sample_rate (";
	struct error error = {0};

	if (preflight_check(1, &error))
		skip(); /* something else is in the way, as `error` tells */
	assert_int_equal(preflight_check(4000000000, &error), -ERANGE);
	assert_memory_equal(text_of(&error), start, sizeof(start) - 1);
}

/* What could not be read for want of memory is left to the kernel to refuse. */
static void test_no_memory(void **state)
{
	struct error error = {0};

	if (preflight_check(1, &error))
		skip();
	alloc_fail_at(1);
	assert_int_equal(preflight_check(4000000000, &error), 0);
	assert_true(alloc_fail_stop());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_old),
		cmocka_unit_test(test_freezing),
		cmocka_unit_test(test_debian),
		cmocka_unit_test(test_odd_strings),
		cmocka_unit_test(test_problem_is_bounded),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
