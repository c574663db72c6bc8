/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_damage.c - profile buffers of which some bytes make no sense: what is lost is counted, exactly, and nothing else is
 * lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "archive/archive.h"
#include "base/fd.h"
#include "buffer/chunk_codec.h"
#include "buffer/chunked_buffer.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"
#include "fake_codec.h"

#define CHUNK 4096
#define SAMPLES 4000
#define MS 1000000ULL
#define DEPTH 4
#define MAX_NODES 65536
#define MAX_CHUNKS 64

struct scene {
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct chunk *chunks
		[MAX_CHUNKS]; /* all but the newest, oldest first, as they are in the buffer */
	uint64_t before[MAX_CHUNKS + 1]; /* samples in the chunks before it */
	size_t chunk_count;
};

/* ---- what is recorded ------------------------------------------------------------- */

/* The frame of the sample at depth `at`. */
static uint64_t frame_of(uint64_t number, unsigned int at)
{
	return 0x400000 + at * 0x10000 + number * (at + 3) / 7 % (17 + at * 13) * 16;
}

static int put_sample(struct profile_buffer *buffer, uint64_t number)
{
	struct frame frames[DEPTH];
	const struct sample_entry sample = {
		.weight = 1,
		.thread = (uint32_t)(number % 3),
		.time_ns = (number + 1) * MS,
		.frames = frames,
		.frame_count = DEPTH,
	};
	unsigned int at;

	for (at = 0; at < DEPTH; at++)
		frames[at] = (struct frame){.value = frame_of(number, at)};
	return profile_buffer_put_sample(buffer, &sample);
}

static void open_scene(struct scene *scene, const struct chunk_expander *expander)
{
	const struct profile_memory_config config = {
		.max_bytes = 1 << 20,
		.cache_bytes = 1 << 16,
		.chunk_first_bytes = CHUNK,
		.chunk_max_bytes = CHUNK,
		.expander = expander,
	};
	struct profile_buffer_config buffer = {.process_id = 42, .period_ns = MS};
	uint64_t number;

	memset(scene, 0, sizeof(*scene));
	assert_int_equal(profile_memory_open(&scene->memory, &config), 0);
	buffer.memory = scene->memory;
	assert_int_equal(profile_buffer_open(&scene->buffer, &buffer), 0);
	for (number = 0; number < SAMPLES; number++)
		assert_int_equal(put_sample(scene->buffer, number), 0);
}

static void close_scene(struct scene *scene)
{
	profile_buffer_close(scene->buffer);
	profile_memory_close(scene->memory);
}

/* Newest first comes what is to be compressed. */
static void note_chunk(struct scene *scene, struct chunk *chunk)
{
	assert_true(scene->chunk_count < MAX_CHUNKS);
	memmove(scene->chunks + 1, scene->chunks, scene->chunk_count * sizeof(*scene->chunks));
	scene->chunks[0] = chunk;
	scene->chunk_count++;
}

static void finish_chunks(struct scene *scene)
{
	size_t n;

	assert_true(scene->chunk_count > 4);
	for (n = 0; n < scene->chunk_count; n++) {
		const struct chunk_header *header = &scene->chunks[n]->header;

		assert_true(!n || header->range_start > scene->chunks[n - 1]->header.range_start);
		scene->before[n + 1] = scene->before[n] + header->block_count;
	}
	assert_true(scene->before[n] < SAMPLES);
}

/* Does as the compressor does, with `compress`; NULL: nothing becomes smaller. */
static void take_chunks(struct scene *scene, struct chunk *(*compress)(const struct chunk *done))
{
	struct chunk_store *store = profile_memory_store(scene->memory);
	struct chunk *chunk;

	while ((chunk = chunk_store_borrow(store, false)) != NULL) {
		struct chunk *twin = compress ? compress(chunk) : NULL;

		note_chunk(scene, twin ? twin : chunk);
		chunk_store_return(store, chunk, twin);
	}
	finish_chunks(scene);
}

/* ---- what is read ------------------------------------------------------------------- */

/* Who reads; each sample that comes must be as it was put. */
struct listener {
	struct {
		uint64_t pc;
		uint32_t prefix;
	} nodes[MAX_NODES];
	uint32_t node_count;
	bool is_strict; /* nothing comes that was not put */
	uint64_t refuse; /* the sample of this number; UINT64_MAX: none */
	uint8_t heard[SAMPLES];
	uint64_t count;
};

static struct listener listener;

static int on_restart(void *context)
{
	listener.node_count = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	if (node != listener.node_count || node >= MAX_NODES)
		return -EBADMSG;
	listener.nodes[node].pc = frame->value;
	listener.nodes[node].prefix = prefix;
	listener.node_count++;
	return 0;
}

static void check_sample(const struct sample_view *sample)
{
	uint64_t number = sample->time_ns / MS - 1;
	uint32_t node = sample->stack;
	unsigned int at;

	assert_int_equal(sample->time_ns % MS, 0);
	assert_in_range(number, 0, SAMPLES - 1);
	assert_int_equal(sample->thread, number % 3);
	for (at = DEPTH; at-- > 0; node = listener.nodes[node].prefix) {
		assert_true(node < listener.node_count);
		assert_int_equal(listener.nodes[node].pc, frame_of(number, at));
	}
	assert_int_equal(node, STACK_NODE_NONE);
	listener.heard[number]++;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	if (listener.is_strict && sample->time_ns == (listener.refuse + 1) * MS)
		return -EBADMSG;
	listener.count++;
	if (listener.is_strict)
		check_sample(sample);
	return 0;
}

static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};

static int read_all(struct profile_buffer *buffer, bool is_strict, uint64_t refuse)
{
	memset(&listener, 0, sizeof(listener));
	listener.is_strict = is_strict;
	listener.refuse = refuse;
	return profile_buffer_read(buffer, &visitor, NULL);
}

static uint64_t damaged(const struct profile_buffer *buffer)
{
	return profile_buffer_get_state(buffer).damaged;
}

/* All but the samples [from, to) come, once each, and those are counted. */
static void assert_lost(struct profile_buffer *buffer, uint64_t from, uint64_t to)
{
	uint64_t number;

	assert_int_equal(read_all(buffer, true, UINT64_MAX), 0);
	for (number = 0; number < SAMPLES; number++)
		assert_int_equal(listener.heard[number], number < from || number >= to);
	assert_int_equal(damaged(buffer), to - from);
}

/* The first sample of which a chunk has bytes. */
static uint64_t first_in(const struct scene *scene, size_t n)
{
	return scene->before[n] - (scene->chunks[n]->header.offset_first_block > 0);
}

/* ---- tests ------------------------------------------------------------------------------ */

static void a_chunk_that_cannot_be_expanded_costs_its_samples(void **state)
{
	struct scene scene;
	size_t n;

	open_scene(&scene, &fake_expander);
	take_chunks(&scene, fake_compress);
	assert_lost(scene.buffer, 0, 0);
	for (n = 0; n < scene.chunk_count; n++) {
		scene.chunks[n]->bytes[0] = 0;
		assert_lost(scene.buffer, first_in(&scene, n), scene.before[n + 1]);
		scene.chunks[n]->bytes[0] = FAKE_INTACT;
	}
	assert_lost(scene.buffer, 0, 0);
	close_scene(&scene);
}

/* The position of block `n` of the chunk. */
static uint8_t *block_at(const struct chunk *chunk, uint64_t n)
{
	uint8_t *at = (uint8_t *)chunk->bytes + chunk->header.offset_first_block;

	for (; n; n--) {
		assert_true(*at && *at < 0x80);
		at += 1 + *at;
	}
	return at;
}

static void a_block_without_size_costs_the_rest_of_its_chunk(void **state)
{
	struct scene scene;
	size_t n;

	open_scene(&scene, NULL);
	take_chunks(&scene, NULL);
	for (n = 0; n < scene.chunk_count; n++) {
		uint64_t block = scene.chunks[n]->header.block_count / 2;
		uint8_t *size = block_at(scene.chunks[n], block), was = *size;

		*size = 0;
		assert_lost(scene.buffer, scene.before[n] + block, scene.before[n + 1]);
		*size = was;
	}
	assert_lost(scene.buffer, 0, 0);
	close_scene(&scene);
}

static void an_entry_that_makes_no_sense_costs_what_depends_on_it(void **state)
{
	struct scene scene;
	size_t n;

	open_scene(&scene, NULL);
	take_chunks(&scene, NULL);
	for (n = 0; n < scene.chunk_count; n++) {
		uint64_t block = scene.chunks[n]->header.block_count / 3;
		uint8_t *kind = block_at(scene.chunks[n], block) + 1, was = *kind;

		*kind = 0; /* of no kind: up to the next restart, which is in the next chunk */
		assert_lost(scene.buffer, scene.before[n] + block, scene.before[n + 1]);
		*kind = was;
	}
	close_scene(&scene);
}

static void a_sample_that_the_reader_refuses_is_lost_alone(void **state)
{
	struct scene scene;

	open_scene(&scene, NULL);
	assert_int_equal(read_all(scene.buffer, true, 1234), 0);
	assert_int_equal(listener.count, SAMPLES - 1);
	assert_int_equal(listener.heard[1234], 0);
	assert_int_equal(damaged(scene.buffer), 1);
	assert_lost(scene.buffer, 0, 0);
	close_scene(&scene);
}

/* Entries from elsewhere need not restart where their chunk begins: what follows a gap is not understood until one does. */
static int put_again(void *context, uint64_t next, const uint8_t *bytes, size_t size)
{
	return profile_buffer_put_entry(context, bytes, size);
}

static void what_follows_a_gap_waits_for_a_restart(void **state)
{
	struct scene from, to;
	uint64_t lost_blocks;
	size_t n;

	open_scene(&from, NULL);
	open_scene(&to, &fake_expander);
	take_chunks(&from, NULL);
	profile_buffer_close(to.buffer);
	assert_int_equal(
		profile_buffer_open(&to.buffer, &(struct profile_buffer_config){to.memory, 42, MS}),
		0);
	/* So that chunks do not begin where they did. */
	assert_int_equal(
		profile_buffer_put_entry(to.buffer, (const uint8_t *)"\x8b\x01\x00\x01", 4), 0);
	assert_int_equal(profile_buffer_each(from.buffer, 0, put_again, to.buffer), 0);
	take_chunks(&to, fake_compress);
	assert_int_equal(read_all(to.buffer, true, (uint64_t)-1), 0);
	assert_int_equal(listener.count, SAMPLES);
	for (n = 1; n < to.chunk_count; n++) {
		to.chunks[n]->bytes[0] = 0;
		lost_blocks = to.before[n + 1] - first_in(&to, n);
		/* Strict: nothing comes out wrong. The first one is not of ours. */
		assert_int_equal(read_all(to.buffer, true, (uint64_t)-1), 0);
		assert_true(damaged(to.buffer) >= lost_blocks);
		assert_int_equal(listener.count + damaged(to.buffer), SAMPLES + 1);
		to.chunks[n]->bytes[0] = FAKE_INTACT;
	}
	close_scene(&from);
	close_scene(&to);
}

static int count_entry(void *context, uint64_t next, const uint8_t *bytes, size_t size)
{
	++*(uint64_t *)context;
	return 0;
}

static void entries_that_are_copied_are_counted_as_well(void **state)
{
	struct scene scene;
	uint64_t count = 0;

	open_scene(&scene, &fake_expander);
	take_chunks(&scene, fake_compress);
	scene.chunks[2]->bytes[0] = 0;
	assert_int_equal(profile_buffer_each(scene.buffer, 0, count_entry, &count), 0);
	assert_int_equal(count, SAMPLES - (scene.before[3] - first_in(&scene, 2)));
	assert_int_equal(damaged(scene.buffer), SAMPLES - count);
	/* From behind the damage on there is none. */
	count = 0;
	assert_int_equal(profile_buffer_each(scene.buffer, scene.chunks[4]->header.range_start,
					     count_entry, &count),
			 0);
	assert_int_equal(count, SAMPLES - scene.before[4]);
	assert_int_equal(damaged(scene.buffer), 0);
	close_scene(&scene);
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

/* Whatever the bytes are, all is read that can be, and no more is counted than there was. */
static void random_damage_is_no_error(void **state)
{
	struct scene scene;
	uint32_t random = 5;
	size_t round, n;

	open_scene(&scene, NULL);
	take_chunks(&scene, NULL);
	for (round = 0; round < 300; round++) {
		uint8_t copy[CHUNK];
		struct chunk *chunk =
			scene.chunks[next_random(&random) % (uint32_t)scene.chunk_count];

		memcpy(copy, chunk->bytes, chunk->header.buffer_bytes);
		for (n = 0; n < 1 + round % 20; n++)
			chunk->bytes[next_random(&random) % chunk->header.buffer_bytes] ^=
				(uint8_t)(1 + next_random(&random) % 255);
		assert_int_equal(read_all(scene.buffer, false, UINT64_MAX), 0);
		assert_true(listener.count >= SAMPLES - chunk->header.block_count - 1);
		assert_true(damaged(scene.buffer) <= 2 * CHUNK);
		memcpy(chunk->bytes, copy, chunk->header.buffer_bytes);
	}
	assert_lost(scene.buffer, 0, 0);
	close_scene(&scene);
}

static struct chunk_codec *codec;

static int expand(void *context, const struct chunk *compressed, uint8_t *out)
{
	return chunk_expand(codec, compressed, out);
}

static const struct chunk_expander real_expander = {expand, NULL};

static struct chunk *compress(const struct chunk *done)
{
	struct chunk *twin = NULL;

	assert_int_equal(chunk_compress(codec, done, &twin), 0);
	return twin;
}

static void random_damage_of_what_is_compressed_is_no_error(void **state)
{
	struct scene scene;
	uint32_t random = 6;
	size_t round, n;
	unsigned int noticed = 0;

	assert_int_equal(chunk_codec_open(&codec, CHUNK, CODEC_WRITE), 0);
	open_scene(&scene, &real_expander);
	take_chunks(&scene, compress);
	assert_lost(scene.buffer, 0, 0);
	for (round = 0; round < 300; round++) {
		uint8_t copy[CHUNK];
		struct chunk *chunk =
			scene.chunks[next_random(&random) % (uint32_t)scene.chunk_count];
		uint32_t size = chunk->header.stored_bytes;

		memcpy(copy, chunk->bytes, size);
		for (n = 0; n < 1 + round % 20; n++)
			chunk->bytes[next_random(&random) % size] ^=
				(uint8_t)(1 + next_random(&random) % 255);
		assert_int_equal(read_all(scene.buffer, false, UINT64_MAX), 0);
		assert_true(listener.count >= SAMPLES - chunk->header.block_count - 1);
		noticed += damaged(scene.buffer) > 0;
		memcpy(chunk->bytes, copy, size);
	}
	assert_true(noticed > 200);
	assert_lost(scene.buffer, 0, 0);
	close_scene(&scene);
	chunk_codec_close(codec);
}

/* ---- the raw capture --------------------------------------------------------------------- */

static int write_to_file(void *context, const void *bytes, size_t size)
{
	return fd_write_all(*(const int *)context, bytes, size);
}

/* The value that a capture of the scene logs of its damage; UINT64_MAX: none. */
static uint64_t logged_damage(struct scene *scene)
{
	static const char *const none[] = {NULL};
	static const struct recording_fact other = {.name = "other", .value = 1};
	const struct recording_facts facts = {.end_ns = MS,
					      .interval_ns = MS,
					      .threads = none,
					      .features = none,
					      .log = &other,
					      .log_count = 1};
	const struct gb_task task = {.tgid = 42, .tid = 42};
	struct recording recording = {.facts = &facts};
	int fd = memfd_create("capture", MFD_CLOEXEC);
	const struct section_sink sink = {write_to_file, &fd};
	struct section_writer *writer;
	struct archive archive;
	struct thread *thread;
	uint64_t value = UINT64_MAX;

	assert_int_equal(processes_open(&recording.processes), 0);
	assert_int_equal(objects_open(&recording.objects, 0), 0);
	assert_int_equal(processes_thread(recording.processes, &task, &thread), 0);
	thread->process->buffer = scene->buffer;
	assert_int_equal(section_writer_open(&writer, &sink), 0);
	assert_int_equal(archive_write(writer, &recording, NULL, NULL), 0);
	section_writer_close(writer);
	processes_close(recording.processes);
	objects_close(recording.objects);
	assert_int_equal(archive_read(&archive, fd, NULL), 0);
	assert_string_equal(archive.facts.log[0].name, "other");
	if (archive.facts.log_count == 2) {
		assert_string_equal(archive.facts.log[1].name, "capture_samples_lost_damaged");
		value = archive.facts.log[1].value;
	}
	archive_close(&archive);
	close(fd);
	return value;
}

static void a_raw_capture_says_what_it_lacks(void **state)
{
	struct scene scene;

	open_scene(&scene, &fake_expander);
	take_chunks(&scene, fake_compress);
	assert_int_equal(logged_damage(&scene), UINT64_MAX);
	scene.chunks[1]->bytes[0] = 0;
	assert_int_equal(logged_damage(&scene), scene.before[2] - first_in(&scene, 1));
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chunk_that_cannot_be_expanded_costs_its_samples),
		cmocka_unit_test(a_block_without_size_costs_the_rest_of_its_chunk),
		cmocka_unit_test(an_entry_that_makes_no_sense_costs_what_depends_on_it),
		cmocka_unit_test(a_sample_that_the_reader_refuses_is_lost_alone),
		cmocka_unit_test(what_follows_a_gap_waits_for_a_restart),
		cmocka_unit_test(entries_that_are_copied_are_counted_as_well),
		cmocka_unit_test(random_damage_is_no_error),
		cmocka_unit_test(random_damage_of_what_is_compressed_is_no_error),
		cmocka_unit_test(a_raw_capture_says_what_it_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
