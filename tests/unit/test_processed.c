/* SPDX-License-Identifier: BSD-2-Clause */
/* The small recording of profile_fixture.h in the front-end's own format, read back as the front-end reads it. */
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
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "base/output.h"
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

#define PATH "/tmp/test_processed.json"

int main(void);

#include "profile_fixture.h"

/* ---- reading back ---------------------------------------------------------------------------- */

/* A fact that jansson has no integer for. */
static void shorten(char *text)
{
	while ((text = strstr(text, "18446744073709551615")))
		memcpy(text, "1                   ", 20);
}

static json_t *read_document(bool is_named)
{
	struct profile_summary summary = {0};
	char *text = document(is_named, &summary);
	json_t *root;

	shorten(text);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	profile_summary_clear(&summary);
	return root;
}

static json_t *get(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("there is no %s", key);
	return value;
}

static json_t *shared(json_t *root, const char *table)
{
	return get(get(root, "shared"), table);
}

/* A cell. */
static json_t *cell(json_t *table, const char *column, json_int_t row)
{
	json_t *values = get(table, column), *value;

	if (!json_is_array(values) ||
	    json_array_size(values) != (size_t)json_integer_value(get(table, "length")))
		fail_msg("column %s has not as many rows as its table", column);
	value = json_array_get(values, (size_t)row);
	assert_non_null(value);
	return value;
}

static json_int_t number(json_t *table, const char *column, json_int_t row)
{
	json_t *value = cell(table, column, row);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *string(json_t *root, json_int_t id)
{
	const char *text =
		json_string_value(json_array_get(shared(root, "stringArray"), (size_t)id));

	assert_non_null(text);
	return text;
}

static void append(char *text, size_t size, const char *words, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, words);
	vsnprintf(text + used, size - used, words, args);
	va_end(args);
}

/* "name@resource+address ", with what there is of it. */
static void describe_frame(json_t *root, json_int_t frame, char *text, size_t size)
{
	json_t *frames = shared(root, "frameTable"), *functions = shared(root, "funcTable");
	json_int_t function = number(frames, "func", frame);
	json_int_t resource = number(functions, "resource", function);
	json_int_t address = number(frames, "address", frame);

	append(text, size, "%s", string(root, number(functions, "name", function)));
	if (resource >= 0)
		append(text, size, "@%s",
		       string(root, number(shared(root, "resourceTable"), "name", resource)));
	assert_int_equal(address < 0, number(frames, "lib", frame) < 0);
	if (address >= 0)
		append(text, size, "+%llx", (long long)address);
	append(text, size, " ");
}

/* Root first. */
static void describe_stack(json_t *root, json_int_t stack, char *text, size_t size)
{
	json_t *stacks = shared(root, "stackTable");
	json_int_t offset = number(stacks, "prefixOffset", stack);

	assert_true(offset >= 0 && offset <= stack);
	if (offset)
		describe_stack(root, stack - offset, text, size);
	describe_frame(root, number(stacks, "frame", stack), text, size);
}

static json_t *find_thread(json_t *root, const char *pid, json_int_t tid)
{
	json_t *thread;
	size_t i;

	json_array_foreach(get(root, "threads"), i,
			   thread) if (!strcmp(json_string_value(get(thread, "pid")), pid) &&
				       json_integer_value(get(thread, "tid")) == tid) return thread;
	fail_msg("there is no thread %lld of %s", (long long)tid, pid);
	return NULL;
}

/* A sample as "delta ms/CPU ns/stack". */
static void assert_sample(json_t *root, json_t *thread, json_int_t row, const char *expected)
{
	json_t *samples = get(thread, "samples"), *stack = cell(samples, "stack", row);
	char text[512] = "";

	append(text, sizeof(text), "%.6g/%lld/",
	       json_number_value(cell(samples, "timeDeltas", row)),
	       (long long)number(samples, "threadCPUDelta", row));
	if (!json_is_null(stack))
		describe_stack(root, json_integer_value(stack), text, sizeof(text));
	assert_string_equal(text, expected);
}

static void assert_text(json_t *object, const char *key, const char *expected)
{
	assert_string_equal(json_string_value(get(object, key)), expected);
}

static void assert_json(json_t *value, const char *expected)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	assert_string_equal(text, expected);
	free(text);
}

/* ---- the tests --------------------------------------------------------------------------------- */

#define ROOT_STACK                                                                                 \
	"(truncated: stack not readable) libx.so+0xff@libx.so+ff libx.so+0x201@libx.so+201 "

static void rows_of_the_target(void **state)
{
	json_t *root = read_document(true), *thread = find_thread(root, "4242", 4242);

	assert_text(thread, "name", "app");
	assert_text(thread, "processName", "app --one 2");
	assert_text(thread, "processType", "default");
	assert_json(get(thread, "isMainThread"), "true");
	assert_json(get(thread, "registerTime"), "0");
	assert_json(get(thread, "unregisterTime"), "900");
	assert_sample(root, thread, 0, "0/0/");
	/* It comes back, and is met. */
	assert_sample(root, thread, 1, "6/0/" ROOT_STACK);
	assert_sample(root, thread, 2, "4/4000000/" ROOT_STACK);
	/* It sleeps, comes back, and is met. */
	assert_sample(root, thread, 3, "0/0/");
	assert_sample(root, thread, 4, "39/0/" ROOT_STACK);
	assert_sample(root, thread, 5, "1/1000000/" ROOT_STACK);
	/* What the kernel interrupted has called nothing. */
	assert_sample(root, thread, 6,
		      "1/1000000/(truncated: stack not readable) libx.so+0xff@libx.so+ff "
		      "libx.so+0x201@libx.so+201 "
		      "startup_64@[kernel] startup_64@[kernel] ");
	assert_sample(root, thread, 7, "0/0/");
	/* It ran on for so long, with a stack that is not known. */
	assert_sample(root, thread, 8, "1/1000000/");
	assert_sample(root, thread, 9, "0/0/");
	assert_json(get(get(thread, "samples"), "weight"), "[1,0,1,0,0,1,1,1,0,0]");
	assert_text(get(thread, "samples"), "weightType", "samples");
	json_decref(root);
}

static void names_are_the_real_ones(void **state)
{
	json_t *root = read_document(true), *thread;

	thread = find_thread(root, "4242", 4243);
	assert_text(thread, "name", "w\"k\xef\xbf\xbd");
	assert_json(get(thread, "isMainThread"), "false");
	assert_json(get(thread, "registerTime"), "20.000001");
	/* An image that was not the first, whose main thread was not met. */
	thread = find_thread(root, "4242.1", 4242);
	assert_text(thread, "name", "next");
	assert_json(get(thread, "isMainThread"), "true");
	assert_json(get(thread, "processStartupTime"), "900");
	assert_json(get(thread, "processShutdownTime"), "950");
	assert_text(find_thread(root, "4242.1", 4250), "name", "Thread <4250>");
	assert_text(find_thread(root, "77", 77), "name", "kworker/0:1");
	json_decref(root);
}

/* Where main begins is known: it is this program's. */
static void a_function_has_a_symbol(void **state)
{
	json_t *root = read_document(true), *frames = shared(root, "frameTable");
	json_t *symbols = shared(root, "nativeSymbols"), *samples;
	json_int_t stack, frame, symbol;
	size_t i;

	samples = get(find_thread(root, "4242", 4243), "samples");
	for (i = 0; json_is_null(cell(samples, "stack", (json_int_t)i)); i++)
		;
	stack = number(samples, "stack", (json_int_t)i);
	while (number(shared(root, "stackTable"), "prefixOffset", stack))
		stack -= number(shared(root, "stackTable"), "prefixOffset", stack);
	frame = number(shared(root, "stackTable"), "frame", stack);
	symbol = number(frames, "nativeSymbol", frame);
	assert_string_equal(string(root, number(symbols, "name", symbol)), "main");
	assert_int_equal(number(symbols, "address", symbol),
			 (uint64_t)(uintptr_t)main - self_mapping.start + self_mapping.offset);
	assert_text(json_array_get(get(root, "libs"), (size_t)number(symbols, "libIndex", symbol)),
		    "path", self.path);
	/* It is where any sample of the function was. */
	assert_int_equal(number(frames, "address", frame), -1);
	assert_true(number(symbols, "functionSize", symbol) > 0);
	json_decref(root);
}

static void libs(void **state)
{
	json_t *root = read_document(true), *item;
	size_t i, found = 0;

	json_array_foreach(get(root, "libs"), i, item)
	{
		if (strcmp(json_string_value(get(item, "name")), "libx.so"))
			continue;
		found++;
		assert_text(item, "path", "/nonexistent/libx.so");
		assert_text(item, "breakpadId", "E54D3AF274383256B9F6144F83F3F7510");
		assert_text(item, "codeId", "f23a4de538745632b9f6144f83f3f751deadbeef");
	}
	assert_int_equal(found, 1);
	json_decref(root);
}

static void meta(void **state)
{
	json_t *root = read_document(true), *meta = get(root, "meta");

	assert_json(get(meta, "preprocessedProfileVersion"), "70");
	assert_text(meta, "product", "my\"app");
	assert_text(meta, "importedFrom", "geckobpf");
	assert_text(meta, "arguments", "app --one 2");
	assert_json(get(meta, "symbolicated"), "true");
	assert_json(get(meta, "symbolicationNotSupported"), "true");
	assert_json(get(meta, "usesOnlyOneStackType"), "true");
	assert_json(get(meta, "sourceCodeIsNotOnSearchfox"), "true");
	assert_json(get(meta, "keepProfileThreadOrder"), "true");
	assert_json(get(meta, "mainMemory"), "17179869184");
	/* app used 7 ms; others less than a twentieth of that, if any. */
	assert_json(get(meta, "initialVisibleThreads"), "[0]");
	assert_json(get(meta, "initialSelectedThreads"), "[0]");
	assert_json(get(meta, "appBuildID"), "\"geckobpf 0.1.0\"");
	assert_json(get(meta, "device"), "\"Maker X1\"");
	assert_json(json_array_get(get(meta, "extra"), 0),
		    "{\"label\":\"Recording\",\"entries\":["
		    "{\"label\":\"geckobpf\",\"format\":\"string\",\"value\":\"0.1.0\"},"
		    "{\"label\":\"Event\",\"format\":\"string\",\"value\":\"cpu-\\\"clock\\\"\"},"
		    "{\"label\":\"Main memory\",\"format\":\"bytes\",\"value\":17179869184},"
		    "{\"label\":\"Machine\",\"format\":\"string\",\"value\":\"Maker X1\"}]}");
	assert_json(json_array_get(get(meta, "extra"), 1),
		    "{\"label\":\"Lost\",\"entries\":["
		    "{\"label\":\"Samples lost\",\"format\":\"integer\",\"value\":3},"
		    "{\"label\":\"Samples lost: the ring was full\",\"format\":\"integer\","
		    "\"value\":3}]}");
	assert_non_null(get(get(root, "profilingLog"), "geckobpf"));
	json_decref(root);
}

/* The front-end asks a symbol server by lib and address. */
static void addresses(void **state)
{
	json_t *root = read_document(false), *thread = find_thread(root, "4242", 4242);

	assert_json(get(get(root, "meta"), "symbolicated"), "false");
	assert_null(json_object_get(get(root, "meta"), "symbolicationNotSupported"));
	assert_sample(
		root, thread, 2,
		"4/4000000/(truncated: stack not readable) 0xff@libx.so+ff 0x201@libx.so+201 ");
	assert_sample(root, thread, 6,
		      "1/1000000/(truncated: stack not readable) 0xff@libx.so+ff 0x201@libx.so+201 "
		      "0xffffffff81001000 0xffffffff81000010 ");
	assert_int_equal(json_integer_value(get(shared(root, "nativeSymbols"), "length")), 0);
	json_decref(root);
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

/* With symbols some allocations may fail without harm: a table that stays larger than it need be. */
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
	assert_true(failed > 100 && failed + 10 > n);
}

static int setup_format(void **state)
{
	written_format = format_named("processed");
	assert_null(format_named("nothing"));
	return written_format ? setup(state) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_target),
		cmocka_unit_test(names_are_the_real_ones),
		cmocka_unit_test(a_function_has_a_symbol),
		cmocka_unit_test(libs),
		cmocka_unit_test(meta),
		cmocka_unit_test(addresses),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup_format, teardown);
}
