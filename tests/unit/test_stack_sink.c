/* SPDX-License-Identifier: BSD-2-Clause */
/* A recording read as sums of stacks is what its profile as JSON is when that is read: whatever is printed of it. */
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
#include "format/folded.h"
#include "format/format.h"
#include "format/gecko.h"
#include "format/gecko_reader.h"
#include "format/pprof.h"
#include "format/report.h"
#include "format/stack_profile.h"
#include "format/stack_sink.h"
#include "geckobpf_abi.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define ARCH "any"
#define PATH "/tmp/test_stack_sink.json"

int main(void);

#include "profile_fixture.h"

/* ---- two ways to a stack profile ----------------------------------------------------------- */

static const struct recording_fact losses[] = {
	{.name = "samples_lost_ring", .value = 3},   {.name = "records_lost_bad", .value = 5},
	{.name = "samples_overwritten", .value = 7}, {.name = "timer_ticks", .value = 1000},
	{.name = "timer_ticks_missed", .value = 11}, {.name = "samples_lost_as_text", .text = "17"},
};
static struct recording_facts with_losses;
static uint64_t end_ns; /* of the recording; 0: as it is */

static struct profile_input make_input(struct named_files *named_files)
{
	with_losses = facts;
	with_losses.log = losses;
	if (end_ns)
		with_losses.end_ns = end_ns;
	with_losses.log_count = sizeof(losses) / sizeof(*losses);
	return (struct profile_input){
		.recording.facts = &with_losses,
		.recording.processes = processes,
		.kernel = kernel,
		.named_files = named_files,
	};
}

static struct stack_profile *through_json(void)
{
	struct profile_summary summary = {0};
	struct stack_profile *profile;
	struct profile_input input = make_input(NULL);
	char *text;

	assert_int_equal(named_files_open(&input.named_files, NULL), 0);
	assert_int_equal(write_profile(&input, &summary), 0);
	named_files_close(input.named_files);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	unlink(PATH);
	assert_int_equal(stack_profile_open(&profile), 0);
	assert_int_equal(gecko_reader_parse(profile, "made", text, strlen(text), NULL), 0);
	free(text);
	profile_summary_clear(&summary);
	return profile;
}

static int walk(struct stack_profile *profile, struct named_files *named_files)
{
	const struct profile_input input = make_input(named_files);
	struct profile_summary summary = {.top_count = 3};
	struct profile_sink *sink;
	int err = stack_sink_open(&sink, &input, "made", profile);

	if (err)
		return err;
	err = profile_walk(&input, sink, &summary);
	sink->ops->close(sink);
	if (!err)
		profile_summary_clear(&summary);
	return err;
}

static struct stack_profile *directly(void)
{
	struct stack_profile *profile;
	struct named_files *named_files;

	assert_int_equal(stack_profile_open(&profile), 0);
	assert_int_equal(named_files_open(&named_files, NULL), 0);
	assert_int_equal(walk(profile, named_files), 0);
	named_files_close(named_files);
	return profile;
}

/* ---- what is printed of both ------------------------------------------------------------------ */

static int write_nothing(const struct stack_profile *profile, FILE *out)
{
	return 0;
}

static int write_report(const struct stack_profile *profile, FILE *out)
{
	enum hot_key by;
	int part, err = 0;

	for (by = HOT_FUNCTION; by <= HOT_PROCESS; by++)
		for (part = REPORT_WHOLE; part <= REPORT_EACH_THREAD && !err; part++)
			err = report_write(
				profile,
				&(struct report_options){.by = by, .part = (enum report_part)part},
				out);
	return err;
}

static int write_folded(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, false, out);
}

static int write_folded_cpu(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, true, out);
}

static char *printed(int (*write)(const struct stack_profile *profile, FILE *out),
		     const struct stack_profile *profile, size_t *size)
{
	FILE *out = tmpfile();
	char *text;

	assert_non_null(out);
	assert_int_equal(write(profile, out), 0);
	*size = (size_t)lseek(fileno(out), 0, SEEK_END);
	text = malloc(*size + 1);
	assert_non_null(text);
	assert_int_equal(fd_pread_all(fileno(out), text, *size, 0), 0);
	fclose(out);
	return text;
}

static void the_same_is_printed(void **state)
{
	static int (*const writers[])(const struct stack_profile *profile, FILE *out) = {
		write_report, write_folded, write_folded_cpu, pprof_write, write_nothing};
	struct stack_profile *json = through_json(), *direct = directly();
	size_t i;

	for (i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		size_t expected_size, size;
		char *expected = printed(writers[i], json, &expected_size);
		char *text = printed(writers[i], direct, &size);

		assert_int_equal(size, expected_size);
		assert_memory_equal(text, expected, size);
		assert_int_equal(size > 0, writers[i] != write_nothing);
		free(expected);
		free(text);
	}
	stack_profile_close(json);
	stack_profile_close(direct);
}

/* A name that is not UTF-8 is what the JSON would have of it, so that both are one in a report of both. */
static void names_are_texts(void **state)
{
	struct stack_profile *profile = directly();
	size_t i, found = 0;

	for (i = 0; i < profile->threads.count; i++)
		found += !strcmp(stack_profile_text(profile, profile->threads.items[i].name),
				 "w\"k\xef\xbf\xbd");
	assert_int_equal(found, 1);
	stack_profile_close(profile);
}

/* Time that no machine has is not added up: what the sums are is still a time. */
static void cpu_time_has_a_limit(void **state)
{
	const struct process *process = processes_at(processes, 0);
	struct thread *thread = process->threads.items[0];
	uint64_t last_ns = thread->cpu_last_ns, died_ns = thread->died_ns, sum = 0;
	struct stack_profile *profile;
	size_t i;

	end_ns = UINT64_MAX / 2;
	thread->died_ns = 0;
	thread->cpu_last_ns = UINT64_MAX;
	profile = directly();
	thread->cpu_last_ns = last_ns;
	thread->died_ns = died_ns;
	end_ns = 0;
	for (i = 0; i < profile->threads.items[0].counts.count; i++)
		sum += profile->threads.items[0].counts.items[i].cpu_ns;
	assert_true(sum > UINT64_MAX / 8 && sum < UINT64_MAX / 4);
	stack_profile_close(profile);
}

/* Without names: who reads symbols can do without some memory. */
static int attempt(void *context)
{
	struct stack_profile *profile;
	int err = stack_profile_open(&profile);

	if (err)
		return err;
	err = walk(profile, NULL);
	stack_profile_close(profile);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_printed),
		cmocka_unit_test(names_are_texts),
		cmocka_unit_test(cpu_time_has_a_limit),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
