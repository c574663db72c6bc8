/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink of a few lines, which writes down what it is told: every sink gets these processes, threads and rows, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/output.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "format/display_name.h"
#include "format/format.h"
#include "format/gecko.h"
#include "geckobpf_abi.h"
#include "profile/marker.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define ARCH "any"
#define PATH "/tmp/test_toy_sink.json"

int main(void);

#include "profile/frames.h"
#include "profile/stacks.h"
#include "profile_fixture.h"

/* ---- the sink ------------------------------------------------------------------------------ */

struct toy {
	struct profile_sink sink;
	FILE *out;
	const char *fails_at; /* the name of a call; NULL: none */
};

static void say(struct profile_sink *sink, const char *text, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct profile_sink *sink, const char *text, ...)
{
	va_list arguments;

	va_start(arguments, text);
	vfprintf(((struct toy *)sink)->out, text, arguments);
	va_end(arguments);
}

static int answer(struct profile_sink *sink, const char *call)
{
	const char *fails_at = ((struct toy *)sink)->fails_at;

	return fails_at && !strcmp(fails_at, call) ? -EPIPE : 0;
}

static int toy_begin_process(struct profile_sink *sink, struct profile_process *process)
{
	assert_null(process->of_sink);
	process->of_sink = sink;
	say(sink, "process %u.%u %s\n", process->process->tgid, process->process->life,
	    process->name);
	return answer(sink, "begin_process");
}

static int toy_begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	assert_ptr_equal(thread->process->of_sink, sink);
	assert_int_equal(thread->row_count, 0);
	say(sink, "thread %u\n", thread->thread->tid);
	return answer(sink, "begin_thread");
}

static void say_stack(struct profile_sink *sink, const struct profile_process *process,
		      uint32_t stack)
{
	struct display_name name = {0};

	while (stack != STACKS_NONE) {
		struct profile_stack at = stacks_at(process->stacks, stack);

		assert_int_equal(
			display_name_set(
				&name,
				frames_function(process->frames,
						frames_at(process->frames, at.frame)->function)),
			0);
		say(sink, " %.*s", (int)name.count, name.items);
		stack = at.prefix;
	}
	display_name_clear(&name);
}

static int toy_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	say(sink, "%u: %" PRIu64 " +", thread->thread->tid, row->time_ns);
	if (row->cpu_delta_ns == PROFILE_CPU_UNKNOWN)
		say(sink, "?");
	else
		say(sink, "%" PRIu64, row->cpu_delta_ns);
	say(sink, " x%d", (int)row->weight);
	if (row->slept_ns)
		say(sink, " slept %" PRIu64, row->slept_ns);
	if (row->stack == PROFILE_SAME_STACK)
		say(sink, " as before");
	else if (row->stack != PROFILE_NO_STACK)
		say_stack(sink, thread->process, row->stack);
	say(sink, "\n");
	return answer(sink, "row");
}

static int toy_marker(struct profile_sink *sink, struct profile_thread *thread,
		      const struct profile_marker *marker)
{
	say(sink, "%u: %s \"%.*s\" %" PRIu64, thread->thread->tid, marker->kind->type,
	    (int)marker->name_length, marker->name, marker->start_ns);
	if (marker->end_ns != PROFILE_INSTANT)
		say(sink, " to %" PRIu64, marker->end_ns);
	say(sink, "\n");
	return answer(sink, "marker");
}

static int toy_end_process(struct profile_sink *sink, struct profile_process *process,
			   struct progress *progress)
{
	size_t i;

	say(sink, "threads");
	for (i = 0; i < process->thread_count; i++)
		say(sink, " %u", process->threads[i]->thread->tid);
	say(sink, "\n");
	return answer(sink, "end_process");
}

static int toy_end(struct profile_sink *sink, const struct profile_summary *summary)
{
	say(sink, "%" PRIu64 " samples, %" PRIu64 " clamped\n", summary->samples, summary->clamped);
	return answer(sink, "end");
}

static void toy_close(struct profile_sink *sink)
{
}

static const struct profile_sink_ops toy_ops = {
	.begin_process = toy_begin_process,
	.begin_thread = toy_begin_thread,
	.row = toy_row,
	.marker = toy_marker,
	.end_process = toy_end_process,
	.end = toy_end,
	.close = toy_close,
};

static struct profile_filter filter;

/* What a walk tells, the caller's to free. */
static char *told(const struct recording_facts *of, const char *fails_at, int expected)
{
	struct toy toy = {.sink.ops = &toy_ops, .fails_at = fails_at};
	struct profile_summary summary = {0};
	struct profile_input input = {
		.recording.facts = of,
		.recording.processes = processes,
		.kernel = kernel,
		.filter = filter,
	};
	size_t size;
	char *text;

	assert_int_equal(named_files_open(&input.named_files, NULL), 0);
	toy.out = open_memstream(&text, &size);
	assert_non_null(toy.out);
	assert_int_equal(profile_walk(&input, &toy.sink, &summary), expected);
	profile_summary_clear(&summary);
	fclose(toy.out);
	named_files_close(input.named_files);
	return text;
}

/* ---- tests --------------------------------------------------------------------------------- */

#define LIB_STACK                                                                                  \
	" libx.so+0x201 (in libx.so) libx.so+0xff (in libx.so) (truncated: stack not readable)"

/*
 * A baseline where CPU time is known from the start; how long it slept before it came back onto the CPU; what came late
 * is where time was; a closing row, and the end; a main thread that was never met. The root did not use "--three".
 */
static void a_whole_recording(void **state)
{
	char *text = told(&facts, NULL, 0);

	assert_string_equal(text, "process 4242.0 app --one 2\n"
				  "thread 4242\n"
				  "4242: 0 +? x0\n"
				  "4242: 10000000 +4000000 x1 slept 6000000" LIB_STACK "\n"
				  "thread 4243\n"
				  "4243: 0 +? x1 libx.so+0x100 (in libx.so) main (in app)\n"
				  "4242: 50000000 +1000000 x1 slept 39000000" LIB_STACK "\n"
				  "4242: 51000000 +1000000 x1 startup_64 (in [kernel])"
				  " startup_64 (in [kernel])" LIB_STACK "\n"
				  "4242: 51000000 +0 x1\n"
				  "4243: 60000001 +0 x1 slept 60000001"
				  " libx.so+0x100 (in libx.so) main (in app)\n"
				  "4242: 52000000 +1000000 x0 as before\n"
				  "4242: 52000000 +0 x0\n"
				  "4242: Thread \"Thread\" 20000001 to 1000000000\n"
				  "threads 4242 4243\n"
				  "process 4242.1 next\n"
				  "thread 4250\n"
				  "4250: 910000000 +? x1 [unknown] (in [unmapped])"
				  " (truncated: return address outside of all code)\n"
				  "thread 4242\n"
				  "threads 4250 4242\n"
				  "process 77.0 kworker/0:1\n"
				  "thread 77\n"
				  "77: 500000000 +? x1 startup_64 (in [kernel])\n"
				  "threads 77\n"
				  "7 samples, 1 clamped\n");
	free(text);
}

/* What was before the beginning of a part says nothing of it: no sample, and no CPU time to begin with. */
static void a_part_of_a_recording(void **state)
{
	struct recording_facts part = facts;
	char *text;

	part.is_cut = true;
	part.start_ns = 1055 * MS;
	part.until_ns = 1500 * MS;
	text = told(&part, NULL, 0);
	assert_string_equal(text, "process 4242.0 app --one 2\n"
				  "thread 4243\n"
				  "4243: 5000001 +? x1 libx.so+0x100 (in libx.so) main (in app)\n"
				  "thread 4242\n"
				  "4242: Thread \"Thread\" 0 to 445000000\n"
				  "threads 4242 4243\n"
				  "process 4242.1 next\n"
				  "thread 4250\n"
				  "thread 4242\n"
				  "threads 4250 4242\n"
				  "process 77.0 kworker/0:1\n"
				  "thread 77\n"
				  "77: 445000000 +? x1 startup_64 (in [kernel])\n"
				  "threads 77\n"
				  "2 samples, 0 clamped\n");
	free(text);
}

/* The first error ends the walk, and is what it returns: nothing is told after it. */
static void the_first_error_ends_it(void **state)
{
	static const struct {
		const char *call, *last_line;
	} cases[] = {
		{"begin_process", "process 4242.0 app --one 2\n"},
		{"begin_thread", "thread 4242\n"},
		{"row", "4242: 0 +? x0\n"},
		{"marker", "4242: Thread \"Thread\" 20000001 to 1000000000\n"},
		{"end_process", "threads 4242 4243\n"},
		{"end", "7 samples, 1 clamped\n"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = told(&facts, cases[i].call, -EPIPE);
		size_t length = strlen(text), last = strlen(cases[i].last_line);

		assert_true(length >= last);
		assert_string_equal(text + length - last, cases[i].last_line);
		assert_int_equal(strstr(text, cases[i].last_line) - text, length - last);
		free(text);
	}
}

/* ---- parts --------------------------------------------------------------------------------- */

static void expect_part(const struct profile_filter *part, const char *expected)
{
	char *text;

	filter = *part;
	text = told(&facts, NULL, 0);
	filter = (struct profile_filter){0};
	assert_string_equal(text, expected);
	free(text);
}

#define KWORKER                                                                                    \
	"process 77.0 kworker/0:1\nthread 77\n77: 500000000 +? x1 startup_64 (in [kernel])\n"      \
	"threads 77\n1 samples, 0 clamped\n"

static void of_a_process(void **state)
{
	expect_part(&(struct profile_filter){.process = "77"}, KWORKER);
	expect_part(&(struct profile_filter){.process = "kwork*"}, KWORKER);
	expect_part(&(struct profile_filter){.process = "kworker/?:1"}, KWORKER);
	expect_part(&(struct profile_filter){.process = "77.0"}, KWORKER);
	expect_part(&(struct profile_filter){.process = "4242.1"},
		    "process 4242.1 next\nthread 4250\n"
		    "4250: 910000000 +? x1 [unknown] (in [unmapped])"
		    " (truncated: return address outside of all code)\n"
		    "thread 4242\nthreads 4250 4242\n1 samples, 0 clamped\n");
}

/* Front-ends want a thread: what nobody asked for stands there, empty. */
static void of_nothing(void **state)
{
	expect_part(&(struct profile_filter){.process = "nobody"},
		    "process 4242.0 app --one 2\nthread 4242\nthreads 4242\n"
		    "0 samples, 0 clamped\n");
}

/* The main thread, of which nothing is wanted, is there for front-ends, but has no rows. */
static void of_a_thread(void **state)
{
	static const char expected[] =
		"process 4242.0 app --one 2\n"
		"thread 4243\n"
		"4243: 0 +? x1 libx.so+0x100 (in libx.so) main (in app)\n"
		"4243: 60000001 +0 x1 slept 60000001 libx.so+0x100 (in libx.so) main (in app)\n"
		"thread 4242\n"
		"threads 4243 4242\n";
	char *text;

	filter.thread = "4243";
	text = told(&facts, NULL, 0);
	assert_true(!strncmp(text, expected, strlen(expected)));
	assert_non_null(strstr(text, "\n2 samples, 0 clamped\n"));
	free(text);
	filter.thread = "w\"*";
	text = told(&facts, NULL, 0);
	filter.thread = NULL;
	assert_true(!strncmp(text, expected, strlen(expected)));
	free(text);
}

/* From the first moment on, up to but without the last one; what was used before and after says nothing of it. */
static void of_a_time(void **state)
{
	const struct profile_filter part = {
		.from_ns = 50 * MS, .to_ns = 60 * MS + 1, .process = "4242"};
	char *text;

	filter = part;
	text = told(&facts, NULL, 0);
	filter = (struct profile_filter){0};
	assert_string_equal(text, "process 4242.0 app --one 2\n"
				  "thread 4242\n"
				  "4242: 50000000 +? x1" LIB_STACK "\n"
				  "4242: 51000000 +1000000 x1 startup_64 (in [kernel])"
				  " startup_64 (in [kernel])" LIB_STACK "\n"
				  "4242: 51000000 +0 x1\n"
				  "thread 4243\n"
				  "4242: Thread \"Thread\" 20000001 to 1000000000\n"
				  "threads 4242 4243\n"
				  "process 4242.1 next\n"
				  "thread 4250\n"
				  "thread 4242\n"
				  "threads 4250 4242\n"
				  "2 samples, 1 clamped\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_recording),
		cmocka_unit_test(a_part_of_a_recording),
		cmocka_unit_test(the_first_error_ends_it),
		cmocka_unit_test(of_a_process),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(of_a_thread),
		cmocka_unit_test(of_a_time),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
