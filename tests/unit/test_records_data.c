/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings and samples go where they belong; records that mean nothing are counted; memory that is out is counted too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "records_fixture.h"

/* ---- mappings of whom ----------------------------------------------------------------------------------------- */

static void test_unwanted_mappings(void **state)
{
	tell_map(RECORD_MAP, 1, 99, 0x1000, "/nonexistent/a");
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	assert_int_equal(objects_count(world.objects), 0);
	assert_int_equal(processes_count(world.processes), 0);
	assert_no_loss();
}

/* A command's first exec comes before any record names its process. */
static void test_expected_mappings(void **state)
{
	assert_int_equal(records_expect(world.records, 99), 0);
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	tell(GB_TASK_EXEC, 3, task(99, 99, 1), "a");
	assert_string_equal(path_at(image_of(99, 1), 0x1000, 9), "/nonexistent/a");
	assert_true(image_of(99, 1)->is_root);
}

static void test_all_mappings(void **state)
{
	close_world();
	assert_int_equal(open_world(true), 0);
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	tell(GB_TASK_EXEC, 3, task(99, 99, 1), "a");
	assert_string_equal(path_at(image_of(99, 1), 0x1000, 9), "/nonexistent/a");
}

static void test_mapping_details(void **state)
{
	const struct mapping *mapping;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell_map(RECORD_MAP, 7, 10, 0x1000, "//anon");
	mapping = address_space_find(&image_of(10, 0)->space, 0x1fff, 7);
	assert_non_null(mapping);
	assert_int_equal(mapping->start, 0x1000);
	assert_int_equal(mapping->end, 0x2000);
	assert_int_equal(mapping->offset, 0x2000);
	assert_int_equal(mapping->from_ns, 7);
	assert_int_equal(mapping->object->kind, OBJECT_ANONYMOUS);
	assert_int_equal(mapping->object->first_pid, 10);
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

struct heard {
	uint64_t pcs[16];
	bool is_kernel[16];
	uint32_t prefixes[16], nodes;
	struct sample_view last;
	size_t samples;
};

static int on_restart(void *context)
{
	((struct heard *)context)->nodes = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, uint64_t pc, bool is_kernel)
{
	struct heard *heard = context;

	assert_in_range(node, 0, 15);
	heard->pcs[node] = pc;
	heard->prefixes[node] = prefix;
	heard->is_kernel[node] = is_kernel;
	heard->nodes++;
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct heard *heard = context;

	heard->last = *sample;
	heard->samples++;
	return 0;
}

static struct heard listen(const struct process *process)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample};
	struct heard heard = {0};

	assert_non_null(process->buffer);
	assert_int_equal(profile_buffer_read(process->buffer, &visitor, &heard), 0);
	return heard;
}

static void test_sample(void **state)
{
	struct heard heard;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell_sample(30, task(10, 11, 0));
	heard = listen(image_of(10, 0));
	assert_int_equal(heard.samples, 1);
	assert_int_equal(heard.last.thread, 1);
	assert_int_equal(heard.last.time_ns, 30);
	assert_int_equal(heard.last.cpu_ns, 77);
	assert_int_equal(heard.last.run_ns, 5);
	assert_int_equal(heard.last.user_end, GB_STACK_WALKED);
	assert_int_equal(heard.nodes, 3);
	assert_int_equal(heard.last.stack, 2);
	assert_int_equal(heard.pcs[0], 0x401010); /* the root came last */
	assert_int_equal(heard.pcs[1], 0x401020);
	assert_true(heard.pcs[2] == 0xffffffff81000010);
	assert_int_equal(heard.prefixes[0], STACK_NODE_NONE);
	assert_int_equal(heard.prefixes[1], 0);
	assert_int_equal(heard.prefixes[2], 1);
	assert_false(heard.is_kernel[1]);
	assert_true(heard.is_kernel[2]);
	assert_int_equal(counts()->samples, 1);
	assert_no_loss();
}

static void test_sample_before_fork(void **state)
{
	struct process *child;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "p");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/p");
	tell_sample(30, task(20, 20, 0));
	child = image_of(20, 0);
	assert_int_equal(child->born_ns, 0);
	assert_int_equal(counts()->live_processes, 2);
	tell_fork(20, task(10, 10, 0), task(20, 20, 0), "c");
	assert_ptr_equal(image_of(20, 0), child);
	assert_int_equal(child->born_ns, 20);
	assert_string_equal(child->name, "c");
	assert_string_equal(path_at(child, 0x1000, 30), "/nonexistent/p");
	assert_int_equal(listen(child).samples, 1);
	assert_int_equal(counts()->live_processes, 2);
}

static void test_sample_without_frames(void **state)
{
	struct sample_bytes record = make_sample(30, task(10, 10, 0));

	record.sample.kernel_count = record.sample.user_count = 0;
	record.sample.hdr.size = sizeof(struct gb_sample);
	records_apply(world.records, &record, record.sample.hdr.size);
	assert_int_equal(listen(image_of(10, 0)).last.stack, STACK_NODE_NONE);
	assert_int_equal(counts()->samples, 1);
}

static void test_deepest_sample(void **state)
{
	size_t frames = GB_MAX_KERNEL_FRAMES + GB_MAX_USER_FRAMES, i;
	size_t size = sizeof(struct gb_sample) + frames * sizeof(uint64_t);
	struct gb_sample *sample = calloc(1, size);

	assert_non_null(sample);
	*sample = make_sample(30, task(10, 10, 0)).sample;
	sample->hdr.size = (uint32_t)size;
	sample->kernel_count = GB_MAX_KERNEL_FRAMES;
	sample->user_count = GB_MAX_USER_FRAMES;
	for (i = 0; i < frames; i++)
		sample->pc[i] = i * 0x123456789;
	records_apply(world.records, sample, size);
	assert_int_equal(counts()->samples, 1);
	/* As many frames, divided otherwise. */
	sample->kernel_count++;
	sample->user_count--;
	records_apply(world.records, sample, size);
	assert_int_equal(counts()->samples, 1);
	assert_int_equal(counts()->bad_records, 1);
	free(sample);
}

/* ---- records that mean nothing -------------------------------------------------------------------------------- */

static void assert_bad(const void *record, size_t size)
{
	uint64_t before = counts()->bad_records;
	char *exact = malloc(size ? size : 1); /* a read beyond its end is found */

	assert_non_null(exact);
	memcpy(exact, record, size);
	records_apply(world.records, exact, size);
	free(exact);
	assert_int_equal(counts()->bad_records, before + 1);
}

static void test_bad_headers(void **state)
{
	struct gb_task_event event = event_of(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	size_t size;
	uint32_t kind;

	for (size = 0; size < sizeof(event); size++) {
		assert_bad(&event, size); /* another size than it says */
		event.hdr.size = (uint32_t)size;
		assert_bad(&event, size); /* too short for its kind */
		event.hdr.size = sizeof(event);
	}
	for (kind = 0; kind <= UINT16_MAX; kind++) {
		if (kind >= GB_RECORD_SAMPLE && kind <= RECORD_IMAGE)
			continue;
		event.hdr.kind = (uint16_t)kind;
		assert_bad(&event, sizeof(event));
	}
	assert_int_equal(processes_count(world.processes), 0);
}

static void test_bad_events(void **state)
{
	static const uint32_t whats[] = {0, GB_TASK_EXIT + 1, UINT32_MAX};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct gb_task_event event = event_of(whats[i], 1, task(10, 10, 0), "a");

		assert_bad(&event, sizeof(event));
	}
	assert_int_equal(processes_count(world.processes), 0);
}

static void test_bad_samples(void **state)
{
	struct sample_bytes good = make_sample(30, task(10, 10, 0)), bad = good;

	bad.sample.user_count = 3;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.user_count = 1;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.user_count = 65535;
	bad.sample.kernel_count = 65535;
	assert_bad(&bad, bad.sample.hdr.size);
	bad = good;
	bad.sample.hdr.size += 4;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.hdr.size = sizeof(struct gb_sample) - 8;
	assert_bad(&bad, bad.sample.hdr.size);
	assert_int_equal(processes_count(world.processes), 0);
	assert_int_equal(counts()->samples, 0);
}

struct map_bytes {
	struct map_record map;
	char path[8];
};

static void test_bad_maps(void **state)
{
	const struct map_bytes good = {
		.map = {.hdr = {.kind = RECORD_MAP, .size = sizeof(struct map_record) + 3},
			.tgid = 10,
			.start = 1,
			.end = 2},
		.path = "/a",
	};
	struct map_bytes bad = good;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	bad.path[2] = 'x'; /* no NUL */
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.end = bad.map.start;
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.build_id.size = BUILD_ID_MAX_BYTES + 1;
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.hdr.size = sizeof(struct map_record); /* no path */
	assert_bad(&bad, bad.map.hdr.size);
	bad.map.hdr.kind = RECORD_IMAGE;
	bad.map.hdr.size--;
	assert_bad(&bad, bad.map.hdr.size);
	assert_int_equal(image_of(10, 0)->space.count, 0);
	records_apply(world.records, &good, good.map.hdr.size);
	assert_int_equal(image_of(10, 0)->space.count, 1);
}

/* ---- no memory ---------------------------------------------------------------------------------------------------- */

/* One of everything. */
static void tell_story(void)
{
	uint32_t i;

	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "shell");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/sh");
	tell_fork(3, task(10, 10, 1), task(20, 20, 1), "shell");
	tell_sample(4, task(20, 20, 1));
	tell_exec(10, 20, 2, "program", "/nonexistent/program");
	for (i = 0; i < 10; i++)
		tell_fork(20, task(20, 20, 2), task(20, 21 + i, 2), "worker");
	tell_sample(25, task(20, 25, 2));
	tell_exit(30, task(20, 20, 2), 1, 0);
}

static int live_in_want(void *context)
{
	size_t *losses = context;
	const struct records_counts *lost;
	int err = open_world(false);

	if (!err)
		err = records_expect(world.records, 10);
	if (!err) {
		tell_story();
		lost = counts();
		assert_int_equal(lost->bad_records, 0);
		assert_in_range(lost->samples + lost->put_failed + lost->no_memory, 2, 3);
		assert_true(lost->live_processes <= 3);
		*losses += lost->no_memory + lost->put_failed > 0;
		err = lost->no_memory || lost->put_failed ? -ENOMEM : 0;
	}
	close_world();
	return err;
}

/* A failed allocation costs what it was for, is counted, and nothing else comes of it. */
static void test_no_memory(void **state)
{
	size_t losses = 0, failed = alloc_fail_each(live_in_want, &losses);

	assert_true(losses > 30);
	assert_true(failed > losses);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup_world, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(test_unwanted_mappings),
		FRESH(test_expected_mappings),
		FRESH(test_all_mappings),
		FRESH(test_mapping_details),
		FRESH(test_sample),
		FRESH(test_sample_before_fork),
		FRESH(test_sample_without_frames),
		FRESH(test_deepest_sample),
		FRESH(test_bad_headers),
		FRESH(test_bad_events),
		FRESH(test_bad_samples),
		FRESH(test_bad_maps),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
