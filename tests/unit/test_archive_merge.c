/* SPDX-License-Identifier: BSD-2-Clause */
/* test_archive_merge.c - two recordings of one boot as one: what both have counts once, what either has is there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "alloc.h"
#include "archive/archive.h"
#include "base/shared_text.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#define MS 1000000ULL
#define NO_CPU UINT64_MAX
#define KERNEL 0xffffffff81000000ULL
#define MAX_SEEN 64

/* ---- recordings ------------------------------------------------------------------------ */

/* Closed by archive_close(), half-built or not. */
static int open_recording(struct archive *archive, uint64_t start_ns, uint64_t end_ns)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	int err;

	*archive = (struct archive){.kallsyms_fd = -1};
	archive->facts =
		(struct recording_facts){.start_ns = start_ns, .end_ns = end_ns, .interval_ns = MS};
	err = processes_open(&archive->processes);
	if (!err)
		err = objects_open(&archive->objects, 0);
	return err ? err : profile_memory_open(&archive->memory, &config);
}

static int try_thread(struct archive *archive, uint32_t tgid, uint32_t tid, struct thread **out)
{
	const struct gb_task task = {
		.tgid = tgid, .tid = tid, .start_ns = tid, .group_start_ns = tgid, .exec_id = 1};
	int err = processes_thread(archive->processes, &task, out);

	return err ? err : archive_need_buffer(archive, (*out)->process);
}

static struct thread *add_thread(struct archive *archive, uint32_t tgid, uint32_t tid)
{
	struct thread *thread;

	assert_int_equal(try_thread(archive, tgid, tid, &thread), 0);
	return thread;
}

static int try_put(const struct thread *thread, uint64_t time_ns)
{
	const struct frame frames[] = {{.value = 0x1000},
				       {.value = 0x1000 + time_ns % 7},
				       {.value = KERNEL, .kind = GB_FRAME_KERNEL}};
	const struct sample_entry entry = {.weight = 1,
					   .thread = thread->number,
					   .user_end = 1,
					   .time_ns = time_ns,
					   .cpu_ns = time_ns / 2,
					   .frames = frames,
					   .frame_count = time_ns % 2 ? 3 : 2};

	return profile_buffer_put_sample(thread->process->buffer, &entry);
}

static void put(const struct thread *thread, uint64_t time_ns)
{
	assert_int_equal(try_put(thread, time_ns), 0);
}

static struct archive early, late;

static int setup(void **state)
{
	if (open_recording(&early, 100 * MS, 200 * MS))
		return -1;
	return open_recording(&late, 100 * MS, 300 * MS);
}

static int teardown(void **state)
{
	archive_close(&early);
	archive_close(&late);
	return 0;
}

/* ---- what came of them ----------------------------------------------------------------- */

struct seen_node {
	struct frame frame;
	uint32_t prefix;
};

static struct {
	uint64_t times[MAX_SEEN];
	uint32_t threads[MAX_SEEN];
	size_t count;
	struct seen_node nodes[256];
	size_t node_count;
} seen;

static int on_restart(void *context)
{
	seen.node_count = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	assert_int_equal(node, seen.node_count);
	assert_true(seen.node_count < 256);
	seen.nodes[seen.node_count++] = (struct seen_node){*frame, prefix};
	return 0;
}

/* The stack is that which try_put() put at that time. */
static int on_sample(void *context, const struct sample_view *sample)
{
	const struct seen_node *node = &seen.nodes[sample->stack];

	assert_true(seen.count < MAX_SEEN);
	assert_int_equal(sample->user_end, 1);
	assert_true(sample->cpu_ns <= sample->time_ns / 2 &&
		    sample->time_ns / 2 - sample->cpu_ns < 1000);
	if (sample->time_ns % 2) {
		assert_true(frame_is(&node->frame, GB_FRAME_KERNEL) && node->frame.value == KERNEL);
		node = &seen.nodes[node->prefix];
	}
	assert_int_equal(node->frame.value, 0x1000 + sample->time_ns % 7);
	assert_true(frame_is(&node->frame, GB_FRAME_USER));
	node = &seen.nodes[node->prefix];
	assert_int_equal(node->frame.value, 0x1000);
	assert_int_equal(node->prefix, STACK_NODE_NONE);
	seen.times[seen.count] = sample->time_ns;
	seen.threads[seen.count++] = sample->thread;
	return 0;
}

static int try_look(const struct archive *archive, const struct process *process)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};
	int err;

	memset(&seen, 0, sizeof(seen));
	profile_memory_pause(archive->memory);
	err = profile_buffer_read(process->buffer, &visitor, NULL);
	profile_memory_resume(archive->memory);
	return err;
}

static void look(const struct archive *archive, const struct process *process)
{
	assert_int_equal(try_look(archive, process), 0);
}

/* The samples of a thread, in this order, 0 after the last. */
static void assert_times(const struct archive *archive, const struct thread *thread,
			 const uint64_t *times)
{
	size_t i;

	look(archive, thread->process);
	for (i = 0; i < seen.count; i++)
		if (seen.threads[i] == thread->number)
			assert_int_equal(seen.times[i], *times++);
	assert_int_equal(*times, 0);
}

#define TIMES(...)                                                                                 \
	(uint64_t[])                                                                               \
	{                                                                                          \
		__VA_ARGS__, 0                                                                     \
	}

static struct thread *find_thread(const struct archive *archive, uint32_t tgid, uint32_t tid)
{
	const struct process *process = processes_latest(archive->processes, tgid);
	size_t i;

	assert_non_null(process);
	for (i = 0; i < process->threads.count; i++)
		if (process->threads.items[i]->tid == tid)
			return process->threads.items[i];
	fail_msg("there is no thread %u", tid);
	return NULL;
}

/* ---- tests ----------------------------------------------------------------------------- */

/* Threads have other numbers in the later one, and one of them has no more samples there than in the earlier. */
static void test_overlap(void **state)
{
	struct thread *a = add_thread(&early, 42, 42), *b = add_thread(&early, 42, 43), *c, *x, *y;

	put(a, 110 * MS);
	put(b, 111 * MS + 1);
	put(a, 120 * MS + 3);
	put(b, 190 * MS);
	c = add_thread(&late, 42, 44);
	y = add_thread(&late, 42, 43);
	x = add_thread(&late, 42, 42);
	put(x, 110 * MS);
	put(y, 111 * MS + 1);
	put(x, 120 * MS + 3);
	put(c, 130 * MS);
	put(y, 190 * MS);
	put(x, 210 * MS + 1);
	put(x, 220 * MS);
	strcpy(x->name, "renamed");
	strcpy(a->name, "before");
	a->born_ns = 5;
	a->cpu_first_ns = 17;
	x->cpu_last_ns = 99;
	y->died_ns = 250 * MS;
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(processes_count(early.processes), 1);
	assert_int_equal(processes_thread_count(early.processes), 3);
	c = find_thread(&early, 42, 44);
	assert_times(&early, a, TIMES(110 * MS, 120 * MS + 3, 210 * MS + 1, 220 * MS));
	assert_times(&early, b, TIMES(111 * MS + 1, 190 * MS));
	assert_times(&early, c, TIMES(130 * MS));
	assert_string_equal(a->name, "renamed");
	assert_int_equal(a->born_ns, 5);
	assert_int_equal(a->cpu_first_ns, 17);
	assert_int_equal(a->cpu_last_ns, 99);
	assert_int_equal(b->died_ns, 250 * MS);
	/* It was there before the later recording began; when it was born nobody knows. */
	assert_int_equal(c->born_ns, 100 * MS);
	assert_int_equal(early.lost_blocks, 0);
}

/* A third one, and one that ended before the second: nothing of it is new. */
static void test_three(void **state)
{
	struct thread *a = add_thread(&early, 42, 42), *b = add_thread(&late, 42, 42);
	struct archive third;
	uint64_t i;

	put(a, 110 * MS);
	for (i = 11; i < 25; i++)
		put(b, i * 10 * MS);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(open_recording(&third, 150 * MS, 320 * MS), 0);
	b = add_thread(&third, 42, 42);
	put(b, 150 * MS);
	put(b, 240 * MS);
	put(b, 310 * MS);
	assert_int_equal(archive_merge(&early, &third, NULL), 0);
	archive_close(&third);
	assert_int_equal(open_recording(&third, 150 * MS, 200 * MS), 0);
	put(add_thread(&third, 42, 42), 151 * MS);
	assert_int_equal(archive_merge(&early, &third, NULL), 0);
	archive_close(&third);
	look(&early, a->process);
	assert_int_equal(seen.count, 15);
	for (i = 0; i < 14; i++)
		assert_int_equal(seen.times[i], (11 + i) * 10 * MS);
	assert_int_equal(seen.times[14], 310 * MS);
}

/* What a profile of the later one alone would leave out is not taken from it. */
static void test_cut_and_until(void **state)
{
	struct thread *a = add_thread(&early, 42, 42), *b = add_thread(&late, 42, 42), *c;
	struct thread other;

	put(a, 110 * MS);
	late.facts.start_ns = 250 * MS;
	late.facts.is_cut = true;
	late.facts.until_ns = 290 * MS;
	other = *b;
	other.number = 99; /* was forgotten, with all that it did */
	put(&other, 230 * MS);
	put(b, 240 * MS);
	put(b, 250 * MS);
	put(b, 290 * MS);
	put(b, 290 * MS + 1);
	c = add_thread(&late, 42, 50);
	c->cpu_first_ns = 7;
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_times(&early, a, TIMES(110 * MS, 250 * MS, 290 * MS));
	c = find_thread(&early, 42, 50);
	assert_int_equal(c->born_ns, 250 * MS);
	/* It was used before what is left of that recording. */
	assert_true(c->cpu_first_ns == NO_CPU);
	assert_int_equal(early.lost_blocks, 0);
}

static void map(struct archive *archive, struct process *process, const char *path, uint64_t start,
		uint64_t from_ns)
{
	struct object_sighting sighting = {.path = path, .inode = 9, .is_recorded = true};
	struct mapping mapping = {.start = start, .end = start + 0x1000, .from_ns = from_ns};

	assert_int_equal(objects_get(archive->objects, &sighting, &mapping.object), 0);
	assert_int_equal(address_space_add(&process->space, &mapping), 0);
}

static void assert_mapped(const struct process *process, uint64_t address, uint64_t time_ns,
			  const char *path)
{
	const struct mapping *mapping = address_space_find(&process->space, address, time_ns);

	assert_non_null(mapping);
	assert_string_equal(mapping->object->path, path);
}

static void test_mappings(void **state)
{
	struct process *a = add_thread(&early, 42, 42)->process;
	struct process *b = add_thread(&late, 42, 42)->process;

	map(&early, a, "/a", 0x1000, 0);
	map(&early, a, "/b", 0x2000, 0);
	map(&early, a, "/c", 0x1000, 150 * MS); /* in place of /a */
	map(&late, b, "/b", 0x2000, 0);
	map(&late, b, "/a", 0x1000, 0);
	map(&late, b, "/c", 0x1000, 150 * MS);
	map(&late, b, "/a", 0x1000, 220 * MS);
	map(&late, b, "/new", 0x3000, 230 * MS);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(objects_count(early.objects), 4);
	assert_int_equal(a->space.count, 5);
	assert_mapped(a, 0x1000, 110 * MS, "/a");
	assert_mapped(a, 0x1000, 160 * MS, "/c");
	assert_mapped(a, 0x1000, 220 * MS, "/a");
	assert_mapped(a, 0x2000, 110 * MS, "/b");
	assert_mapped(a, 0x3000, 230 * MS, "/new");
}

/* What the other recording says was there before it may have come in between. */
static void test_mappings_apart(void **state)
{
	struct process *a = add_thread(&early, 42, 42)->process;
	struct process *b = add_thread(&late, 42, 42)->process;

	late.facts.start_ns = 250 * MS;
	map(&early, a, "/a", 0x1000, 0);
	map(&late, b, "/b", 0x1000, 0);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_mapped(a, 0x1000, 249 * MS, "/a");
	assert_mapped(a, 0x1000, 250 * MS, "/b");
}

static struct process *add_life(struct archive *archive, uint32_t start, uint32_t life)
{
	const struct gb_task task = {
		.tgid = 42, .tid = 42, .start_ns = start, .group_start_ns = start};
	struct thread *thread;

	assert_int_equal(processes_thread(archive->processes, &task, &thread), 0);
	thread->process->life = life;
	return thread->process;
}

/* Images of one process id keep their names, or get one that nobody has. */
static void test_lives(void **state)
{
	struct process *a = add_life(&early, 10, 0), *b = add_life(&early, 20, 3), *c, *d;

	add_life(&late, 20, 0)->is_root = true;
	add_life(&late, 30, 0);
	add_life(&late, 40, 2);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(processes_count(early.processes), 4);
	assert_true(b->is_root);
	assert_false(a->is_root);
	assert_int_equal(a->life, 0);
	assert_int_equal(b->life, 3);
	c = processes_at(early.processes, 2);
	d = processes_at(early.processes, 3);
	assert_int_equal(c->key_ns, 30);
	assert_int_equal(c->life, 4);
	assert_int_equal(d->life, 2);
	assert_null(d->buffer);
}

/* Thread numbers that are none, stacks that could not have been put, times beyond all clocks. */
static void test_without_sense(void **state)
{
	struct thread *a = add_thread(&early, 42, 42), *b = add_thread(&late, 42, 42);
	struct thread other = *b, *mine;

	put(a, 110 * MS);
	other.number = 1000;
	put(&other, 210 * MS);
	put(b, 220 * MS);
	put(b, INT64_MAX + 1ULL);
	/* Known to `early` as one of another process. */
	mine = add_thread(&late, 42, 77);
	put(mine, 230 * MS);
	(void)add_thread(&early, 43, 77);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_times(&early, a, TIMES(110 * MS, 220 * MS));
	assert_int_equal(early.lost_blocks, 3);
}

static void test_damaged_blocks(void **state)
{
	static const uint8_t garbage[] = {0xff, 0xff, 0xff};
	struct thread *a = add_thread(&early, 42, 42), *b = add_thread(&late, 42, 42);

	put(a, 110 * MS);
	put(b, 220 * MS);
	assert_int_equal(profile_buffer_put_entry(b->process->buffer, garbage, sizeof(garbage)), 0);
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_times(&early, a, TIMES(110 * MS, 220 * MS));
	assert_int_equal(early.lost_blocks, 1);
}

static void test_kernel(void **state)
{
	int first = memfd_create("a", MFD_CLOEXEC), second = memfd_create("b", MFD_CLOEXEC);

	early.kallsyms_fd = first;
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(early.kallsyms_fd, first);
	late.kallsyms_fd = second;
	assert_int_equal(archive_merge(&early, &late, NULL), 0);
	assert_int_equal(early.kallsyms_fd, second);
	assert_int_equal(late.kallsyms_fd, first);
}

static int make_two(struct archive *a, struct archive *b)
{
	struct archive *const both[] = {a, b};
	struct thread *thread;
	uint64_t i, k;
	int err = 0;

	for (i = 0; i < 2 && !err; i++) {
		err = open_recording(both[i], 100 * MS, (2 + i) * 100 * MS);
		if (!err)
			err = try_thread(both[i], 42, 42, &thread);
		for (k = 0; k < 10 * (i + 1) && !err; k++)
			err = try_put(thread, 100 * MS + k * MS);
		if (!err)
			thread->process->cmdline = shared_text_new("a b", 3);
		if (!err && !thread->process->cmdline)
			err = -ENOMEM;
		if (!err)
			err = try_thread(both[i], 50 + (uint32_t)i, 50 + (uint32_t)i, &thread);
		if (!err)
			err = try_put(thread, 150 * MS);
	}
	return err;
}

static int attempt(void *context)
{
	struct archive a = {.kallsyms_fd = -1}, b = {.kallsyms_fd = -1};
	int err = make_two(&a, &b);

	if (!err)
		err = archive_merge(&a, &b, NULL);
	if (!err)
		err = try_look(&a, processes_latest(a.processes, 42));
	if (!err) {
		assert_int_equal(seen.count, 20);
		assert_int_equal(processes_count(a.processes), 3);
	}
	archive_close(&a);
	archive_close(&b);
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
		FRESH(test_overlap),        FRESH(test_three),
		FRESH(test_cut_and_until),  FRESH(test_mappings),
		FRESH(test_mappings_apart), FRESH(test_lives),
		FRESH(test_without_sense),  FRESH(test_damaged_blocks),
		FRESH(test_kernel),         cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
