/* SPDX-License-Identifier: BSD-2-Clause */
/* test_archive_stream.c - raw captures that are written while the recording goes on: their entries, and files that lack parts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream_fixture.h"

#define MANY 100000 /* samples: more than a megabyte */

/* ---- entries ----------------------------------------------------------------------------------- */

/* What is put later comes from where the first part ended: nothing twice, nothing missing. */
static void test_in_parts(void **state)
{
	struct archive archive;
	struct seen seen;

	assert_int_equal(put(TGID, 300), 0);
	assert_int_equal(write_on(false), 0);
	assert_int_equal(write_on(false), 0);
	assert_int_equal(put(TGID, 1), 0);
	assert_int_equal(write_on(false), 0);
	assert_int_equal(put(TGID, 30000), 0);
	assert_int_equal(write_on(true), 0);
	assert_int_equal(made.writer.written, 30301);
	assert_int_equal(made.writer.missed, 0);
	read_back(&archive, &seen);
	assert_whole(&archive);
	assert_true(archive.has_end);
	assert_int_equal(archive.facts.end_ns, made.now_ns);
	assert_int_equal(seen.samples, 30301);
	assert_int_equal(seen.last_ns, made.now_ns);
	archive_close(&archive);
}

static void test_without_end(void **state)
{
	static const struct recording_fact fact = {.name = "lost", .value = 3};
	struct archive archive;
	struct seen seen;

	made.facts.log = &fact;
	made.facts.log_count = 1;
	assert_int_equal(put(TGID, 3), 0);
	assert_int_equal(write_on(false), 0);
	/* The facts that were told last hold on. */
	made.facts.log_count = 0;
	assert_int_equal(put(TGID, 3), 0);
	assert_int_equal(write_on(false), 0);
	read_back(&archive, &seen);
	assert_false(archive.has_end);
	assert_int_equal(archive.facts.end_ns, made.now_ns);
	assert_int_equal(archive.facts.log_count, 1);
	assert_int_equal(archive.facts.log[0].value, 3);
	assert_int_equal(seen.samples, 6);
	archive_close(&archive);
}

/* More than the buffer holds; what it dropped before it was written is counted on both sides. */
static void test_overwritten(void **state)
{
	struct archive archive;
	uint64_t i;

	for (i = 0; i < MANY; i += 1000) {
		assert_int_equal(put(TGID, 1000), 0);
		assert_int_equal(write_on(false), 0);
	}
	assert_int_equal(made.writer.missed, 0);
	assert_int_equal(made.writer.written, MANY);
	for (i = 0; i < 20; i++)
		assert_int_equal(put(TGID + (uint32_t)i, MANY), 0);
	assert_true(profile_buffer_get_state(made.process->buffer).cleared > 2 * MANY);
	assert_int_equal(write_on(true), 0);
	assert_int_equal(made.writer.written + made.writer.missed, 21 * MANY);
	assert_true(made.writer.missed > 0);
	assert_int_equal(archive_read(&archive, made.fd, NULL), 0);
	assert_int_equal(archive.lost_blocks, made.writer.missed);
	assert_int_equal(
		profile_buffer_get_state(processes_latest(archive.processes, TGID)->buffer).pushed,
		made.writer.written);
	archive_close(&archive);
}

/* A section that is missing in the middle: what comes after it is there from the next restart on, and all else is counted. */
static void test_lost_section(void **state)
{
	struct archive archive;
	struct seen seen;
	uint64_t lost;

	assert_int_equal(put(TGID, 10), 0);
	assert_int_equal(write_on(false), 0);
	made.loses = true;
	assert_int_equal(put(TGID, 10), 0);
	assert_int_equal(write_on(false), 0);
	made.loses = false;
	assert_int_equal(put(TGID, MANY), 0);
	assert_int_equal(write_on(true), 0);
	read_back(&archive, &seen);
	lost = archive.lost_blocks;
	assert_true(lost >= 10 && lost < MANY / 2);
	assert_int_equal(seen.samples + lost, MANY + 20);
	assert_int_equal(seen.last_ns, made.now_ns);
	archive_close(&archive);
}

static int on_any_sample(void *context, const struct sample_view *sample)
{
	struct seen *seen = context;

	seen->samples++;
	return 0;
}

/* How many samples there are, all of which make sense; those of threads that are missing, too. */
static uint64_t count_samples(const struct archive *archive)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_any_sample, NULL};
	const struct process *process = processes_latest(archive->processes, TGID);
	struct seen seen = {0};

	if (!process || !process->buffer)
		return 0;
	profile_memory_pause(archive->memory);
	assert_int_equal(profile_buffer_read(process->buffer, &visitor, &seen), 0);
	profile_memory_resume(archive->memory);
	return seen.samples;
}

/* Whichever bit is wrong: what is left can be read, and something is said. */
static void test_every_bit(void **state)
{
	off_t bits, at;

	for (at = 0; at < 3; at++) {
		assert_int_equal(put(TGID + (uint32_t)at, 3), 0);
		assert_int_equal(write_on(at == 2), 0);
	}
	bits = lseek(made.fd, 0, SEEK_END) * 8;
	for (at = 0; at < bits; at++) {
		struct archive archive;
		uint8_t byte, turned;
		int err;

		assert_int_equal(pread(made.fd, &byte, 1, at / 8), 1);
		turned = (uint8_t)(byte ^ 1U << at % 8);
		assert_int_equal(pwrite(made.fd, &turned, 1, at / 8), 1);
		err = archive_read(&archive, made.fd, NULL);
		assert_true(err == 0 || err == -EBADMSG);
		if (!err) {
			assert_true(count_samples(&archive) == 9 || archive.damage.bytes ||
				    archive.bad_sections);
			archive_close(&archive);
		}
		assert_int_equal(pwrite(made.fd, &byte, 1, at / 8), 1);
	}
}

/* Wherever it was cut off: what is before the cut is there. */
static void test_every_cut(void **state)
{
	uint64_t samples = 9, before = 9;
	struct archive archive;
	off_t length;
	int err = 0;

	for (length = 0; length < 3; length++) {
		assert_int_equal(put(TGID, 3), 0);
		assert_int_equal(write_on(length == 2), 0);
	}
	for (length = lseek(made.fd, 0, SEEK_END) - 1; !err && length; length--) {
		assert_int_equal(ftruncate(made.fd, length), 0);
		err = archive_read(&archive, made.fd, NULL);
		if (err)
			break;
		assert_false(archive.has_end);
		samples = count_samples(&archive);
		assert_true(samples == before || samples + 3 == before);
		assert_int_equal(archive.lost_blocks + archive.bad_sections, 0);
		before = samples;
		archive_close(&archive);
	}
	assert_int_equal(err, -EBADMSG);
	assert_int_equal(samples, 0);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static int read_all(void)
{
	struct archive archive;
	int err = archive_read(&archive, made.fd, NULL);

	if (err)
		return err;
	if (archive.lost_blocks)
		err = -ENOMEM;
	archive_close(&archive);
	return err;
}

static int attempt(void *context)
{
	uint32_t tid = 50;
	int err = open_recording();

	if (!err)
		err = put(TGID, 3);
	if (!err)
		err = put(tid, 3);
	if (!err)
		err = write_on(false);
	made.now_ns += 3 * NS_PER_SEC;
	if (!err)
		processes_sweep_threads(made.processes, made.process, is_thread, &tid);
	if (!err)
		err = put(51, 2);
	if (!err)
		err = write_on(true);
	if (!err)
		err = read_all();
	close_recording();
	return err;
}

static void test_no_memory(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 30);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_in_parts),
		FRESH(test_without_end),
		FRESH(test_overwritten),
		FRESH(test_lost_section),
		FRESH(test_every_bit),
		FRESH(test_every_cut),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
