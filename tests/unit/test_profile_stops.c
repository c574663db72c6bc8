/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_stops.c - the first error ends the writing of a profile: after it nothing more is read, written or allocated, and no
 * file is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cancel.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "target/process.h"

#include "alloc.h"
#include "fake_codec.h"

#define PROCESSES 80
#define SAMPLES 1500
#define MS 1000000ULL
/* Of what there is to do after an error: nothing but to leave. */
#define FEW_ALLOCATIONS 8

static char directory[] = "/tmp/test_profile_stops.XXXXXX", path[64];
static struct processes *processes;
static struct profile_memory *memory;

/* Chunks that were expanded: how far the reading is. */
static size_t expanded;

static int expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	expanded++;
	return fake_expand(context, compressed, out);
}

static const struct chunk_expander counting_expander = {expand, NULL};

static void add_process(uint32_t tgid)
{
	const struct gb_task task = {.tgid = tgid, .tid = tgid, .start_ns = tgid};
	const struct profile_buffer_config config = {memory, tgid, MS};
	struct frame frames[2] = {{.value = 0x1000}};
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = 2};
	struct thread *thread;

	assert_int_equal(processes_thread(processes, &task, &thread), 0);
	assert_int_equal(profile_buffer_open(&thread->process->buffer, &config), 0);
	while (sample.time_ns < SAMPLES * MS) {
		sample.time_ns += MS;
		frames[1].value = 0x2000 + sample.time_ns / MS % 100;
		assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &sample), 0);
	}
	profile_buffer_finish(thread->process->buffer);
}

static int setup(void **state)
{
	const struct profile_memory_config config = {.max_bytes = 64 << 20,
						     .cache_bytes = 1 << 16,
						     .chunk_first_bytes = 2048,
						     .chunk_max_bytes = 2048,
						     .expander = &counting_expander};
	struct chunk *chunk;
	uint32_t tgid;

	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/p.json", directory);
	assert_int_equal(processes_open(&processes), 0);
	assert_int_equal(profile_memory_open(&memory, &config), 0);
	for (tgid = 1; tgid <= PROCESSES; tgid++)
		add_process(tgid);
	while ((chunk = chunk_store_borrow(profile_memory_store(memory), false)) != NULL)
		chunk_store_return(profile_memory_store(memory), chunk, fake_compress(chunk));
	return 0;
}

static int teardown(void **state)
{
	size_t i;

	for (i = 0; i < processes_count(processes); i++)
		profile_buffer_close(processes_at(processes, i)->buffer);
	processes_close(processes);
	profile_memory_close(memory);
	return rmdir(directory); /* which is empty */
}

/* ---- an output that fails at a chosen write ------------------------------------------- */

struct failure {
	size_t at; /* this write fails */
	size_t writes; /* so far */
	size_t expanded; /* at that moment */
};

static bool fails(void *context)
{
	struct failure *failure = context;

	if (++failure->writes < failure->at)
		return false;
	failure->expanded = expanded;
	return true;
}

/* NULL: Gecko. */
static const struct format *format;

static int set_format(void **state)
{
	format = format_named(*state);
	assert_non_null(format);
	return 0;
}

static struct cancel *cancel;

static int write_profile(struct failure *failure)
{
	static const char *const none[] = {NULL};
	const struct recording_facts facts = {
		.end_ns = SAMPLES * MS, .interval_ns = MS, .threads = none, .features = none};
	const struct profile_input input = {
		.recording.facts = &facts, .recording.processes = processes, .cancel = cancel};
	const struct output_options options = {.is_cancelled = fails, .context = failure};
	struct profile_summary summary = {0};
	struct output *output;
	int err;

	expanded = 0;
	err = output_open(&output, path, &options);
	if (err)
		return err;
	err = format_write(format, &input, output, &summary);
	if (!err)
		err = output_commit(output);
	output_close(output);
	profile_summary_clear(&summary);
	return err;
}

static void nothing_is_read_after_a_write_that_failed(void **state)
{
	struct failure failure = {.at = SIZE_MAX};
	size_t all, writes, at;

	assert_int_equal(write_profile(&failure), 0);
	unlink(path);
	all = expanded;
	writes = failure.writes;
	assert_true(all >= 4 * PROCESSES);
	assert_true(writes >= 4);
	for (at = 1; at <= writes; at++) {
		failure = (struct failure){.at = at};
		assert_int_equal(write_profile(&failure), -EINTR);
		assert_int_equal(failure.writes, at);
		assert_int_equal(expanded, failure.expanded);
		/* The last ones write what is known by then. */
		assert_true(at + 2 > writes || expanded < all);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static bool is_given_up(void *context)
{
	struct failure *failure = context;

	if (++failure->writes != failure->at)
		return false;
	failure->expanded = expanded;
	return true;
}

/* Though nothing is written for long. */
static void nothing_is_read_after_it_was_given_up(void **state)
{
	struct failure none = {.at = SIZE_MAX}, looks = {.at = SIZE_MAX};
	size_t at, most;

	cancel = &(struct cancel){.is_cancelled = is_given_up, .context = &looks};
	assert_int_equal(write_profile(&none), 0);
	unlink(path);
	most = looks.writes;
	assert_true(most > (size_t)PROCESSES * SAMPLES / CANCEL_LOOK_EVERY);
	for (at = 1; at <= most; at += 1 + at / 8) {
		looks = (struct failure){.at = at};
		cancel = &(struct cancel){.is_cancelled = is_given_up, .context = &looks};
		assert_int_equal(write_profile(&none), -EINTR);
		assert_int_equal(looks.writes, at);
		assert_int_equal(expanded, looks.expanded);
		assert_int_equal(access(path, F_OK), -1);
	}
	cancel = NULL;
}

static void little_is_allocated_after_an_allocation_that_failed(void **state)
{
	struct failure none = {.at = SIZE_MAX};
	size_t before = alloc_count(), all, n;

	assert_int_equal(write_profile(&none), 0);
	unlink(path);
	all = alloc_count() - before;
	assert_true(all > 1000);
	for (n = 1; n <= all; n += 1 + n / 20) {
		int err;

		before = alloc_count();
		alloc_fail_at(n);
		err = write_profile(&none);
		assert_true(alloc_fail_stop());
		assert_int_equal(err, -ENOMEM);
		assert_in_range(alloc_count() - before, n, n + FEW_ALLOCATIONS);
		assert_int_equal(access(path, F_OK), -1);
	}
}

#define OF(test, format)                                                                           \
	cmocka_unit_test_prestate_setup_teardown(test, set_format, NULL, (char *)format)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OF(nothing_is_read_after_a_write_that_failed, "gecko"),
		OF(nothing_is_read_after_it_was_given_up, "gecko"),
		OF(little_is_allocated_after_an_allocation_that_failed, "gecko"),
		OF(nothing_is_read_after_a_write_that_failed, "processed"),
		OF(nothing_is_read_after_it_was_given_up, "processed"),
		OF(little_is_allocated_after_an_allocation_that_failed, "processed"),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
