/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.c - selftest [--bench]: the unwinder in the kernel against libgcc's, on stacks of this very program.
 *
 * Speaks TAP; exit status 0 all passed, 1 not, 77 cannot run here. --bench prints what a frame costs instead.
 */
#include "service/service.h"
#include "shapes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SKIP 77

static void calls_5(void)
{
	shape_calls(5, self_check);
}

static void calls_20(void)
{
	shape_calls(20, self_check);
}

static void calls_100(void)
{
	shape_calls(100, self_check);
}

static void calls_400(void)
{
	shape_calls(400, self_check);
}

static void calls_1000(void)
{
	shape_calls(1000, self_check);
}

static void calls_1200(void)
{
	shape_calls(1200, self_check_full);
}

/* Nothing of this process is published: the sample is sent raw, and unwound in user space by the same tables. */
static void raw_sample(void)
{
	if (self_forget())
		self_fail("the kernel does not forget");
	shape_calls(20, self_check);
	if (self_publish())
		self_fail("cannot publish again");
	shape_calls(20, self_check);
}

static const struct test_case {
	const char *name;
	void (*run)(void);
	unsigned int checks; /* at least */
	size_t deepest; /* frames, at least */
	unsigned int far_frames; /* at least */
	unsigned int raw; /* exactly */
} cases[] = {
	{"5 calls without frame pointers", calls_5, 1, 5, 0, 0},
	{"20 calls", calls_20, 1, 20, 0, 0},
	{"100 calls", calls_100, 1, 100, 0, 0},
	{"400 calls", calls_400, 1, 400, 0, 0},
	{"1000 calls", calls_1000, 1, 1000, 0, 0},
	{"a stack deeper than a sample is cut off", calls_1200, 1, 1024, 0, 0},
	{"calls through qsort", shape_qsort, 1, 8, 0, 0},
	{"alloca", shape_alloca, 9, 5, 1, 0},
	{"a frame of 600 KiB", shape_large_frame, 1, 5, 1, 0},
	{"a realigned stack", shape_realigned, 1, 5, 0, 0},
	{"frame pointers without unwind information", shape_frame_pointers, 1, 24, 0, 0},
	{"a signal handler", shape_signal, 2, 14, 0, 0},
	{"signal handlers within signal handlers", shape_nested_signals, 5, 20, 0, 0},
	{"a signal handler on its own stack", shape_signal_stack, 3, 14, 1, 0},
	{"a call that is its function's last instruction", shape_noreturn, 1, 6, 0, 0},
	{"longjmp", shape_longjmp, 2, 30, 0, 0},
	{"a coroutine", shape_coroutine, 6, 15, 0, 0},
	{"a thread", shape_thread, 1, 10, 0, 0},
	{"a vfork child", shape_vfork_child, 1, 5, 0, 0},
	{"inside vfork", shape_in_vfork, 1, 3, 0, 0},
	{"inside the vDSO", shape_in_vdso, 1, 3, 0, 0},
	{"destructors while an exception passes", shape_exception_cleanup, 9, 10, 0, 0},
	{"in a catch block", shape_exception_catch, 1, 5, 0, 0},
	{"an exception thrown again", shape_exception_rethrow, 2, 5, 0, 0},
	{"an exception through C", shape_exception_through_c, 2, 5, 0, 0},
	{"std::terminate", shape_exception_terminate, 2, 7, 0, 0},
	{"every instruction of calls", shape_step_calls, 80, 10, 0, 0},
	{"every instruction of a realigned function", shape_step_realigned, 15, 5, 0, 0},
	{"every instruction of a first call through the PLT", shape_step_first_plt_call, 10, 5, 0,
	 0},
	{"every instruction of later calls through the PLT", shape_step_plt_call, 12, 5, 0, 0},
	{"every instruction in the vDSO", shape_step_vdso, 20, 5, 0, 0},
	{"every instruction of code with frame pointers alone", shape_step_frame_pointers, 16, 10,
	 0, 0},
	{"a raw sample", raw_sample, 2, 20, 0, 1},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static bool run_case(const struct test_case *test, unsigned int number)
{
	struct self_tally tally;

	self_tally_begin();
	test->run();
	tally = self_tally_begin();
	if (!tally.failures && (tally.checks < test->checks || tally.deepest < test->deepest ||
				tally.far_frames < test->far_frames || tally.raw != test->raw)) {
		tally.failures = 1;
		snprintf(tally.why, sizeof(tally.why),
			 "%u checks, %zu frames, %u of two words, %u raw samples", tally.checks,
			 tally.deepest, (unsigned int)tally.far_frames, tally.raw);
	}
	printf("%s %u - %s\n", tally.failures ? "not ok" : "ok", number, test->name);
	if (tally.failures)
		printf("# %u of %u checks failed; the first: %s\n", tally.failures, tally.checks,
		       tally.why);
	else
		printf("# %u checks, up to %zu frames\n", tally.checks, tally.deepest);
	fflush(stdout);
	return !tally.failures;
}

/* ---- the benchmark -------------------------------------------------------------------- */

#define BATCHES 51
#define RUNS 200

static uint64_t median_ns;

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(void)
{
	uint64_t batches[BATCHES];
	size_t i;

	for (i = 0; i < BATCHES; i++)
		batches[i] = self_measure(RUNS);
	qsort(batches, BATCHES, sizeof(batches[0]), ascending);
	median_ns = batches[BATCHES / 2] / RUNS;
}

static int bench(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	uint64_t ns_20, ns_100;

	if (fd < 0) {
		perror("BPF statistics");
		return 1;
	}
	shape_calls(20, measure);
	ns_20 = median_ns;
	shape_calls(100, measure);
	ns_100 = median_ns;
	close(fd);
	printf("ns_20 %llu\nns_100 %llu\nns_per_frame %.1f\n", (unsigned long long)ns_20,
	       (unsigned long long)ns_100, ((double)ns_100 - (double)ns_20) / 80);
	return 0;
}

static int run_all(void)
{
	struct utsname name;
	unsigned int i, failed = 0;

	if (!uname(&name))
		printf("# %s\n", name.release);
	self_print_verified();
	for (i = 0; i < CASES; i++)
		failed += !run_case(&cases[i], i + 1);
	printf("1..%zu\n", CASES);
	return failed != 0;
}

int main(int argc, char **argv)
{
	int err, status;

	service_main(argc, argv);
	if (geteuid() != 0) {
		puts("loading BPF programs needs root");
		return SKIP;
	}
	err = self_open();
	if (err) {
		fprintf(stderr, "the unwinder: %s\n", strerror(-err));
		return 1;
	}
	status = argc > 1 && !strcmp(argv[1], "--bench") ? bench() : run_all();
	self_close();
	return status;
}
