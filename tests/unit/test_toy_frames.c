/* SPDX-License-Identifier: BSD-2-Clause */
/* A kind of frame is a file and a row of a table: a toy one is in a recording, and in each format with its name and category. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <link.h>
#include <linux/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/output.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "format/folded.h"
#include "format/format.h"
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
#include "toy_frames.h"

#define ARCH "any"
#define PATH "/tmp/test_toy_frames.json"

int main(void);

#include "profile_fixture.h"

static const struct frame_kind *const kinds[] = {&user_frames, &kernel_frames, &toy_frames, NULL};

/* Beside the others, a process with code of its own below two toys. */
static int setup_toys(void **state)
{
	const struct frame frames[] = {
		{.value = LIB + 0x101, .kind = GB_FRAME_USER},
		{.value = 7, .kind = TOY_FRAME},
		{.value = 42, .kind = TOY_FRAME},
	};
	const struct sample_entry sample = {.weight = 1,
					    .time_ns = 1500 * MS,
					    .cpu_ns = MS,
					    .frames = frames,
					    .frame_count = 3,
					    .user_end = GB_STACK_COMPLETE};
	const struct mapping mapping = {LIB, LIB + 0x10000, 0, 0, &lib};
	struct process *process;

	if (setup(state))
		return -1;
	process = add_thread(10, 10, 0, "toybox")->process;
	add_buffer(process);
	if (address_space_add(&process->space, &mapping))
		return -1;
	return profile_buffer_put_sample(process->buffer, &sample);
}

static struct profile_input make_input(struct named_files *named_files)
{
	return (struct profile_input){.recording.facts = &facts,
				      .recording.processes = processes,
				      .named_files = named_files,
				      .filter.process = "toybox",
				      .frame_kinds = kinds};
}

/* ---- in the formats of the front-end ------------------------------------------------------------ */

/* With and without names: what is no code is not symbolized later. */
static json_t *read_profile(const char *format, bool is_named)
{
	struct profile_summary summary = {.top_count = 3};
	struct named_files *named_files = NULL;
	struct profile_input input;
	json_t *root;

	if (is_named)
		assert_int_equal(named_files_open(&named_files, NULL), 0);
	input = make_input(named_files);
	written_format = format_named(format);
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_int_equal(summary.top_count, 1);
	assert_string_equal(summary.top[0].function.name, "toy number 42");
	assert_int_equal(summary.unsymbolized, is_named);
	profile_summary_clear(&summary);
	named_files_close(named_files);
	root = json_load_file(PATH, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	assert_non_null(root);
	unlink(PATH);
	return root;
}

/* The value at keys and indexes such as "threads.0.stackTable". */
static json_t *at(json_t *value, const char *path)
{
	char key[32];
	int length;

	while (*path) {
		assert_int_equal(sscanf(path, "%31[^.]%n", key, &length), 1);
		value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
					     : json_object_get(value, key);
		if (!value)
			fail_msg("there is no %s", path);
		path += length + (path[length] == '.');
	}
	return value;
}

static size_t number_at(json_t *value, const char *path)
{
	return (size_t)json_number_value(at(value, path));
}

static const char *item_of(json_t *strings, size_t number)
{
	return json_string_value(json_array_get(strings, number));
}

static void expect_category(json_t *root, size_t category)
{
	json_t *categories = at(root, "meta.categories");

	assert_string_equal(json_string_value(at(json_array_get(categories, category), "name")),
			    "Idle");
}

static void expect_gecko(bool is_named)
{
	json_t *root = read_profile("gecko", is_named), *thread = at(root, "processes.0.threads.0");
	json_t *frames = at(thread, "frameTable"), *strings = at(thread, "stringTable");
	const size_t location = number_at(frames, "schema.location"),
		     category = number_at(frames, "schema.category");
	static const char *const names[] = {NULL, "toy number 7", "toy number 42"};
	size_t i;

	assert_int_equal(json_array_size(at(frames, "data")), 3);
	for (i = 1; i < 3; i++) {
		json_t *frame = json_array_get(at(frames, "data"), i);

		assert_string_equal(item_of(strings, (size_t)json_number_value(
							     json_array_get(frame, location))),
				    names[i]);
		expect_category(root, (size_t)json_number_value(json_array_get(frame, category)));
	}
	json_decref(root);
}

static void in_gecko(void **state)
{
	expect_gecko(true);
	expect_gecko(false);
}

static void expect_processed(bool is_named)
{
	json_t *root = read_profile("processed", is_named), *shared = at(root, "shared");
	json_t *strings = at(shared, "stringArray"), *frames = at(shared, "frameTable");
	static const struct {
		const char *function, *name, *category, *line;
		size_t number;
	} rows[] = {
		{"func.1", "toy number 7", "category.1", "line.1", 7},
		{"func.2", "toy number 42", "category.2", "line.2", 42},
	};
	size_t i;

	for (i = 0; i < 2; i++) {
		size_t function = number_at(frames, rows[i].function);
		json_t *names = at(shared, "funcTable.name"),
		       *sources = at(shared, "funcTable.source");
		size_t name = (size_t)json_number_value(json_array_get(names, function)),
		       source = (size_t)json_number_value(json_array_get(sources, function));

		assert_string_equal(item_of(strings, name), rows[i].name);
		assert_string_equal(
			item_of(strings, (size_t)json_number_value(json_array_get(
						 at(shared, "sources.filename"), source))),
			"toys.txt");
		expect_category(root, number_at(frames, rows[i].category));
		assert_int_equal(number_at(frames, rows[i].line), rows[i].number);
	}
	json_decref(root);
}

static void in_processed(void **state)
{
	expect_processed(true);
	expect_processed(false);
}

/* ---- in counts of stacks --------------------------------------------------------------------------- */

static int count_stacks(struct stack_profile *profile, struct named_files *named_files)
{
	const struct profile_input input = make_input(named_files);
	struct profile_summary summary = {0};
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

static void in_folded_stacks(void **state)
{
	struct stack_profile *profile;
	struct named_files *named_files;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(named_files_open(&named_files, NULL), 0);
	assert_int_equal(stack_profile_open(&profile), 0);
	assert_int_equal(count_stacks(profile, named_files), 0);
	assert_int_equal(folded_write(profile, false, out), 0);
	fclose(out);
	assert_string_equal(
		text,
		"toybox;main thread;libx.so+0x100 (in libx.so);toy number 7;toy number 42 1\n");
	free(text);
	stack_profile_close(profile);
	named_files_close(named_files);
}

/* Where its kind has no row, it is still a frame. */
static void without_a_row(void **state)
{
	struct profile_summary summary = {.top_count = 1};
	struct profile_input input = make_input(NULL);

	input.frame_kinds = NULL;
	written_format = NULL;
	assert_int_equal(write_profile(&input, &summary), 0);
	assert_string_equal(summary.top[0].function.name, "(frame of kind 9: 0x2a)");
	profile_summary_clear(&summary);
	unlink(PATH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_gecko),
		cmocka_unit_test(in_processed),
		cmocka_unit_test(in_folded_stacks),
		cmocka_unit_test(without_a_row),
	};

	return cmocka_run_group_tests(tests, setup_toys, teardown);
}
