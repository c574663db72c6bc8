/* SPDX-License-Identifier: BSD-2-Clause */
/* test_gecko_reader.c - Gecko profiles into profiles of stacks: what is right, and what is wrong where. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "base/error.h"
#include "format/gecko_reader.h"
#include "format/stack_profile.h"

#define META                                                                                       \
	"\"meta\":{\"version\":36,\"startTime\":1000.5,\"interval\":0.5,"                          \
	"\"profilingStartTime\":0,\"profilingEndTime\":20.25,\"product\":\"app\","                 \
	"\"sampleUnits\":{\"threadCPUDelta\":\"ns\"}}"
/* main (in app); work (in app); work of the kernel. Stacks 1 and 3 are the same functions, in other frames. */
#define THREAD                                                                                     \
	"{\"name\":\"GeckoMain\",\"processName\":\"app\",\"pid\":42,\"tid\":42,"                   \
	"\"registerTime\":1.5,\"unregisterTime\":null,"                                            \
	"\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"eventDelay\":2,\"threadCPUDelta\":3},"  \
	"\"data\":[[null,1.5,0,77],[1,2,0,100],[3,3,0,200],[2,4,0,300],[0,5,0],[null,6,0,400],"    \
	"[1,6,0,null],[null,6.5,0,50],[null,7,0,0]]},"                                             \
	"\"frameTable\":{\"schema\":{\"location\":0,\"category\":1},"                              \
	"\"data\":[[0,2],[1,2],[2,3],[1,0]]},"                                                     \
	"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},"                                   \
	"\"data\":[[null,0],[0,1],[1,2],[0,3]]},"                                                  \
	"\"stringTable\":[\"main (in app)\",\"work (in app)\",\"work (in [kernel])\"]}"
#define WORKER                                                                                     \
	"{\"stringTable\":[\"work (in app)\"],"                                                    \
	"\"stackTable\":{\"data\":[[0]],\"schema\":{\"frame\":0,\"prefix\":1}},"                   \
	"\"frameTable\":{\"data\":[[0]],\"schema\":{\"location\":0}},"                             \
	"\"samples\":{\"data\":[[9,0]],\"schema\":{\"time\":0,\"stack\":1,\"threadCPUDelta\":2}}," \
	"\"tid\":\"w7\",\"pid\":\"42.1\",\"processName\":\"app two\",\"name\":\"worker\"}"
#define LOG                                                                                        \
	"\"profilingLog\":{\"geckobpf\":{\"version\":\"0.1.0\",\"samples_lost_ring_full\":1,"      \
	"\"samples_lost_buffer\":2,\"events_lost_ring_full\":4,\"mappings_lost_ring_full\":8,"     \
	"\"samples_overwritten\":16,\"records_bad\":1000,\"timer_ticks\":70,"                      \
	"\"timer_ticks_missed\":30,\"user_stacks\":{\"complete\":32,"                              \
	"\"none, the thread exits or execs\":1000,\"stack not readable\":64,\"no registers\":1}}}"
#define PROCESS "{\"meta\":{\"shutdownTime\":18.5},\"libs\":[],\"threads\":[" THREAD "]}"
#define DOCUMENT                                                                                   \
	"{" META ",\"libs\":[{\"name\":\"app\"}],\"threads\":[],\"processes\":[" PROCESS           \
	",{\"threads\":[" WORKER "],\"meta\":{\"shutdownTime\":null}}]," LOG "}"

static int parse_bytes(const char *text, size_t size, struct stack_profile **profile,
		       struct error *error)
{
	/* At the end of its memory, so that a byte read behind it is noticed. */
	char *copy = malloc(size + 1);
	int err;

	assert_non_null(copy);
	memcpy(copy + 1, text, size);
	assert_int_equal(stack_profile_open(profile), 0);
	err = gecko_reader_parse(*profile, "app.json", copy + 1, size, error);
	free(copy);
	return err;
}

static struct stack_profile *parse(const char *text)
{
	struct error error = {0};
	struct stack_profile *profile;

	if (parse_bytes(text, strlen(text), &profile, &error))
		fail_msg("%s", error.cause);
	return profile;
}

/* ---- what is right --------------------------------------------------------------------- */

static void expect_text(const struct stack_profile *profile, uint32_t id, const char *expected)
{
	assert_int_not_equal(id, STACK_NONE);
	assert_string_equal(stack_profile_text(profile, id), expected);
}

static void test_source(void **state)
{
	struct stack_profile *profile = parse(DOCUMENT);
	const struct stack_source *source = &profile->sources.items[0];

	(void)state;
	assert_int_equal(profile->sources.count, 1);
	expect_text(profile, source->path, "app.json");
	expect_text(profile, source->product, "app");
	expect_text(profile, source->version, "0.1.0");
	assert_true(source->start_real_ms == 1000.5);
	assert_true(source->duration_ms == 20.25);
	assert_int_equal(source->interval_ns, 500000);
	assert_true(source->has_log);
	assert_int_equal(source->samples_lost, 3);
	assert_int_equal(source->events_lost, 12);
	assert_int_equal(source->samples_overwritten, 16);
	assert_int_equal(source->ticks, 70);
	assert_int_equal(source->ticks_missed, 30);
	assert_int_equal(source->stacks_complete, 32);
	assert_int_equal(source->stacks_truncated, 65);
	stack_profile_close(profile);
}

static void test_threads(void **state)
{
	struct stack_profile *profile = parse(DOCUMENT);
	const struct stack_thread *threads = profile->threads.items;
	const struct stack_process *processes = profile->processes.items;

	(void)state;
	assert_int_equal(profile->processes.count, 2);
	expect_text(profile, processes[0].name, "app");
	expect_text(profile, processes[0].pid, "42");
	assert_true(processes[0].born_ms == 1.5);
	assert_true(processes[0].died_ms == 18.5);
	expect_text(profile, processes[1].name, "app two");
	expect_text(profile, processes[1].pid, "42.1");
	assert_true(isnan(processes[1].died_ms));
	assert_int_equal(profile->threads.count, 2);
	expect_text(profile, threads[0].name, "main thread");
	expect_text(profile, threads[0].tid, "42");
	assert_true(threads[0].born_ms == 1.5 && isnan(threads[0].died_ms));
	assert_true(threads[0].first_ms == 1.5 && threads[0].last_ms == 7);
	assert_int_equal(threads[0].process, 0);
	expect_text(profile, threads[1].name, "worker");
	expect_text(profile, threads[1].tid, "w7");
	assert_true(isnan(threads[1].born_ms));
	assert_int_equal(threads[1].process, 1);
	stack_profile_close(profile);
}

static void expect_count(const struct stack_profile *profile, const struct stack_count *count,
			 const char *path, uint64_t samples, uint64_t cpu_ns)
{
	char text[256] = "";
	uint32_t stack = count->stack;

	while (stack != STACK_NONE) {
		struct stack at = stack_profile_stack(profile, stack);
		struct stack_function function = stack_profile_function(profile, at.function);

		strcat(text, stack_profile_text(profile, function.name));
		if (function.lib != STACK_NONE) {
			strcat(text, "@");
			strcat(text, stack_profile_text(profile, function.lib));
		}
		strcat(text, " ");
		stack = at.prefix;
	}
	assert_string_equal(text, path);
	assert_int_equal(count->samples, samples);
	assert_int_equal(count->cpu_ns, cpu_ns);
}

static void test_counts(void **state)
{
	struct stack_profile *profile = parse(DOCUMENT);
	const struct stack_counts *counts = &profile->threads.items[0].counts;

	(void)state;
	assert_int_equal(counts->count, 4);
	/* The first row's CPU time is of before; that of the last two is of the sample before them. */
	expect_count(profile, &counts->items[0], "(no stack) ", 0, 400);
	expect_count(profile, &counts->items[1], "main@app ", 1, 0);
	expect_count(profile, &counts->items[2], "work@app main@app ", 3, 350);
	expect_count(profile, &counts->items[3], "work@[kernel] work@app main@app ", 1, 300);
	assert_int_equal(profile->threads.items[1].counts.count, 1);
	expect_count(profile, &profile->threads.items[1].counts.items[0], "work@app ", 1, 0);
	stack_profile_close(profile);
}

/* Two files, and the first with its members the other way around and blanks everywhere. */
static void test_two_files(void **state)
{
	static const char reversed[] = " { " LOG " ,\n\t\"processes\" : [ " PROCESS
				       " ] , \"threads\" : [\n] , " META " } \r\n";
	struct stack_profile *profile = parse(reversed);
	struct error error;

	(void)state;
	assert_int_equal(gecko_reader_parse(profile, "second", DOCUMENT, strlen(DOCUMENT), &error),
			 0);
	assert_int_equal(profile->sources.count, 2);
	assert_int_equal(profile->sources.items[0].samples_lost, 3);
	assert_int_equal(profile->threads.count, 3);
	assert_int_equal(stack_profile_source_of(profile, &profile->threads.items[0])->interval_ns,
			 500000);
	expect_text(profile, stack_profile_source_of(profile, &profile->threads.items[2])->path,
		    "second");
	/* The same stacks have the same numbers. */
	assert_int_equal(profile->threads.items[0].counts.items[3].stack,
			 profile->threads.items[1].counts.items[3].stack);
	stack_profile_close(profile);
}

static void test_threads_at_the_top(void **state)
{
	struct stack_profile *profile =
		parse("{" META ",\"threads\":[" THREAD "," WORKER "],\"processes\":[]}");

	(void)state;
	assert_int_equal(profile->processes.count, 1);
	assert_int_equal(profile->threads.count, 2);
	assert_false(profile->sources.items[0].has_log);
	stack_profile_close(profile);
}

static void test_no_threads(void **state)
{
	struct stack_profile *profile = parse("{" META "}");

	(void)state;
	assert_int_equal(profile->processes.count, 0);
	stack_profile_close(profile);
}

/* ---- what is wrong --------------------------------------------------------------------- */

/* The document with the first `from` in it replaced. */
static char *replaced(const char *from, const char *to)
{
	const char *at = strstr(DOCUMENT, from);
	size_t size = strlen(DOCUMENT) + strlen(to) + 1;
	char *text = malloc(size);

	if (!at)
		fail_msg("the document has no %s", from);
	assert_non_null(text);
	snprintf(text, size, "%.*s%s%s", (int)(at - DOCUMENT), DOCUMENT, to, at + strlen(from));
	return text;
}

static void expect_error(const char *text, size_t size, const char *why)
{
	struct error error = {0};
	struct stack_profile *profile;

	if (parse_bytes(text, size, &profile, &error) != -EBADMSG)
		fail_msg("no error, but: %s", why);
	if (!strstr(error.cause, why))
		fail_msg("'%s' is not: %s", error.cause, why);
	stack_profile_close(profile);
}

#define AT "processes[0].threads[0]."
static const struct {
	const char *from, *to, *why;
} wrong_documents[] = {
	/* Indices that point nowhere, or up. */
	{"[1,2],[0,3]]}", "[1,9],[0,3]]}", AT "stackTable.data[2].frame points nowhere"},
	{"[[null,0],[0,1],[1,2],[0,3]]", "[[null,0],[0,4],[1,2],[0,3]]",
	 AT "stackTable.data[1].frame points nowhere"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],[1,1],[1,2]",
	 AT "stackTable.data[1].prefix points nowhere"},
	{"[[null,0],[0,1],[1,2]", "[[2,0],[0,1],[1,2]",
	 AT "stackTable.data[0].prefix points nowhere"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],[-1,1],[1,2]",
	 AT "stackTable.data[1].prefix points nowhere"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],[4294967296,1],[1,2]",
	 AT "stackTable.data[1].prefix points nowhere"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],[0.0,1],[1,2]",
	 AT "stackTable.data[1].prefix is no integer"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],[0],[1,2]",
	 AT "stackTable.data[1].frame is no integer"},
	{"[[null,0],[0,1],[1,2]", "[[null,0],{},[1,2]",
	 AT "stackTable.data[1].frame is no integer"},
	{"[1,2,0,100]", "[4,2,0,100]", AT "samples.data[1].stack points nowhere"},
	{"[1,2,0,100]", "[\"1\",2,0,100]", AT "samples.data[1].stack is no integer"},
	{"[0,2],[1,2]", "[3,2],[1,2]", AT "frameTable.data[0].location points nowhere"},
	{"[0,2],[1,2]", "[0,2],[null,2]", AT "frameTable.data[1].location is no integer"},
	{"[\"main (in app)\",", "[7,", AT "frameTable.data[0].location points to no string"},
	{"\"stringTable\":[", "\"strings\":[", AT "frameTable.data[0].location points nowhere"},
	/* Times. */
	{"[1,2,0,100]", "[1,null,0,100]", AT "samples.data[1].time is no number"},
	{"[1,2,0,100]", "[1,2,0,-1]", AT "samples.data[1].threadCPUDelta is no time"},
	{"[1,2,0,100]", "[1,2,0,1.5]", AT "samples.data[1].threadCPUDelta is no time"},
	{"[1,2,0,100]", "[1,2,0,9000000000000000000]",
	 AT "samples.data[1].threadCPUDelta is more than a program can use"},
	{"[1,2,0,100],[3,3,0,200]", "[1,2,0,3155760000000000000],[3,3,0,1]",
	 AT "samples.data[2].threadCPUDelta is more than a program can use"},
	{"[1,2,0,100]", "[1,2,0,99999999999999999999]", "too big integer"},
	{"[1,2,0,100]", "[1,1e999,0,100]", "real number overflow"},
	/* Tables. */
	{"\"prefix\":0", "\"parent\":0", AT "stackTable.schema lacks a column"},
	{"\"prefix\":0", "\"prefix\":-1", AT "stackTable.schema lacks a column"},
	{"\"prefix\":0", "\"prefix\":\"0\"", AT "stackTable.schema lacks a column"},
	{"\"stackTable\":{", "\"stackTable\":7,\"x\":{",
	 AT "stackTable.data is not there, or no array"},
	{"\"data\":[[null,1.5", "\"rows\":[[null,1.5", AT "samples.data is not there, or no array"},
	/* Names. */
	{"\"name\":\"GeckoMain\"", "\"name\":[]", AT "name is neither a text nor an integer"},
	{"\"tid\":42", "\"tid\":null", AT "tid is neither a text nor an integer"},
	{"\"pid\":42", "\"pid\":1.5", AT "pid is neither a text nor an integer"},
	{"\"processName\":\"app\"", "\"p\":1", AT "processName is neither a text nor an integer"},
	{"\"name\":\"worker\"", "\"name\":false", "processes[1].threads[0].name is neither"},
	{"\"worker\"", "\"w\\u0000r\"", "\\u0000 is not allowed"},
	{"\"worker\"", "\"w\xff\"", "unable to decode byte 0xff"},
	/* The document. */
	{"\"interval\":0.5", "\"interval\":0", "meta.interval is no interval"},
	{"\"interval\":0.5", "\"interval\":-1", "meta.interval is no interval"},
	{"\"interval\":0.5", "\"interval\":1e18", "meta.interval is no interval"},
	{"\"interval\":0.5", "\"i\":1", "meta.interval is no interval"},
	{"\"threadCPUDelta\":\"ns\"", "\"threadCPUDelta\":\"\xc2\xb5s\"",
	 "meta.sampleUnits.threadCPUDelta is not ns"},
	{"\"version\":36", "\"preprocessedProfileVersion\":1", "the Firefox Profiler's own format"},
	{"\"meta\":{\"version\"", "\"mata\":{\"version\"", "it has no meta"},
	{"\"processes\":[", "\"processes\":7,[", "byte 208: something else, where '['"},
	{"\"libs\":[{", "\"libs\":[{,", "string or '}' expected"},
	{"\"threads\":[],", "\"threads\":[];", "something else, where ',' should be"},
	{"\"threads\":[],", "\"threads\":[],,", "something else, where '\"' should be"},
	{"\"threads\":[],", "\"threads\" [],", "something else, where ':' should be"},
	{"\"threads\":[" THREAD "]", "\"threads\":[" THREAD ",]", "unexpected token near ']'"},
	{"\"threads\":[" THREAD "]",
	 "\"threads\":[{\"name\":\"m\",\"pid\":\"4\",\"tid\":4,\"processName\":\"p\",\"samples\":{"
	 "\"stack\":[0]}}]",
	 "the Firefox Profiler's own format"},
};
#undef AT

static void test_wrong(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong_documents) / sizeof(wrong_documents[0]); i++) {
		char *text = replaced(wrong_documents[i].from, wrong_documents[i].to);

		expect_error(text, strlen(text), wrong_documents[i].why);
		free(text);
	}
}

static void test_other_files(void **state)
{
	(void)state;
	expect_error("", 0, "it is empty");
	expect_error(" \n", 2, "byte 2: the text ends, where '{' should be");
	expect_error("[]", 2, "byte 0: something else, where '{' should be");
	expect_error("\0\0\0", 3, "byte 0: something else, where '{' should be");
	expect_error("{}", 2, "it has no meta");
	expect_error(DOCUMENT "{}", strlen(DOCUMENT) + 2, "more after the end of the profile");
}

static void test_every_truncation(void **state)
{
	size_t length;

	(void)state;
	for (length = 0; length < strlen(DOCUMENT); length++)
		expect_error(DOCUMENT, length, "");
}

/* A byte that is another one may go unnoticed, but not more than that. */
static void test_every_byte(void **state)
{
	static const char others[] = {'0', '9', '"', ']', '}', ',', '-', '\0', '\xff'};
	char text[] = DOCUMENT;
	size_t at, i;

	(void)state;
	for (at = 0; at < strlen(DOCUMENT); at++) {
		for (i = 0; i < sizeof(others); i++) {
			struct stack_profile *profile;
			int err;

			text[at] = others[i];
			err = parse_bytes(text, sizeof(text) - 1, &profile, NULL);
			assert_true(!err || err == -EBADMSG);
			stack_profile_close(profile);
		}
		text[at] = DOCUMENT[at];
	}
}

/* Stacks one deeper than the row before, up to the limit or past it. */
static char *deep_thread(int depth)
{
	size_t size = (size_t)depth * 16 + 4096;
	char *text = malloc(size), *at = text;
	int i;

	assert_non_null(text);
	at += sprintf(at,
		      "{" META ",\"threads\":[{\"name\":\"n\",\"processName\":\"p\",\"pid\":1,"
		      "\"tid\":1,\"stringTable\":[\"f\"],"
		      "\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0]]},"
		      "\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"threadCPUDelta\":2},"
		      "\"data\":[[%d,1]]},"
		      "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]",
		      depth - 1);
	for (i = 0; i < depth - 1; i++)
		at += sprintf(at, ",[%d,0]", i);
	sprintf(at, "]}}]}");
	return text;
}

static void test_depth(void **state)
{
	char *text = deep_thread(GECKO_READER_MAX_DEPTH);
	struct stack_profile *profile = parse(text);

	(void)state;
	assert_int_equal(profile->threads.items[0].counts.count, 1);
	stack_profile_close(profile);
	free(text);
	text = deep_thread(GECKO_READER_MAX_DEPTH + 1);
	expect_error(text, strlen(text),
		     "threads[0].stackTable.data[8192].prefix makes the stack too deep");
	free(text);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Objects with nothing in them take a hundred times their text. */
static void test_trees(void **state)
{
	static const char begin[] = "{\"threads\":[{\"x\":[{}", end[] = "]}]}";
	const size_t count = 400000;
	char *text = malloc(sizeof(begin) + 3 * count + sizeof(end)), *at = text;
	struct stack_profile *profile;
	struct error error = {0};
	size_t i;

	(void)state;
	assert_non_null(text);
	at = stpcpy(at, begin);
	for (i = 0; i < count; i++)
		at = stpcpy(at, ",{}");
	at = stpcpy(at, end);
	assert_int_equal(stack_profile_open(&profile), 0);
	assert_int_equal(gecko_reader_parse(profile, "x", text, (size_t)(at - text), &error),
			 -EFBIG);
	assert_string_equal(error.cause,
			    "byte 12: what begins there would take more than 40 MB of memory");
	stack_profile_close(profile);
	free(text);
}

static int attempt(void *context)
{
	struct stack_profile *profile;
	int err = stack_profile_open(&profile);

	if (err)
		return err;
	err = gecko_reader_parse(profile, "app.json", DOCUMENT, strlen(DOCUMENT), NULL);
	stack_profile_close(profile);
	return err;
}

static void test_no_memory(void **state)
{
	(void)state;
	/* Those of the JSON library too: a block for each value. */
	assert_true(alloc_fail_each(attempt, NULL) >= 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_two_files),
		cmocka_unit_test(test_threads_at_the_top),
		cmocka_unit_test(test_no_threads),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
