/* SPDX-License-Identifier: BSD-2-Clause */
/* test_archive.c - a recording into a raw capture and back; raw captures that lack parts, and parts that make no sense. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "archive/archive.h"
#include "base/fd.h"
#include "base/pack.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "recording/losses.h"
#include "target/object.h"
#include "target/process.h"

#define SAMPLES 60
#define START_NS 5000000
#define PERIOD_NS 1000000

/* ---- a recording ------------------------------------------------------------------------- */

static struct {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct process *process;
	struct recording_facts facts;
} made;

static const char *const threads_asked[] = {"pid:42", NULL}, *const features[] = {"cpu", NULL};
static const struct time_range pauses[] = {{7000000, 8000000}, {9000000, 0}};
static const struct loss losses[] = {{6000000, 6100000, 1ULL << 40, LOSS_RING},
				     {7000000, 7000000, 2, LOSS_TICKS}};
static const struct recording_fact facts_logged[] = {{.name = "lost", .value = 3},
						     {.name = "event", .text = "cpu-clock"}};

static void make_facts(void)
{
	made.facts = (struct recording_facts){
		.product = "demo",
		.version = "0",
		.logical_cpus = 2,
		.start_real_ns = 1700000000000000000,
		.start_ns = START_NS,
		.end_ns = START_NS + SAMPLES * PERIOD_NS,
		.is_cut = true,
		.pauses = pauses,
		.pause_count = 2,
		.losses = losses,
		.loss_count = 2,
		.interval_ns = PERIOD_NS,
		.buffer_bytes = 1 << 20,
		.duration_s = 2.5,
		.threads = threads_asked,
		.features = features,
		.log = facts_logged,
		.log_count = 2,
	};
}

static int put_samples(void)
{
	const struct frame frames[] = {{.value = 0x1000}, {.value = 0x1100}};
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = 2};
	int err = 0;
	uint64_t i;

	for (i = 0; i < SAMPLES && !err; i++) {
		sample.thread = (uint32_t)(i % 2 ? 7 : 0);
		sample.time_ns = START_NS + i * PERIOD_NS + i;
		sample.cpu_ns = i * 1000;
		err = profile_buffer_put_sample(made.process->buffer, &sample);
	}
	return err;
}

static int make_process(void)
{
	const struct object_sighting sighting = {.path = "/nonexistent/libx.so", .inode = 9};
	struct gb_task task = {
		.tgid = 42, .tid = 42, .start_ns = 10, .group_start_ns = 10, .exec_id = 3};
	struct profile_buffer_config config = {
		.memory = made.memory,
		.process_id = 42,
		.period_ns = PERIOD_NS,
	};
	struct mapping mapping = {.start = 0x1000, .end = 0x2000, .offset = 64, .from_ns = 11};
	struct thread *thread;
	int err = processes_thread(made.processes, &task, &thread);

	if (err)
		return err;
	made.process = thread->process;
	made.process->life = 2;
	made.process->is_root = true;
	made.process->died_ns = 99;
	made.process->is_execed = true;
	made.process->parent = (struct process_parent){.tgid = 41, .exec_id = 2, .key_ns = 9};
	made.process->end =
		(struct process_end){.is_known = true, .status = 139, .max_rss_bytes = 1ULL << 40};
	strcpy(made.process->name, "demo");
	strcpy(thread->name, "demo");
	thread->cpu_first_ns = 12;
	task.tid = 43;
	err = processes_thread(made.processes, &task, &thread);
	if (!err) {
		thread->number = 7; /* as if others had been before it */
		made.process->threads.numbers.top = 8;
		strcpy(thread->name, "worker");
		err = objects_get(made.objects, &sighting, &mapping.object);
	}
	if (!err)
		err = address_space_add(&made.process->space, &mapping);
	if (!err)
		err = profile_buffer_open(&made.process->buffer, &config);
	return err ? err : put_samples();
}

static int make_recording(void)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	int err;

	memset(&made, 0, sizeof(made));
	make_facts();
	err = processes_open(&made.processes);
	if (!err)
		err = objects_open(&made.objects, 0);
	if (!err)
		err = profile_memory_open(&made.memory, &config);
	return err ? err : make_process();
}

static void drop_recording(void)
{
	if (made.process)
		profile_buffer_close(made.process->buffer);
	processes_close(made.processes);
	objects_close(made.objects);
	profile_memory_close(made.memory);
}

static int setup(void **state)
{
	return make_recording();
}

static int teardown(void **state)
{
	drop_recording();
	return 0;
}

/* ---- files --------------------------------------------------------------------------------- */

static int make_file(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int write_fd(void *context, const void *bytes, size_t size)
{
	return fd_write_all(*(int *)context, bytes, size);
}

static int write_recording(int *fd)
{
	const struct section_sink sink = {write_fd, fd};
	const struct recording recording = {
		.facts = &made.facts, .processes = made.processes, .objects = made.objects};
	struct section_writer *writer = NULL;
	int err = section_writer_open(&writer, &sink);

	if (!err)
		err = archive_write(writer, &recording, NULL, NULL);
	section_writer_close(writer);
	return err;
}

struct seen {
	uint64_t samples, last_ns;
};

static int on_restart(void *context)
{
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct seen *seen = context;

	assert_int_equal(sample->thread, seen->samples % 2 ? 7 : 0);
	seen->last_ns = sample->time_ns;
	seen->samples++;
	return 0;
}

static uint64_t count_samples(const struct archive *archive)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};
	struct process *process = processes_latest(archive->processes, 42);
	struct seen seen = {0};

	if (!process || !process->buffer)
		return 0;
	profile_memory_pause(archive->memory);
	assert_int_equal(profile_buffer_read(process->buffer, &visitor, &seen), 0);
	profile_memory_resume(archive->memory);
	return seen.samples;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void assert_facts(const struct recording_facts *got)
{
	size_t i;

	assert_string_equal(got->product, "demo");
	assert_null(got->oscpu);
	assert_int_equal(got->logical_cpus, 2);
	assert_int_equal(got->start_real_ns, made.facts.start_real_ns);
	assert_int_equal(got->start_ns, START_NS);
	assert_int_equal(got->end_ns, made.facts.end_ns);
	assert_true(got->is_cut);
	assert_int_equal(got->interval_ns, PERIOD_NS);
	assert_true(got->duration_s == 2.5);
	assert_string_equal(got->threads[0], "pid:42");
	assert_null(got->threads[1]);
	assert_string_equal(got->features[0], "cpu");
	assert_int_equal(got->pause_count, 2);
	assert_memory_equal(got->pauses, pauses, sizeof(pauses));
	assert_int_equal(got->loss_count, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(got->losses[i].from_ns, losses[i].from_ns);
		assert_int_equal(got->losses[i].to_ns, losses[i].to_ns);
		assert_int_equal(got->losses[i].count, losses[i].count);
		assert_int_equal(got->losses[i].cause, losses[i].cause);
	}
	assert_int_equal(got->log_count, 2);
	assert_string_equal(got->log[0].name, "lost");
	assert_int_equal(got->log[0].value, 3);
	assert_null(got->log[0].text);
	assert_string_equal(got->log[1].text, "cpu-clock");
}

static void assert_process(const struct process *got)
{
	const struct mapping *mapping;

	assert_int_equal(got->tgid, 42);
	assert_int_equal(got->exec_id, 3);
	assert_int_equal(got->life, 2);
	assert_int_equal(got->key_ns, 10);
	assert_int_equal(got->died_ns, 99);
	assert_true(got->is_root);
	assert_true(got->is_execed);
	assert_int_equal(got->parent.tgid, 41);
	assert_int_equal(got->parent.exec_id, 2);
	assert_int_equal(got->parent.key_ns, 9);
	assert_true(got->end.is_known);
	assert_int_equal(got->end.status, 139);
	assert_int_equal(got->end.max_rss_bytes, 1ULL << 40);
	assert_string_equal(got->name, "demo");
	assert_null(got->cmdline);
	assert_int_equal(got->threads.count, 2);
	assert_int_equal(got->threads.numbers.top, 8);
	assert_int_equal(got->threads.items[0]->cpu_first_ns, 12);
	assert_int_equal(got->threads.items[1]->number, 7);
	assert_int_equal(got->threads.items[1]->tid, 43);
	assert_string_equal(got->threads.items[1]->name, "worker");
	assert_int_equal(got->space.count, 1);
	mapping = address_space_find(&got->space, 0x1000, 11);
	assert_non_null(mapping);
	assert_int_equal(mapping->start, 0x1000);
	assert_int_equal(mapping->end, 0x2000);
	assert_int_equal(mapping->offset, 64);
	assert_int_equal(mapping->from_ns, 11);
	assert_string_equal(mapping->object->path, "/nonexistent/libx.so");
}

static void test_round_trip(void **state)
{
	struct archive archive;
	int fd = make_file();

	assert_int_equal(write_recording(&fd), 0);
	assert_int_equal(archive_read(&archive, fd, NULL), 0);
	assert_facts(&archive.facts);
	assert_process(processes_latest(archive.processes, 42));
	assert_int_equal(count_samples(&archive), SAMPLES);
	assert_int_equal(archive.damage.bytes + archive.bad_sections + archive.unknown_sections +
				 archive.lost_blocks,
			 0);
	assert_int_equal(archive.kallsyms_fd, -1);
	assert_true(archive.has_end);
	archive_close(&archive);
	close(fd);
}

/* What is before the cut is there. */
static void test_every_truncation(void **state)
{
	int fd = make_file(), err = 0;
	uint64_t before = SAMPLES, samples;
	struct archive archive;
	off_t length;

	assert_int_equal(write_recording(&fd), 0);
	for (length = lseek(fd, 0, SEEK_END) - 1; length >= 0; length--) {
		assert_int_equal(ftruncate(fd, length), 0);
		err = archive_read(&archive, fd, NULL);
		if (err) {
			assert_int_equal(err, -EBADMSG);
			assert_int_equal(before, 0);
			continue;
		}
		samples = count_samples(&archive);
		assert_true(samples == before || samples == 0);
		before = samples;
		archive_close(&archive);
	}
	assert_int_equal(err, -EBADMSG);
	close(fd);
}

/* Whatever is wrong is noticed, and what is left is a recording. */
static void test_every_bit(void **state)
{
	int fd = make_file();
	off_t bits, at;

	assert_int_equal(write_recording(&fd), 0);
	bits = lseek(fd, 0, SEEK_END) * 8;
	for (at = 0; at < bits; at++) {
		struct archive archive;
		uint8_t byte, turned;
		int err;

		assert_int_equal(pread(fd, &byte, 1, at / 8), 1);
		turned = (uint8_t)(byte ^ 1U << at % 8);
		assert_int_equal(pwrite(fd, &turned, 1, at / 8), 1);
		err = archive_read(&archive, fd, NULL);
		assert_true(err == 0 || err == -EBADMSG);
		if (!err) {
			assert_true(count_samples(&archive) == SAMPLES || archive.damage.bytes ||
				    archive.bad_sections);
			archive_close(&archive);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at / 8), 1);
	}
	close(fd);
}

static void append(int *fd, uint16_t kind, const void *bytes, size_t size)
{
	const struct section_sink sink = {write_fd, fd};
	struct section_writer *writer;

	assert_int_equal(section_writer_open(&writer, &sink), 0);
	/* Its own head of a file went in between: damage of 16 bytes. */
	assert_int_equal(section_write(writer, kind, bytes, size), 0);
	section_writer_close(writer);
}

static void test_sections_without_sense(void **state)
{
	static const uint8_t key_of_nobody[] = {1, 2, 3, 0, 2, 1, 0},
			     empty_entry[] = {42, 10, 3, SAMPLES, 1, 0},
			     long_entry[] = {42, 10, 3, SAMPLES, 3, 9, 1, 2},
			     long_run[] = {42, 10, 3, SAMPLES, 9, 1, 2},
			     life_of_nobody[] = {1, 2, 3, 3, 1, 1, 1, 1, 1},
			     odd_life[] = {42, 10, 3, 4, 1, 1, 1, 1, 1};
	struct archive archive;
	int fd = make_file();

	assert_int_equal(write_recording(&fd), 0);
	append(&fd, 99, "new", 3);
	append(&fd, 0, "", 0);
	append(&fd, ARCHIVE_BLOCKS, key_of_nobody, sizeof(key_of_nobody));
	append(&fd, ARCHIVE_BLOCKS, empty_entry, sizeof(empty_entry));
	append(&fd, ARCHIVE_BLOCKS, long_entry, sizeof(long_entry));
	append(&fd, ARCHIVE_BLOCKS, long_run, sizeof(long_run));
	append(&fd, ARCHIVE_PROCESS, "\x80", 1);
	append(&fd, ARCHIVE_FILE, "\1\7", 2);
	append(&fd, ARCHIVE_LIVES, life_of_nobody, sizeof(life_of_nobody));
	append(&fd, ARCHIVE_LIVES, odd_life, sizeof(odd_life));
	append(&fd, ARCHIVE_LIVES, odd_life, 5);
	assert_int_equal(archive_read(&archive, fd, NULL), 0);
	assert_int_equal(archive.unknown_sections, 2);
	assert_int_equal(archive.bad_sections, 7);
	assert_int_equal(archive.lost_blocks, 1); /* of nobody */
	assert_int_equal(archive.damage.bytes, 11 * 16);
	assert_int_equal(count_samples(&archive), SAMPLES);
	assert_process(processes_latest(archive.processes, 42));
	archive_close(&archive);
	close(fd);
}

/* What was lost is the sum of all sections, up to what makes no sense; newer causes are told, too. */
static void test_losses_of_all_sections(void **state)
{
	static const uint8_t more[] = {LOSS_TICKS, 100, 5, 3, 200, 1, 120, 0, 9},
			     cut[] = {LOSS_BAD, 120, 1, 7, LOSS_RING, 1};
	struct archive archive;
	int fd = make_file();

	assert_int_equal(write_recording(&fd), 0);
	append(&fd, ARCHIVE_LOSSES, more, sizeof(more));
	append(&fd, ARCHIVE_LOSSES, cut, sizeof(cut));
	assert_int_equal(archive_read(&archive, fd, NULL), 0);
	assert_int_equal(archive.bad_sections, 1);
	assert_int_equal(archive.facts.loss_count, 5);
	assert_int_equal(archive.facts.losses[2].cause, LOSS_TICKS);
	assert_int_equal(archive.facts.losses[2].from_ns, 100);
	assert_int_equal(archive.facts.losses[2].to_ns, 105);
	assert_int_equal(archive.facts.losses[2].count, 3);
	assert_int_equal(archive.facts.losses[3].cause, LOSS_UNKNOWN);
	assert_int_equal(archive.facts.losses[3].count, 9);
	assert_int_equal(archive.facts.losses[4].count, 7);
	archive_close(&archive);
	close(fd);
}

static void test_no_head(void **state)
{
	struct archive archive;
	int fd = make_file();

	append(&fd, ARCHIVE_END, "\0\0\0\0\0", 5);
	assert_int_equal(archive_read(&archive, fd, NULL), -EBADMSG);
	close(fd);
}

/* Samples are taken once in 10 s at least, and not all the time: else it is no head. */
static void test_no_interval(void **state)
{
	static const uint64_t intervals_ns[] = {10000000000, 1, 10000000001, 0};
	struct archive archive;
	size_t i;

	for (i = 0; i < 4; i++) {
		int fd = make_file();

		made.facts.interval_ns = intervals_ns[i];
		assert_int_equal(write_recording(&fd), 0);
		assert_int_equal(archive_read(&archive, fd, NULL), i < 2 ? 0 : -EBADMSG);
		if (i < 2) {
			assert_int_equal(archive.facts.interval_ns, intervals_ns[i]);
			archive_close(&archive);
		}
		close(fd);
	}
}

static int attempt(void *context)
{
	int fd = make_file(), err = make_recording();
	struct archive archive;

	if (!err)
		err = write_recording(&fd);
	if (!err)
		err = archive_read(&archive, fd, NULL);
	if (!err) {
		/* Entries that could not be put for lack of memory are counted. */
		if (archive.lost_blocks)
			err = -ENOMEM;
		else
			assert_facts(&archive.facts);
		archive_close(&archive);
	}
	/* What finds no memory to be made smaller in stays as it is. */
	if (!err && alloc_hit)
		err = -ENOMEM;
	drop_recording();
	close(fd);
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
		FRESH(test_round_trip),
		FRESH(test_every_truncation),
		FRESH(test_every_bit),
		FRESH(test_sections_without_sense),
		FRESH(test_losses_of_all_sections),
		FRESH(test_no_head),
		FRESH(test_no_interval),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
