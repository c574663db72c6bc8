/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small recording made by hand, and the document that it becomes, byte for byte where it
 * matters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <linux/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "base/output.h"
#include "format/display_name.h"
#include "format/format.h"
#include "profile/profile.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#if defined(__x86_64__)
#define ARCH "x86_64"
#else
#define ARCH "aarch64"
#endif

#define PATH "/tmp/test_profile.json"

int main(void);

#include "profile_fixture.h"

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("not there: %s\nin: %s", part, text);
}

#define USER_WORK "[\"Other\",\"Allocation\",\"Code without a name\",\"JIT\"]"
#define WAITS                                                                                      \
	"[\"Other\",\"Lock\",\"Poll\",\"Sleep\",\"Disk\",\"Page fault\",\"Socket read\","          \
	"\"Socket write\",\"Socket accept\",\"Pipe\",\"Child\",\"Stopped\"]"
#define CATEGORIES                                                                                 \
	"\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"   \
	"{\"name\":\"Idle\",\"color\":\"transparent\",\"subcategories\":" WAITS "},"               \
	"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":" USER_WORK "},"                \
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\",\"System call\","  \
	"\"Page fault\",\"Interrupt\",\"Network\",\"File system\",\"Memory\",\"Scheduler\"]},"     \
	"{\"name\":\"Library\",\"color\":\"green\",\"subcategories\":" USER_WORK "},"              \
	"{\"name\":\"libc\",\"color\":\"blue\",\"subcategories\":" USER_WORK "},"                  \
	"{\"name\":\"Blocked\",\"color\":\"purple\",\"subcategories\":" WAITS "},"                 \
	"{\"name\":\"Runnable\",\"color\":\"red\",\"subcategories\":[\"Other\"]}]"
#define COMMON                                                                                     \
	"\"meta\":{\"version\":36,\"startTime\":1767225600123.456789,"                             \
	"\"startTimeAsClockMonotonicNanosecondsSinceBoot\":1000000000,\"interval\":1," CATEGORIES  \
	",\"markerSchema\":["
#define ROWS                                                                                       \
	"\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"eventDelay\":2,\"threadCPUDelta\":3},"  \
	"\"data\":"
#define MARKERS_OF(rows)                                                                           \
	"\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,"           \
	"\"category\":4,\"data\":5},\"data\":[" rows "]},"
#define MARKERS MARKERS_OF("")
/* The process's other thread, whose name is not UTF-8. */
#define WORKER                                                                                     \
	"[0,20.000001,1000,1,0,{\"type\":\"Thread\",\"threadName\":\"w\\\"k\xef\xbf\xbd\","        \
	"\"tid\":4243,"                                                                            \
	"\"cpu\":0}]"
#define FRAMES                                                                                     \
	"\"frameTable\":{\"schema\":{\"location\":0,\"relevantForJS\":1,\"innerWindowID\":2,"      \
	"\"implementation\":3,\"line\":4,\"column\":5,\"category\":6,\"subcategory\":7},\"data\":"
#define STACKS "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":"

#define STACK_ENDS                                                                                 \
	"\"user_stacks\":{\"complete\":2,\"none, the thread exits or execs\":0,"                   \
	"\"no registers\":0,\"more frames than there is room for\":0,"                             \
	"\"process not known yet\":0,\"return address outside of all code\":1,"                    \
	"\"unwind information not supported\":0,"                                                  \
	"\"neither unwind information nor frame pointer\":0,\"stack not readable\":3,"             \
	"\"frames out of order\":0,\"32-bit process\":0,\"it did not run again\":0}"

static void meta(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(true, &summary);

	assert_int_equal(strncmp(text, "{\"meta\":{\"version\":36,", 22), 0);
	assert_contains(text, COMMON
			"{\"name\":\"Process\",\"display\":[\"marker-chart\",\"marker-table\","
			"\"timeline-overview\"],\"tableLabel\":");
	assert_contains(
		text,
		"}]}],"
		"\"shutdownTime\":null,\"profilingStartTime\":0,"
		"\"profilingEndTime\":1000,\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"ns\"},\"presymbolicated\":true,\"product\":\"my\\\"app\","
		"\"misc\":\"geckobpf\",\"appBuildID\":\"geckobpf "
		"0.1.0\",\"platform\":\"Linux\",\"toolkit\":\"\","
		"\"abi\":\"" ARCH "-gcc3\",\"oscpu\":\"Linux 6.1 " ARCH "\","
		"\"CPUName\":\"Example CPU\",\"physicalCPUs\":4,\"logicalCPUs\":8,"
		"\"device\":\"Maker X1\",\"mainMemory\":17179869184,"
		"\"configuration\":{\"threads\":[\"pid:42\"],\"features\":[\"cpu\",\"stackwalk\","
		"\"Main memory: 17.2 GB\",\"Samples lost: 3\","
		"\"Samples lost: the ring was full: 3\"],"
		"\"capacity\":131072,\"duration\":2.5},\"extensions\":{\"schema\":{\"id\":0,"
		"\"name\":1,"
		"\"baseURL\":2},\"data\":[]},\"processType\":0,\"stackwalk\":1,\"gcpoison\":0,"
		"\"asyncstack\":0,\"debug\":0},\"libs\":[],\"threads\":[],\"pausedRanges\":[],");
	assert_contains(text, "],\"profilingLog\":{\"geckobpf\":{\"version\":\"0.1.0\",\"lost\":0,"
			      "\"samples\":9223372036854775807,\"event\":\"cpu-\\\"clock\\\"\","
			      "\"main_memory_bytes\":17179869184,"
			      "\"device\":\"Maker X1\","
			      "\"samples_lost_ring_full\":3,\"samples_lost_buffer\":0,"
			      "\"samples_lost_damaged\":0,"
			      "\"samples_without_stack\":1,"
			      "\"rows_out_of_order\":1,"
			      "\"processes_gathered\":0,"
			      "\"processes_gathered_cpu_ns\":0,"
			      "\"images_folded\":0,"
			      "\"bytes_spilled\":0," STACK_ENDS "}}}");
	free(text);
	profile_summary_clear(&summary);
}

static void threads_of_the_root(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(true, &summary);

	assert_contains(
		text,
		"{\"name\":\"GeckoMain\",\"processType\":\"default\","
		"\"processName\":\"app --one 2\",\"pid\":4242,\"tid\":4242,\"registerTime\":0,"
		"\"unregisterTime\":900,"
		/*
		 * Baseline; it comes back, sample; it goes to sleep, comes back, sample; kernel; no stack and
		 * out of order; closing, end.
		 */
		ROWS "[[null,0,0,0],[null,6,0,0],[2,10,0,4000000],"
		"[null,11,0,0],[null,49,0,0],[2,50,0,1000000],"
		"[4,51,0,1000000],[null,51,0,0],[null,52,0,1000000],[null,52,0,0]]}," MARKERS_OF(
			WORKER) FRAMES
		"[[1,false,null,null,null,null,0,0],[2,false,null,null,null,null,4,2],"
		"[3,false,null,null,null,null,4,2],[4,false,null,null,null,null,3,0]]}," STACKS
		"[[null,0],[0,1],[1,2],[2,3],[3,3]]},"
		"\"stringTable\":[\"Thread\",\"(truncated: stack not readable)\",\"libx.so+0xff "
		"(in "
		"libx.so)\","
		"\"libx.so+0x201 (in libx.so)\",\"startup_64 (in [kernel])\"]}");
	/* Its stack is complete: no truncated root. Its CPU time fell; a name that is not UTF-8. */
	assert_contains(
		text,
		"{\"name\":\"w\\\"k\xef\xbf\xbd\",\"processType\":\"default\","
		"\"processName\":\"app --one 2\",\"pid\":4242,\"tid\":4243,"
		"\"registerTime\":20.000001,\"unregisterTime\":null," ROWS
		"[[1,0,0,0],[null,0,0,0],[null,60.000001,0,0],[1,60.000001,0,0]]}," MARKERS FRAMES
		"[[0,false,null,null,null,null,2,0],[1,false,null,null,null,null,4,2]]}," STACKS
		"[[null,0],[0,1]]},"
		"\"stringTable\":[\"main (in app)\",\"libx.so+0x100 (in libx.so)\"]}");
	free(text);
	profile_summary_clear(&summary);
}

static void libs(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(true, &summary), *at, expected[256];

	assert_contains(text, "{\"start\":139637976727552,\"end\":139637976793088,\"offset\":0,"
			      "\"arch\":\"" ARCH
			      "\",\"name\":\"libx.so\",\"path\":\"/nonexistent/libx.so\","
			      "\"debugName\":\"libx.so\",\"debugPath\":\"/nonexistent/libx.so\","
			      "\"breakpadId\":\"E54D3AF274383256B9F6144F83F3F7510\","
			      "\"codeId\":\"f23a4de538745632b9f6144f83f3f751deadbeef\"}");
	snprintf(expected, sizeof(expected),
		 "{\"start\":%llu,\"end\":%llu,\"offset\":", (unsigned long long)self_mapping.start,
		 (unsigned long long)self_mapping.end);
	at = strstr(text, expected);
	assert_non_null(at);
	/* Sorted by address. */
	assert_true((self_mapping.start < LIB) ==
		    (at < strstr(text, "{\"start\":139637976727552")));
	free(text);
	profile_summary_clear(&summary);
}

static void other_processes(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(true, &summary);

	/* Another image under the same pid; no comm; its main thread is made up. */
	assert_contains(
		text, COMMON
		"],\"shutdownTime\":950},\"libs\":[],\"threads\":["
		"{\"name\":\"Thread <4250>\",\"processType\":\"default\",\"processName\":\"next\","
		"\"pid\":\"4242.1\",\"tid\":4250,\"registerTime\":0,\"unregisterTime\":950," ROWS
		"[[1,910,0,0]]}");
	assert_contains(text,
			"\"stringTable\":[\"(truncated: return address outside of all code)\","
			"\"[unknown] (in [unmapped])\"]},{\"name\":\"GeckoMain\","
			"\"processType\":\"default\",\"processName\":\"next\",\"pid\":\"4242."
			"1\",\"tid\":4242,"
			"\"registerTime\":900,\"unregisterTime\":950," ROWS "[]}");
	assert_contains(text,
			"\"processType\":\"native\",\"processName\":\"kworker/0:1\",\"pid\":77,"
			"\"tid\":77,\"registerTime\":0,\"unregisterTime\":null," ROWS
			"[[0,500,0,0]]}");
	assert_null(strstr(text, "silent"));
	free(text);
	profile_summary_clear(&summary);
}

/* How the stacks of all samples ended, also of those without any. */
static void assert_stack_ends(const struct profile_summary *summary)
{
	static const uint64_t expected[GB_STACK_END_COUNT] = {
		[GB_STACK_NONE] = 2,
		[GB_STACK_COMPLETE] = 2,
		[GB_STACK_READ_FAILED] = 3,
		[GB_STACK_NO_MAPPING] = 1,
	};

	assert_memory_equal(summary->stack_ends, expected, sizeof(expected));
}

static void assert_hot(const struct profile_hot *hot, const char *expected)
{
	struct display_name name = {0};

	assert_int_equal(display_name_set(&name, &hot->function), 0);
	assert_int_equal(name.count, strlen(expected));
	assert_memory_equal(name.items, expected, name.count);
	display_name_clear(&name);
}

static void summary_counts(void **state)
{
	struct profile_summary summary = {.top_count = 3};

	free(document(true, &summary));
	assert_int_equal(summary.samples, 7);
	assert_int_equal(summary.threads, 4);
	assert_int_equal(summary.processes, 3);
	assert_stack_ends(&summary);
	assert_int_equal(summary.unsymbolized, 4);
	assert_int_equal(summary.top_count, 3);
	assert_hot(&summary.top[0], "libx.so+0x100 (in libx.so)");
	assert_int_equal(summary.top[0].self_samples, 2);
	assert_hot(&summary.top[1], "libx.so+0x201 (in libx.so)");
	assert_int_equal(summary.top[1].self_samples, 2);
	assert_hot(&summary.top[2], "startup_64 (in [kernel])");
	assert_int_equal(summary.top[2].self_samples, 2);
	profile_summary_clear(&summary);
	assert_null(summary.top);
	summary.top_count = 100;
	free(document(true, &summary));
	assert_int_equal(summary.top_count, 4);
	profile_summary_clear(&summary);
	profile_summary_clear(&summary);
}

static void addresses(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(false, &summary);

	assert_contains(text, "\"presymbolicated\":false");
	/* Return addresses as they are, under the root that is none; what the kernel interrupted, a byte on. */
	assert_contains(text,
			STACKS "[[null,0],[0,1],[1,2],[1,3],[3,4],[4,5]]},"
			       "\"stringTable\":[\"Thread\",\"(truncated: stack not readable)\","
			       "\"0x7f0000000100\",\"0x7f0000000201\",\"0x7f0000000202\","
			       "\"0xffffffff81001000\",\"0xffffffff81000010\"]}");
	assert_contains(text, "\"breakpadId\":\"E54D3AF274383256B9F6144F83F3F7510\"");
	assert_int_equal(summary.samples, 7);
	assert_stack_ends(&summary);
	assert_int_equal(summary.unsymbolized, 0);
	free(text);
}

/* Nothing was sampled: who was asked for is there nevertheless. */
static void no_samples(void **state)
{
	const struct gb_task task = {.tgid = 5, .tid = 5};
	struct processes *empty;
	struct profile_input input = {.recording.facts = &facts};
	struct profile_summary summary = {.top_count = 5};
	struct thread *thread;
	char *text;

	assert_int_equal(processes_open(&empty), 0);
	input.recording.processes = empty;
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_int_equal(summary.processes, 0);
	profile_summary_clear(&summary);
	assert_int_equal(processes_thread(empty, &task, &thread), 0);
	thread->process->died_ns = 1500 * MS;
	thread->cpu_first_ns = 5 * MS;
	thread->cpu_last_ns = 9 * MS;
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_int_equal(summary.processes, 1);
	assert_int_equal(summary.top_count, 0);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	assert_contains(text, "\"threads\":[{\"name\":\"GeckoMain\"");
	/* The CPU time that it used nevertheless. */
	assert_contains(text, ROWS "[[null,0,0,0],[null,500,0,4000000]]}");
	free(text);
	unlink(PATH);
	processes_close(empty);
}

/* A sample of a thread that the process does not have: it is left out, and said. */
static void unknown_thread(void **state)
{
	const struct gb_task task = {.tgid = 5, .tid = 5};
	const struct sample_entry entry = {.weight = 1, .thread = 3, .time_ns = START};
	struct recording_facts cut = facts;
	struct profile_input input = {.recording.facts = &cut};
	struct profile_summary summary = {.top_count = 5}, none = {0};
	struct thread *thread;
	char *text;

	assert_int_equal(processes_open(&input.recording.processes), 0);
	assert_int_equal(processes_thread(input.recording.processes, &task, &thread), 0);
	assert_int_equal(open_buffer(thread->process), 0);
	assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &entry), 0);
	/* Before the beginning: its thread may have been forgotten. */
	cut.start_ns = START + 1;
	cut.is_cut = true;
	assert_int_equal(write_profile(&input, &none), 0);
	assert_int_equal(none.processes, 1);
	assert_int_equal(none.damaged, 0);
	profile_summary_clear(&none);
	cut.start_ns = START;
	assert_int_equal(write_profile(&input, &none), 0);
	assert_int_equal(none.damaged, 1);
	profile_summary_clear(&none);
	input.recording.facts = &facts;
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_int_equal(summary.damaged, 1);
	assert_int_equal(summary.samples, 0);
	profile_summary_clear(&summary);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	unlink(PATH);
	/* Of the process, and of all. */
	assert_contains(text, "\"samples_overwritten\":0,\"samples_lost_damaged\":1}");
	assert_contains(text, "\"samples_lost_damaged\":1,\"rows_out_of_order\"");
	free(text);
	profile_buffer_close(thread->process->buffer);
	processes_close(input.recording.processes);
}

/* Which files gave no names, and why; the one that most samples went through comes first. */
static void unnamed_files(void **state)
{
	struct profile_summary summary = {0};
	char *text = document(true, &summary);
	const struct profile_file *file = summary.unnamed.items;

	assert_int_equal(summary.unnamed.count, 1);
	assert_string_equal(file->path, "/nonexistent/libx.so");
	/* Two of the first thread, two of the worker. */
	assert_int_equal(file->samples, 4);
	assert_int_equal(file->trouble, SYMBOL_TROUBLE_MISSING);
	assert_int_equal(file->wanted.size, 20);
	assert_null(strstr(text, "files_of_another_build"));
	free(text);
	profile_summary_clear(&summary);
	/* As it was recorded, it is not known by its place alone. */
	lib.is_recorded = true;
	lib.build_id.size = 0;
	free(document(true, &summary));
	assert_int_equal(summary.unnamed.items[0].trouble, SYMBOL_TROUBLE_NO_BUILD_ID);
	profile_summary_clear(&summary);
	/* Something that can be read, but is another build. */
	lib.build_id.size = 20;
	lib.path = (char *)"/proc/self/exe";
	text = document(true, &summary);
	assert_int_equal(summary.unnamed.items[0].trouble, SYMBOL_TROUBLE_OTHER_BUILD);
	assert_true(summary.unnamed.items[0].other.is_there);
	assert_contains(text, "\"files_of_another_build\":1");
	free(text);
	profile_summary_clear(&summary);
	lib.is_recorded = false;
	free(document(true, &summary));
	assert_int_equal(summary.unnamed.items[0].trouble, SYMBOL_TROUBLE_OTHER_BUILD);
	profile_summary_clear(&summary);
	lib.path = (char *)"/nonexistent/libx.so";
}

/* A recording of another clock beside it: it begins 500 ms later, though its clock says 100 ms. */
static void another_clock(void **state)
{
	static const struct recording_part parts[] = {{"a", &facts}, {"b", &facts}};
	const struct gb_task task = {.tgid = 4242, .tid = 4242};
	const struct sample_entry entry = {.weight = 1, .time_ns = 130 * MS, .cpu_ns = MS};
	struct recording_facts other = facts, whole = facts;
	struct profile_input second = {.recording.facts = &other};
	struct profile_input input = {.recording.facts = &facts,
				      .recording.processes = processes,
				      .whole = &whole,
				      .next = &second};
	struct profile_summary summary = {0};
	struct thread *thread;
	char *text;

	other.start_ns = 100 * MS;
	other.end_ns = 200 * MS;
	other.start_real_ns = facts.start_real_ns + 500 * MS;
	other.lead_ns = 500 * MS;
	whole.product = "both";
	whole.parts = parts;
	whole.part_count = 2;
	assert_int_equal(processes_open(&second.recording.processes), 0);
	assert_int_equal(processes_thread(second.recording.processes, &task, &thread), 0);
	thread->process->life = 7;
	thread->process->died_ns = 150 * MS;
	assert_int_equal(open_buffer(thread->process), 0);
	assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &entry), 0);
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	assert_contains(text, "\"product\":\"both\"");
	assert_contains(text, "\"pid\":\"4242.7\"");
	assert_contains(text, "\"registerTime\":500,\"unregisterTime\":550");
	assert_contains(text, ROWS "[[null,530,0,0]]}");
	/* All have the same start. */
	assert_null(strstr(text, "\"startTime\":1767225600623"));
	assert_contains(text, "\"b\":{\"product\":\"my\\\"app\"");
	free(text);
	unlink(PATH);
	profile_summary_clear(&summary);
	profile_buffer_close(thread->process->buffer);
	processes_close(second.recording.processes);
}

static bool is_cancelled(void *context)
{
	return true;
}

static void cancelled(void **state)
{
	const struct output_options options = {.is_cancelled = is_cancelled};
	struct profile_input input = {.recording.facts = &facts, .recording.processes = processes};
	struct profile_summary summary = {0};
	struct output *output;
	int err;

	assert_int_equal(output_open(&output, PATH, &options), 0);
	err = format_write(NULL, &input, output, &summary);
	/* So small a profile fits the output's block. */
	assert_int_equal(err ? err : output_commit(output), -EINTR);
	output_close(output);
	profile_summary_clear(&summary);
	assert_int_equal(access(PATH, F_OK), -1);
}

static int attempt(void *context)
{
	struct profile_input input = {
		.recording.facts = &facts, .recording.processes = processes, .kernel = kernel};
	struct profile_summary summary = {.top_count = 3};
	int err = 0;

	if (context)
		err = named_files_open(&input.named_files, NULL);
	if (!err)
		err = write_profile(&input, &summary);
	named_files_close(input.named_files);
	profile_summary_clear(&summary);
	if (err)
		assert_int_equal(access(PATH, F_OK), -1);
	else
		unlink(PATH);
	return err;
}

/*
 * With symbols some allocations may fail without harm: a table that stays larger than it need be.
 */
static void failing_allocations(void **state)
{
	size_t n, failed = 0;

	assert_true(alloc_fail_each(attempt, NULL) > 100);
	for (n = 1;; n++) {
		int err;

		alloc_fail_at(n);
		err = attempt(&lib);
		if (!alloc_fail_stop())
			break;
		assert_true(!err || err == -ENOMEM);
		failed += err == -ENOMEM;
	}
	assert_true(failed > 100 && failed + 5 > n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meta),           cmocka_unit_test(threads_of_the_root),
		cmocka_unit_test(libs),           cmocka_unit_test(other_processes),
		cmocka_unit_test(summary_counts), cmocka_unit_test(addresses),
		cmocka_unit_test(no_samples),     cmocka_unit_test(unknown_thread),
		cmocka_unit_test(unnamed_files),  cmocka_unit_test(another_clock),
		cmocka_unit_test(cancelled),      cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
