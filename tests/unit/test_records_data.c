/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings and samples go where they belong; memory that is out is counted. */
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

/* ---- samples -------------------------------------------------------------------------------------------------- */

#define MAX_NODES (GB_MAX_KERNEL_FRAMES + GB_MAX_USER_WORDS + 1)

struct heard {
	uint64_t pcs[MAX_NODES];
	uint8_t kinds[MAX_NODES];
	uint32_t prefixes[MAX_NODES], nodes;
	struct sample_view last;
	size_t samples;
};

static int on_restart(void *context)
{
	((struct heard *)context)->nodes = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct heard *heard = context;

	assert_in_range(node, 0, MAX_NODES - 1);
	heard->pcs[node] = frame->value;
	heard->prefixes[node] = prefix;
	heard->kinds[node] = frame->kind;
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
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};
	struct heard heard = {0};

	assert_non_null(process->buffer);
	assert_int_equal(profile_buffer_read(process->buffer, &visitor, &heard), 0);
	return heard;
}

static void test_sample(void **state)
{
	struct heard heard;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell_sample(5000077, task(10, 11, 0));
	heard = listen(image_of(10, 0));
	assert_int_equal(heard.samples, 1);
	assert_int_equal(heard.last.thread, 1);
	assert_int_equal(heard.last.time_ns, 5000077);
	assert_int_equal(heard.last.cpu_ns, 77);
	assert_int_equal(heard.last.run_ns, 5000);
	assert_int_equal(heard.last.user_end, GB_STACK_COMPLETE);
	assert_int_equal(heard.nodes, 3);
	assert_int_equal(heard.last.stack, 2);
	assert_int_equal(heard.pcs[0], 0x401010); /* the root came last */
	assert_int_equal(heard.pcs[1], 0x401020);
	assert_true(heard.pcs[2] == 0xffffffff81000010);
	assert_int_equal(heard.prefixes[0], STACK_NODE_NONE);
	assert_int_equal(heard.prefixes[1], 0);
	assert_int_equal(heard.prefixes[2], 1);
	assert_int_equal(heard.kinds[1], GB_FRAME_USER);
	assert_int_equal(heard.kinds[2], GB_FRAME_KERNEL);
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

	record.sample.runs[0].words = record.sample.runs[1].words = 0;
	record.sample.hdr.size = sizeof(struct gb_sample);
	records_apply(world.records, &record, record.sample.hdr.size);
	assert_int_equal(listen(image_of(10, 0)).last.stack, STACK_NODE_NONE);
	assert_int_equal(counts()->samples, 1);
}

/* The user frames of the one sample of process 10, root first; its kernel frame is asserted. */
static struct heard users_of_sample(size_t count)
{
	struct heard heard = listen(image_of(10, 0));
	size_t i;

	assert_int_equal(heard.samples, 1);
	assert_int_equal(heard.nodes, count + 1);
	assert_int_equal(heard.last.stack, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(heard.kinds[i], !i && heard.pcs[0] < GB_STACK_END_COUNT
							 ? GB_FRAME_TRUNCATED
							 : GB_FRAME_USER);
		assert_int_equal(heard.prefixes[i], i ? i - 1 : STACK_NODE_NONE);
	}
	assert_int_equal(heard.kinds[count], GB_FRAME_KERNEL);
	assert_true(heard.pcs[count] == 0xffffffff81000010);
	return heard;
}

/* Whatever a frame's size is, its pc is the low 48 bits; the word after a far frame is a stack address. */
static void test_frame_words(void **state)
{
	static const uint64_t words[] = {
		FRAME(0xffffffffffff, 0),
		FRAME(0x401001, GB_FRAME_FAR),
		0x7ffffffff000,
		FRAME(0x401002, GB_FRAME_FAR),
		FRAME(0x401bad, GB_FRAME_FAR), /* a stack address like no other */
		FRAME(0x401003, GB_FRAME_FAR - 1),
		FRAME(0x401004, 1),
	};
	static const uint64_t expected[] = {0x401004, 0x401003, 0x401002, 0x401001, 0xffffffffffff};
	const struct sample_bytes record = make_user_sample(GB_STACK_COMPLETE, words, 7);
	struct heard heard;

	tell_sample_bytes(&record);
	heard = users_of_sample(5);
	assert_memory_equal(heard.pcs, expected, sizeof(expected));
	assert_no_loss();
	/* Where the outermost frame ends, and where the outermost far one, 0x401002, begins. */
	assert_true(heard.last.stack_base ==
		    FRAME(0x401bad, GB_FRAME_FAR) + (GB_FRAME_FAR - 1 + 1) * 8);
	assert_true(heard.last.far_sp == 0x7ffffffff000);
}

/* What called nothing is of another kind, and has its size all the same. */
static void test_kinds_of_user_frames(void **state)
{
	static const uint8_t hows[] = {GB_FRAME_HOW_LEAF, GB_FRAME_HOW_CALLER, GB_FRAME_HOW_SIGNAL,
				       GB_FRAME_HOW_INTERRUPTED};
	static const uint8_t kinds[] = {GB_FRAME_INTERRUPTED, GB_FRAME_SIGNAL, GB_FRAME_USER,
					GB_FRAME_USER};
	uint64_t words[4];
	struct sample_bytes record;
	struct heard heard;
	uint32_t i;

	for (i = 0; i < 4; i++)
		words[i] = FRAME(0x401000 + i, 0x1000 | (uint64_t)hows[i] << GB_FRAME_SIZE_BITS);
	record = make_user_sample(GB_STACK_COMPLETE, words, 4);
	record.sample.user_sp = 0x7ffc00000000;
	tell_sample_bytes(&record);
	heard = listen(image_of(10, 0));
	assert_int_equal(heard.nodes, 5);
	for (i = 0; i < 4; i++) {
		assert_int_equal(heard.pcs[i], 0x401003 - i);
		assert_int_equal(heard.kinds[i], kinds[i]);
	}
	assert_true(heard.last.stack_base == 0x7ffc00000000 + 4 * 0x1000 * 8);
}

/* Runs come in any order, and each word is a frame of its run's kind. */
static void test_runs(void **state)
{
	static const uint8_t kinds[] = {GB_FRAME_KERNEL, GB_FRAME_USER, GB_FRAME_KERNEL};
	struct sample_bytes record = make_sample(30, task(10, 10, 0));
	struct heard heard;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		record.sample.runs[i + 1] = (struct gb_frame_run){kinds[i], 1};
		record.pc[i] = 0x401000 + i;
	}
	record.sample.runs[0].words = 0;
	record.sample.event = 3;
	record.sample.weight = -1000;
	tell_sample_bytes(&record);
	heard = listen(image_of(10, 0));
	assert_int_equal(heard.nodes, 3);
	assert_int_equal(heard.last.event, 3);
	assert_true(heard.last.weight == -1000);
	for (i = 0; i < 3; i++) {
		assert_int_equal(heard.pcs[i], 0x401002 - i);
		assert_int_equal(heard.kinds[i], kinds[2 - i]);
	}
	assert_no_loss();
	record.sample.runs[0].kind = GB_FRAME_KIND_COUNT;
	tell_sample_bytes(&record);
	assert_int_equal(counts()->bad_records, 1);
}

/* A far frame whose stack address is missing; what is behind the record is not read. */
static void test_far_frame_at_the_end(void **state)
{
	static const uint64_t words[] = {FRAME(0x401001, 2), FRAME(0x401002, GB_FRAME_FAR)};
	const struct sample_bytes record = make_user_sample(GB_STACK_READ_FAILED, words, 2);
	size_t size = record.sample.hdr.size;
	char *exact = malloc(size);
	struct heard heard;

	assert_non_null(exact);
	memcpy(exact, &record, size);
	records_apply(world.records, exact, size);
	free(exact);
	heard = users_of_sample(3);
	assert_int_equal(heard.pcs[0], GB_STACK_READ_FAILED);
	assert_int_equal(heard.kinds[0], GB_FRAME_TRUNCATED);
	assert_int_equal(heard.pcs[1], 0x401002);
	assert_int_equal(heard.pcs[2], 0x401001);
}

/* A stack that ended early hangs on a root that says why. */
static void test_missing_roots(void **state)
{
	static const bool is_early[GB_STACK_END_COUNT] = {
		[GB_STACK_FAILED] = true,      [GB_STACK_FULL] = true,
		[GB_STACK_NO_PROCESS] = true,  [GB_STACK_NO_MAPPING] = true,
		[GB_STACK_NO_RULE] = true,     [GB_STACK_FP_FAILED] = true,
		[GB_STACK_READ_FAILED] = true, [GB_STACK_NOT_MONOTONIC] = true,
		[GB_STACK_COMPAT32] = true,    [GB_STACK_NOT_TAKEN] = true,
	};
	static const uint64_t words[] = {FRAME(0x401001, 2), FRAME(0x401002, 2)};
	uint8_t end;

	for (end = 0; end < GB_STACK_END_COUNT; end++) {
		const struct sample_bytes record = make_user_sample(end, words, 2);
		struct heard heard;

		close_world();
		assert_int_equal(open_world(false), 0);
		tell_sample_bytes(&record);
		heard = users_of_sample(is_early[end] ? 3 : 2);
		assert_int_equal(heard.last.user_end, end);
		assert_int_equal(heard.pcs[0], is_early[end] ? end : 0x401002);
		assert_int_equal(heard.pcs[is_early[end] ? 2 : 1], 0x401001);
		assert_no_loss();
	}
}

/* Nothing but the reason. */
static void test_root_alone(void **state)
{
	const struct sample_bytes record = make_user_sample(GB_STACK_COMPAT32, NULL, 0);

	tell_sample_bytes(&record);
	assert_int_equal(users_of_sample(1).pcs[0], GB_STACK_COMPAT32);
}

static struct gb_sample *make_deepest(uint16_t kind, size_t user_words)
{
	size_t frames = GB_MAX_KERNEL_FRAMES + user_words, i;
	size_t size = sizeof(struct gb_sample) + frames * sizeof(uint64_t);
	struct gb_sample *sample = calloc(1, size);

	assert_non_null(sample);
	*sample = make_sample(30, task(10, 10, 0)).sample;
	sample->hdr.kind = kind;
	sample->hdr.size = (uint32_t)size;
	sample->runs[0].words = GB_MAX_KERNEL_FRAMES;
	sample->runs[1].words = (uint16_t)user_words;
	sample->user_end = GB_STACK_FULL;
	for (i = 0; i < frames; i++)
		sample->pc[i] = i * 0x123456789;
	return sample;
}

static void test_deepest_sample(void **state)
{
	struct gb_sample *sample = make_deepest(GB_RECORD_SAMPLE, GB_MAX_USER_WORDS);
	uint32_t size = sample->hdr.size, i;
	struct heard heard;

	records_apply(world.records, sample, size);
	assert_int_equal(counts()->samples, 1);
	heard = listen(image_of(10, 0));
	assert_int_equal(heard.nodes, MAX_NODES);
	assert_int_equal(heard.pcs[0], GB_STACK_FULL);
	assert_int_equal(heard.kinds[0], GB_FRAME_TRUNCATED);
	for (i = 1; i < MAX_NODES; i++)
		assert_int_equal(heard.pcs[i], (MAX_NODES - 1 - i) * 0x123456789);
	assert_int_equal(heard.kinds[GB_MAX_USER_WORDS], GB_FRAME_USER);
	assert_int_equal(heard.kinds[GB_MAX_USER_WORDS + 1], GB_FRAME_KERNEL);
	/* As many frames, divided otherwise. */
	sample->runs[0].words++;
	sample->runs[1].words--;
	records_apply(world.records, sample, size);
	sample->runs[0].words -= 2;
	sample->runs[1].words += 2;
	records_apply(world.records, sample, size);
	assert_int_equal(counts()->samples, 1);
	assert_int_equal(counts()->bad_records, 2);
	free(sample);
}

/* ---- raw samples ---------------------------------------------------------------------------------------------- */

/* Without anyone who knows mappings: the kernel's frames, and why there are no others. */
static void test_raw_without_listener(void **state)
{
	const struct sample_bytes record = make_raw(5000077, task(10, 11, 0));
	struct heard heard;

	tell_sample_bytes(&record);
	heard = listen(thread_of(task(10, 11, 0))->process);
	assert_int_equal(heard.samples, 1);
	assert_int_equal(heard.last.thread, 0);
	assert_int_equal(heard.last.time_ns, 5000077);
	assert_int_equal(heard.last.cpu_ns, 77);
	assert_int_equal(heard.last.run_ns, 5000);
	assert_int_equal(heard.last.user_end, GB_STACK_NO_PROCESS);
	assert_int_equal(heard.nodes, 2);
	assert_int_equal(heard.pcs[0], GB_STACK_NO_PROCESS);
	assert_int_equal(heard.kinds[0], GB_FRAME_TRUNCATED);
	assert_true(heard.pcs[1] == 0xffffffff81000010);
	assert_int_equal(counts()->samples, 1);
	assert_no_loss();
}

/* Stands for publisher_unwind(). */
struct unwinder {
	const struct process *process;
	const struct gb_sample *raw;
	const struct sample_bytes *answer;
	size_t calls;
};

static bool answer_raw(void *context, const struct process *process, const struct gb_sample *raw,
		       struct gb_sample *out, uint32_t *awaited)
{
	struct unwinder *unwinder = context;

	unwinder->process = process;
	unwinder->raw = raw;
	unwinder->calls++;
	memcpy(out, unwinder->answer, sizeof(*unwinder->answer));
	return true;
}

static void test_raw_with_listener(void **state)
{
	static const uint64_t words[] = {FRAME(0x402001, GB_FRAME_FAR), 0x7fff00000000,
					 FRAME(0x402002, 2)};
	const struct sample_bytes record = make_raw(30, task(10, 10, 0));
	struct sample_bytes answer = make_user_sample(GB_STACK_COMPLETE, words, 3);
	struct unwinder unwinder = {.answer = &answer};
	struct heard heard;

	records_listen(world.records,
		       &(struct records_listener){.unwind = answer_raw, .context = &unwinder});
	tell_sample_bytes(&record);
	assert_int_equal(unwinder.calls, 1);
	assert_ptr_equal(unwinder.process, image_of(10, 0));
	assert_ptr_equal(unwinder.raw, &record.sample);
	heard = users_of_sample(2);
	assert_int_equal(heard.pcs[0], 0x402002);
	assert_int_equal(heard.pcs[1], 0x402001);
	assert_int_equal(heard.last.user_end, GB_STACK_COMPLETE);
	assert_int_equal(counts()->samples, 1);
	/* What it makes is checked like what the kernel sends. */
	answer.sample.runs[1].words++;
	tell_sample_bytes(&record);
	assert_int_equal(unwinder.calls, 2);
	assert_int_equal(counts()->samples, 1);
	assert_int_equal(counts()->bad_records, 1);
	/* An ordinary sample is none of its business. */
	tell_sample(40, task(10, 10, 0));
	assert_int_equal(unwinder.calls, 2);
	assert_int_equal(counts()->samples, 2);
}

/* A raw sample may be as long as its registers and its copy of the stack; an ordinary one may not. */
static void test_largest_raw(void **state)
{
	static const struct {
		uint16_t kind;
		size_t user_words;
		bool is_good;
	} rows[] = {
		{GB_RECORD_RAW, GB_RAW_REGS + GB_RAW_STACK_WORDS, true},
		{GB_RECORD_RAW, GB_RAW_REGS + GB_RAW_STACK_WORDS + 1, false},
		{GB_RECORD_RAW, 0, true},
		{GB_RECORD_SAMPLE, GB_MAX_USER_WORDS + 1, false},
	};
	size_t i, good = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gb_sample *sample = make_deepest(rows[i].kind, rows[i].user_words);

		records_apply(world.records, sample, sample->hdr.size);
		free(sample);
		good += rows[i].is_good;
		assert_int_equal(counts()->samples, good);
		assert_int_equal(counts()->bad_records, i + 1 - good);
	}
}

/* ---- no memory ---------------------------------------------------------------------------------------------------- */

/* One of everything. */
static void tell_story(void)
{
	const struct sample_bytes raw = make_raw(26, task(20, 26, 2));
	uint32_t i;

	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "shell");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/sh");
	tell_fork(3, task(10, 10, 1), task(20, 20, 1), "shell");
	tell_sample(4, task(20, 20, 1));
	tell_exec(10, 20, 2, "program", "/nonexistent/program");
	for (i = 0; i < 10; i++)
		tell_fork(20, task(20, 20, 2), task(20, 21 + i, 2), "worker");
	tell_sample(25, task(20, 25, 2));
	tell_sample_bytes(&raw);
	tell_exit(30, task(20, 20, 2), 1, 0);
}

/* Whether a buffer of a process that ended could not be cut down to what is in it: nothing is lost then but room. */
static bool is_room_wasted(void)
{
	return profile_memory_get_stats(world.memory).chunks.released_bytes >= 4096;
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
		records_finish_ended(world.records);
		lost = counts();
		assert_int_equal(lost->bad_records, 0);
		assert_in_range(lost->samples + lost->put_failed + lost->no_memory, 3, 4);
		assert_true(lost->live_processes <= 3);
		*losses += lost->no_memory + lost->put_failed > 0;
		err = lost->no_memory || lost->put_failed || is_room_wasted() ? -ENOMEM : 0;
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
		FRESH(test_sample),
		FRESH(test_sample_before_fork),
		FRESH(test_sample_without_frames),
		FRESH(test_kinds_of_user_frames),
		FRESH(test_runs),
		FRESH(test_frame_words),
		FRESH(test_far_frame_at_the_end),
		FRESH(test_missing_roots),
		FRESH(test_root_alone),
		FRESH(test_deepest_sample),
		FRESH(test_raw_without_listener),
		FRESH(test_raw_with_listener),
		FRESH(test_largest_raw),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
