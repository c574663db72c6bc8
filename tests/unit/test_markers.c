/* SPDX-License-Identifier: BSD-2-Clause */
/* What happened beside the samples: who stands on whose track, and when; in parts of a recording, and in each format. */
#include <setjmp.h>
#include <signal.h>
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
#include "format/format.h"
#include "geckobpf_abi.h"
#include "profile/marker.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "recording/losses.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define ARCH "any"
#define PATH "/tmp/test_markers.json"

int main(void);

#include "profile_fixture.h"

/* ---- a sink that writes markers down ----------------------------------------------------------- */

struct sink {
	struct profile_sink sink;
	FILE *out;
};

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	return 0;
}

static int begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	return 0;
}

static int add_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	return 0;
}

static void say_value(FILE *out, const struct marker_field *field, const struct marker_value *value)
{
	if (!value->is_known)
		return;
	fprintf(out, " %s=", field->key);
	if (field->format == MARKER_STRING)
		fprintf(out, "%.*s", (int)value->length, value->text);
	else if (field->format == MARKER_PROCESS)
		fprintf(out, "%u.%u", value->process->tgid, value->process->life);
	else
		fprintf(out, "%" PRIu64, value->number);
}

static int add_marker(struct profile_sink *sink, struct profile_thread *thread,
		      const struct profile_marker *marker)
{
	FILE *out = ((struct sink *)sink)->out;
	size_t i;

	fprintf(out, "%u.%u: %s %.*s %" PRIu64, thread->thread->tid, thread->process->process->life,
		marker->kind->type, (int)marker->name_length, marker->name,
		(uint64_t)(marker->start_ns / MS));
	if (marker->end_ns != PROFILE_INSTANT)
		fprintf(out, "-%" PRIu64, (uint64_t)(marker->end_ns / MS));
	for (i = 0; i < marker->kind->field_count; i++)
		say_value(out, &marker->kind->fields[i], &marker->values[i]);
	fprintf(out, "\n");
	return 0;
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	return 0;
}

static int end(struct profile_sink *sink, const struct profile_summary *summary)
{
	return 0;
}

static const struct profile_sink_ops ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.marker = add_marker,
	.end_process = end_process,
	.end = end,
};

static int walk(const struct recording_facts *of, const struct profile_filter *filter, FILE *out)
{
	struct sink sink = {.sink.ops = &ops, .out = out};
	struct profile_summary summary = {0};
	struct profile_input input = {.recording.facts = of, .recording.processes = processes};
	int err;

	if (filter)
		input.filter = *filter;
	err = profile_walk(&input, &sink.sink, &summary);
	profile_summary_clear(&summary);
	return err;
}

static void expect(const struct recording_facts *of, const struct profile_filter *filter,
		   const char *expected)
{
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(walk(of, filter, out), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- a family ---------------------------------------------------------------------------------- */

static struct thread *add_child(uint32_t parent, uint32_t tgid, uint32_t exec_id, const char *name)
{
	struct thread *thread = add_thread(tgid, tgid, exec_id, name);

	thread->process->parent = (struct process_parent){.tgid = parent, .key_ns = parent};
	return thread;
}

/* Of the root, alive since then: sh, without a sample; of it: cc, which has one, and became as, which has none. */
static void add_family(void)
{
	struct process *shell = add_child(4242, 5000, 0, "sh")->process;
	struct thread *compiler = add_child(5000, 5001, 0, "cc");
	struct process *assembler = add_child(5001, 5002, 0, "cc")->process;
	struct thread *worker = add_thread(5001, 5003, 0, "worker");

	shell->born_ns = 1100 * MS;
	shell->died_ns = 1400 * MS;
	shell->end =
		(struct process_end){.is_known = true, .status = 2 << 8, .max_rss_bytes = 1 << 20};
	compiler->process->born_ns = compiler->born_ns = 1200 * MS;
	compiler->cpu_last_ns = 7 * MS;
	add_buffer(compiler->process);
	put(compiler, &(struct shot){1210 * MS, MS, 0, {0}, {KERNEL + 0x10}});
	worker->born_ns = 1210 * MS;
	worker->died_ns = 1220 * MS;
	worker->cpu_last_ns = MS;
	assembler->born_ns = 1230 * MS;
	assembler->died_ns = 1240 * MS;
	assembler = add_child(5001, 5002, 1, "as")->process;
	assembler->is_execed = true;
	assembler->born_ns = 1240 * MS;
	assembler->died_ns = 1250 * MS;
	assembler->end = (struct process_end){.is_known = true, .status = SIGSEGV | 0x80};
	add_child(7777, 5004, 0, "orphan")->process->born_ns = 1100 * MS;
}

#define WORKER "4242.0: Thread Thread 20-1000 threadName=w\"k\xff tid=4243 cpu=0\n"
#define SHELL "4242.0: Process sh 100-400 argv=sh pid=5000.0 status=2 cpu=0 maxRSS=1048576\n"
#define COMPILER "4242.0: Process cc 200-1000 argv=cc pid=5001.0 cpu=8000000\n"
#define ASSEMBLER "5001.0: Process as 230-250 argv=as pid=5002.1 status=signal 11 (SEGV) cpu=0\n"
#define THREAD "5001.0: Thread Thread 210-220 threadName=worker tid=5003 cpu=1000000\n"

static void on_the_nearest_track(void **state)
{
	add_family();
	expect(&facts, NULL, SHELL COMPILER WORKER ASSEMBLER THREAD);
}

/* An image that exec made says so; what was before it is its name. */
static void an_exec(void **state)
{
	struct process *next = processes_latest(processes, 4242);

	next->is_execed = true;
	expect(&facts, NULL, WORKER "4242.1: Exec Exec 900 argv=next before=app\n");
}

/* What lasts into a part is in it; a moment is if it is. What was overwritten is in none. */
static void of_a_time(void **state)
{
	const struct profile_filter early = {.to_ns = 205 * MS},
				    late = {.from_ns = 45 * MS, .process = "app"},
				    none = {.from_ns = 100 * MS, .thread = "4243"};
	struct recording_facts cut = facts;

	add_family();
	expect(&facts, &early, SHELL COMPILER WORKER);
	/* The compiler has no track then. */
	expect(&facts, &late,
	       SHELL COMPILER "4242.0: Process as 230-250 argv=as pid=5002.1 status=signal 11 "
			      "(SEGV) cpu=0\n" WORKER);
	expect(&facts, &none, "");
	cut.is_cut = true;
	cut.start_ns = 1055 * MS;
	cut.until_ns = 1245 * MS;
	expect(&cut, NULL,
	       "4242.0: Process sh 45-190 argv=sh pid=5000.0 status=2 cpu=0 maxRSS=1048576\n"
	       "4242.0: Process cc 145-190 argv=cc pid=5001.0 cpu=8000000\n"
	       "4242.0: Thread Thread 0-190 threadName=w\"k\xff tid=4243 cpu=0\n"
	       "5001.0: Process as 175-190 argv=as pid=5002.1 status=signal 11 (SEGV) cpu=0\n"
	       "5001.0: Thread Thread 155-165 threadName=worker tid=5003 cpu=1000000\n");
}

static void pauses(void **state)
{
	static const struct time_range ranges[] = {{1100 * MS, 1200 * MS}, {1930 * MS, 0}};
	struct recording_facts paused = facts;
	struct process *root = processes_find(processes, 4242, 4242, 0);

	paused.pauses = ranges;
	paused.pause_count = 2;
	root->died_ns = 1900 * MS;
	expect(&paused, NULL,
	       "4242.0: Thread Thread 20-900 threadName=w\"k\xff tid=4243 cpu=0\n"
	       "4242.0: Recording paused Recording paused 100-200\n"
	       "4242.1: Recording paused Recording paused 930-1000\n"
	       "77.0: Recording paused Recording paused 100-200\n"
	       "77.0: Recording paused Recording paused 930-1000\n");
}

/* ---- what was lost ------------------------------------------------------------------------------ */

static const struct loss lost[] = {{1100 * MS, 1200 * MS, 3, LOSS_TICKS},
				   {1940 * MS, 1960 * MS, 40, LOSS_RING},
				   {900 * MS, 1010 * MS, 5, LOSS_CONTROL_RING}};

static struct recording_facts lossy(void)
{
	struct recording_facts of = facts;

	of.losses = lost;
	of.loss_count = 3;
	return of;
}

#define TICKS                                                                                      \
	": Loss Ticks missed 100-200 count=3 why=a hypervisor had the CPUs, or interrupts were "   \
	"off cpu=3000000 counter=timer_ticks_missed_other\n"
#define RING(from)                                                                                 \
	": Loss Samples lost " from                                                                \
	"-960 count=40 why=the ring of samples was full counter=samples_lost_ring_full\n"
#define CONTROL                                                                                    \
	": Loss Events lost 0-10 count=5 why=the control ring was full "                           \
	"counter=events_lost_ring_full\n"
#define MAIN "4242.0: Thread Thread 20-900 threadName=w\"k\xff tid=4243 cpu=0\n"

/* Not on each track: on that of the process which used most CPU time, of those that are shown. */
static void losses_in_one_place(void **state)
{
	const struct profile_filter kernel_thread = {.process = "77"};
	struct recording_facts of = lossy();
	struct thread *busy;

	processes_find(processes, 4242, 4242, 0)->died_ns = 1900 * MS;
	expect(&of, NULL, MAIN "4242.0" TICKS "4242.0" RING("940") "4242.0" CONTROL);
	expect(&of, &kernel_thread, "77.0" TICKS "77.0" RING("940") "77.0" CONTROL);
	busy = add_thread(90, 90, 0, "busy");
	busy->cpu_first_ns = 0;
	busy->cpu_last_ns = 500 * MS;
	expect(&of, NULL, MAIN "90.0" TICKS "90.0" RING("940") "90.0" CONTROL);
}

/* In parts of a recording, and where the begin was overwritten. */
static void losses_of_a_time(void **state)
{
	const struct profile_filter late = {.from_ns = 905 * MS, .process = "4242.1"},
				    none = {.from_ns = 300 * MS,
					    .to_ns = 900 * MS,
					    .process = "77"};
	struct recording_facts of = lossy();

	expect(&of, &late, "4242.1" RING("940"));
	expect(&of, &none, "");
	of.start_ns = 1150 * MS;
	of.is_cut = true;
	expect(&of, &(struct profile_filter){.to_ns = 400 * MS, .process = "77"},
	       "77.0: Loss Ticks missed 0-50 count=3 why=a hypervisor had the CPUs, or interrupts "
	       "were off cpu=3000000 counter=timer_ticks_missed_other\n");
}

/* A capture tells what was counted until it was written, up to its own end. */
static void losses_after_the_end(void **state)
{
	struct recording_facts of = lossy();
	const struct profile_filter kernel_thread = {.process = "77"};

	of.until_ns = 1930 * MS;
	expect(&of, &kernel_thread,
	       "77.0" TICKS
	       "77.0: Loss Samples lost 930-930 count=40 why=the ring of samples was full "
	       "counter=samples_lost_ring_full\n"
	       "77.0" CONTROL);
}

/* A recording that makes no sense ends, too. */
static void its_own_ancestor(void **state)
{
	add_child(6001, 6000, 0, "egg");
	add_child(6000, 6001, 0, "hen");
	add_child(6002, 6002, 0, "self");
	expect(&facts, NULL, WORKER);
}

/* ---- formats ------------------------------------------------------------------------------------ */

static void in_each_format(void **state)
{
	static const char *const names[] = {"gecko", "processed"};
	static const char *const schemas[] = {"\"data\":[{\"key\":\"argv\"",
					      "\"fields\":[{\"key\":\"argv\""};
	static const char *const said[] = {
		"[0,100,400,1,0,{\"type\":\"Process\",\"argv\":\"sh\",\"pid\":\"5000\","
		"\"status\":\"2\",\"cpu\":0,\"maxRSS\":1048576}]",
		"\"markers\":{\"data\":[{\"type\":\"Process\",\"argv\":\"sh\",\"pid\":\"5000\","
		"\"status\":\"2\",\"cpu\":0,\"maxRSS\":1048576},{",
	};
	size_t i;

	add_family();
	for (i = 0; i < 2; i++) {
		char *text = document_in(names[i], said[i]);

		assert_non_null(strstr(text, "{\"key\":\"cpu\",\"label\":\"CPU time\","
					     "\"format\":\"duration\"}"));
		assert_non_null(strstr(text, schemas[i]));
		free(text);
	}
}

static void no_memory(void **state)
{
	add_family();
	expect_no_memory_is_told();
}

static int open_all(void **state)
{
	strcpy(kallsyms_path, "/tmp/test_markers.XXXXXX");
	return setup(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_all, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(on_the_nearest_track),
		TEST(an_exec),
		TEST(of_a_time),
		TEST(pauses),
		TEST(losses_in_one_place),
		TEST(losses_of_a_time),
		TEST(losses_after_the_end),
		TEST(its_own_ancestor),
		TEST(in_each_format),
		TEST(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
