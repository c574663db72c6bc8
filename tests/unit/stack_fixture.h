/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_fixture.h - a small profile of stacks, each number of which tests know by heart. After cmocka.h.
 *
 *   app (pid 42)    main thread (42)   main                     1 sample     1,000,000 ns
 *                                      main;work                2            2,000,400
 *                                      main;work;work           3            3,000,000   recursion
 *                                      (no stack)               -              500,000
 *                   worker (43)        main;work                4            4,000,000
 *                                      main;work [kernel]       5            5,000,000   the same name, elsewhere
 *   app (pid 42.1)  worker (44)        main;work                6            6,000,000   names as above
 *
 * "main (in app)", "work (in app)", "work (in [kernel])"; a sample each 2 ms.
 */
#ifndef GECKOBPF_TESTS_STACK_FIXTURE_H
#define GECKOBPF_TESTS_STACK_FIXTURE_H

#include <math.h>
#include <string.h>

#include "format/stack_profile.h"

#define FIXTURE_SAMPLES 21
#define FIXTURE_CPU_NS 21500400
#define FIXTURE_INTERVAL_NS 2000000

struct stack_fixture {
	struct stack_profile *profile;
	uint32_t main, work, recursion, kernel; /* stacks */
	int error; /* the first: -ENOMEM */
};

static inline uint32_t fixture_text(struct stack_fixture *fixture, const char *text)
{
	uint32_t id = 0;

	if (!fixture->error)
		fixture->error = stack_profile_add_text(fixture->profile, text, strlen(text), &id);
	return id;
}

static inline uint32_t fixture_stack(struct stack_fixture *fixture, uint32_t prefix,
				     const char *text)
{
	uint32_t function, stack = 0;

	if (!fixture->error)
		fixture->error =
			stack_profile_add_function(fixture->profile, text, strlen(text), &function);
	if (!fixture->error)
		fixture->error =
			stack_profile_add_stack(fixture->profile, prefix, function, &stack);
	return stack;
}

static inline void fixture_process(struct stack_fixture *fixture, const char *pid, double died_ms)
{
	const struct stack_process process = {
		.name = fixture_text(fixture, "app"),
		.pid = fixture_text(fixture, pid),
		.born_ms = 0,
		.died_ms = died_ms,
	};

	if (!fixture->error)
		fixture->error = stack_profile_add_process(fixture->profile, &process);
}

static inline void fixture_thread(struct stack_fixture *fixture, const char *name, const char *tid)
{
	const struct stack_thread thread = {
		.name = fixture_text(fixture, name),
		.tid = fixture_text(fixture, tid),
		.born_ms = 1.5,
		.died_ms = NAN,
		.first_ms = 2,
		.last_ms = 40,
	};

	if (!fixture->error)
		fixture->error = stack_profile_add_thread(fixture->profile, &thread);
}

static inline void fixture_count(struct stack_fixture *fixture, uint32_t stack, uint64_t samples,
				 uint64_t cpu_ns)
{
	const struct stack_count count = {stack, samples, cpu_ns};

	if (!fixture->error)
		fixture->error = stack_profile_add_count(fixture->profile, &count);
}

static inline void fixture_end_thread(struct stack_fixture *fixture)
{
	if (!fixture->error)
		stack_profile_end_thread(fixture->profile);
}

static inline void fixture_source(struct stack_fixture *fixture)
{
	const struct stack_source source = {
		.path = fixture_text(fixture, "app.json"),
		.product = fixture_text(fixture, "app"),
		.version = STACK_NONE,
		.start_real_ms = 1000000000000.0,
		.duration_ms = 44.5,
		.interval_ns = FIXTURE_INTERVAL_NS,
		.has_log = true,
		.samples_lost = 1,
		.events_lost = 2,
		.samples_overwritten = 3,
		.ticks = 995,
		.ticks_missed = 5,
		.stacks_complete = 15,
		.stacks_truncated = 5,
	};

	if (!fixture->error)
		fixture->error = stack_profile_add_source(fixture->profile, &source);
}

static inline void fixture_stacks(struct stack_fixture *fixture)
{
	fixture->main = fixture_stack(fixture, STACK_NONE, "main (in app)");
	fixture->work = fixture_stack(fixture, fixture->main, "work (in app)");
	fixture->recursion = fixture_stack(fixture, fixture->work, "work (in app)");
	fixture->kernel = fixture_stack(fixture, fixture->main, "work (in [kernel])");
}

/* 0 or -ENOMEM. The profile is the caller's to close either way. */
static inline int fixture_open(struct stack_fixture *fixture)
{
	*fixture = (struct stack_fixture){0};
	fixture->error = stack_profile_open(&fixture->profile);
	fixture_source(fixture);
	fixture_stacks(fixture);
	fixture_process(fixture, "42", 30);
	fixture_thread(fixture, "main thread", "42");
	/* Not by stack, and one of them twice. */
	fixture_count(fixture, fixture->recursion, 3, 3000000);
	fixture_count(fixture, fixture->main, 1, 1000000);
	fixture_count(fixture, fixture->work, 1, 1000400);
	fixture_count(fixture, STACK_OF_NONE, 0, 500000);
	fixture_count(fixture, fixture->work, 1, 1000000);
	fixture_end_thread(fixture);
	fixture_thread(fixture, "worker", "43");
	fixture_count(fixture, fixture->work, 4, 4000000);
	fixture_count(fixture, fixture->kernel, 5, 5000000);
	fixture_end_thread(fixture);
	fixture_process(fixture, "42.1", NAN);
	fixture_thread(fixture, "worker", "44");
	fixture_count(fixture, fixture->work, 6, 6000000);
	fixture_end_thread(fixture);
	return fixture->error;
}

#endif
