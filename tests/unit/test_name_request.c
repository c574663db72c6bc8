/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that another process finds out, which may die, hang, or answer anything. It is this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "service/name_request.h"
#include "service/service.h"
#include "symbol/named_files.h"

#include "alloc.h"
#include "symbol_files_fixture.h"

#define LONG_NS (60 * NS_PER_SEC)

static __attribute__((noinline)) int some_function(int x)
{
	return x * 7 + 1;
}

static __attribute__((noinline)) int other_function(int x)
{
	return x * 5 + 2;
}

/* ---- who is asked ------------------------------------------------------------------------ */

static struct reader *parser;
static int asked, to_fail, error;

static int ask_parser(void *context, const struct name_question *question, struct name_answer *out)
{
	const struct reader_wait wait = {.deadline_ns = clock_now_ns() + LONG_NS};

	(void)context;
	if (++asked == to_fail)
		return error;
	return names_ask(parser, &wait, question, out);
}

static const struct name_door by_parser = {.ask = ask_parser};

static int begin(void **state)
{
	const struct reader_config config = {.role = READER_PARSER};

	(void)state;
	asked = to_fail = 0;
	names_ask_through(&by_parser);
	return reader_open(&parser, &config);
}

static int end(void **state)
{
	(void)state;
	names_ask_through(NULL);
	reader_close(parser);
	return 0;
}

static struct named_files *open_files(struct cancel *cancel)
{
	const struct named_options options = {.cancel = cancel};
	struct named_files *files;

	assert_int_equal(named_files_open(&files, &options), 0);
	return files;
}

/* Open, since a parser opens nothing, and this client nothing for it. */
static struct named_file *add_self(struct named_files *files, int *fd)
{
	struct symbol_source source = {.path = "/proc/self/exe"};
	struct named_file *file;

	*fd = source.fd = open(source.path, O_RDONLY | O_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(named_files_add(files, &source, &file), 0);
	return file;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void asked_once(void **state)
{
	const struct place some = place_of((const void *)some_function);
	const struct place other = place_of((const void *)other_function);
	uint64_t offsets[] = {other.offset + 2, some.offset, other.offset,
			      some.offset + 1,  some.offset, 0};
	struct named_files *files = open_files(NULL);
	struct named_code code;
	uint64_t address;
	int fd, i;
	struct named_file *file = add_self(files, &fd);

	assert_int_equal(some_function(1) + other_function(1), 15);
	assert_int_equal(named_file_ask(file, offsets, 6), 0);
	assert_int_equal(asked, 1);
	for (i = 0; i < 2; i++) {
		assert_int_equal(named_file_find(file, some.offset + (uint64_t)i, &code), 0);
		assert_string_equal(code.name, "some_function");
		assert_int_equal(code.start, some.address);
	}
	assert_int_equal(named_file_find(file, other.offset + 2, &code), 0);
	assert_string_equal(code.name, "other_function");
	assert_int_equal(named_file_find(file, 0, &code), -ENOENT);
	assert_int_equal(named_file_address(file, some.offset, &address), 0);
	assert_int_equal(address, some.address);
	assert_int_equal(asked, 1);
	named_files_close(files);
	close(fd);
}

/* More than a message has room for, both ways; and the same as without another process. */
static void many_at_once(void **state)
{
	enum { COUNT = 5000 };
	const struct place some = place_of((const void *)some_function);
	struct named_files *there = open_files(NULL), *here = open_files(NULL);
	uint64_t *offsets = malloc(COUNT * sizeof(*offsets));
	size_t i, named = 0;
	int fd, fd_here;
	struct named_file *file = add_self(there, &fd), *same = add_self(here, &fd_here);

	for (i = 0; i < COUNT; i++)
		offsets[i] = (some.offset & ~4095ULL) + 7 * (i * 1237 % COUNT);
	assert_int_equal(named_file_ask(file, offsets, COUNT), 0);
	assert_in_range(asked, 1, 3);
	names_ask_through(NULL);
	for (i = 0; i < COUNT; i++) {
		const uint64_t offset = (some.offset & ~4095ULL) + 7 * i;
		struct named_code code = {0}, wanted = {0};

		assert_int_equal(named_file_find(file, offset, &code),
				 named_file_find(same, offset, &wanted));
		assert_int_equal(code.start, wanted.start);
		assert_int_equal(code.size, wanted.size);
		assert_int_equal(!code.name, !wanted.name);
		if (code.name)
			assert_string_equal(code.name, wanted.name);
		named += code.name != NULL;
	}
	assert_true(named > 10);
	named_files_close(there);
	named_files_close(here);
	free(offsets);
	close(fd);
	close(fd_here);
}

/* What one process has read another one reads again. */
static void after_a_parser_died(void **state)
{
	const struct place some = place_of((const void *)some_function);
	struct named_files *files = open_files(NULL);
	struct named_code code;
	int fd;
	struct named_file *file = add_self(files, &fd);

	assert_int_equal(named_file_find(file, some.offset, &code), 0);
	reader_end(parser);
	assert_int_equal(
		named_file_find(file, place_of((const void *)other_function).offset, &code), 0);
	assert_string_equal(code.name, "other_function");
	named_files_close(files);
	close(fd);
}

/* ---- files that are trouble ---------------------------------------------------------------- */

static void costs_its_own_names(void **state)
{
	static const struct {
		int error;
		enum symbol_trouble trouble;
	} cases[] = {
		{-ETIMEDOUT, SYMBOL_TROUBLE_LATE},
		{-E2BIG, SYMBOL_TROUBLE_TOO_LARGE},
		{-EPIPE, SYMBOL_TROUBLE_DIED},
		{-EBADMSG, SYMBOL_TROUBLE_DIED},
	};
	const struct place some = place_of((const void *)some_function);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct named_files *files = open_files(NULL);
		struct other_file other;
		struct named_code code;
		int fd, fd_other;
		struct named_file *file = add_self(files, &fd), *next = add_self(files, &fd_other);

		asked = 0;
		to_fail = 1;
		error = cases[i].error;
		assert_int_equal(named_file_find(file, some.offset, &code), -ENOENT);
		assert_int_equal(named_file_find(file, some.offset, &code), -ENOENT);
		assert_int_equal(asked, 1);
		assert_int_equal(named_file_trouble(file, &other), cases[i].trouble);
		assert_int_equal(named_file_find(next, some.offset, &code), 0);
		named_files_close(files);
		close(fd);
		close(fd_other);
	}
}

static bool at_once(void *context)
{
	(void)context;
	return true;
}

static void given_up(void **state)
{
	struct cancel cancel = {.is_cancelled = at_once};
	struct named_files *files = open_files(&cancel);
	struct named_code code;
	int fd;
	struct named_file *file = add_self(files, &fd);

	assert_int_equal(named_file_find(file, 0, &code), -EINTR);
	assert_int_equal(asked, 0);
	named_files_close(files);
	close(fd);
}

/* ---- answers that are none ----------------------------------------------------------------- */

static const uint64_t wanted[] = {100, 200, 300};
static const struct file_search nowhere;
static const struct name_question question = {
	.wants_layout = true,
	.search = &nowhere,
	.offsets = wanted,
	.count = 3,
};

/* 0 or what is wrong with an answer that `change` has changed, at the byte `at`. */
static int read_changed(size_t at, uint8_t value)
{
	struct name_answer answer = {0};
	struct name_writer *writer;
	struct name_span spans[] = {
		{.first = 90, .end = 110, .is_function = 1},
		{.first = 150, .end = 201},
		{.first = 300, .end = 301},
	};
	const struct elf_layout layout = {0};
	size_t i;
	int err;

	assert_int_equal(name_writer_open(&writer), 0);
	name_writer_layout(writer, 0, &layout);
	for (i = 0; i < 3; i++)
		assert_int_equal(name_writer_add(writer, &spans[i], i ? NULL : "name", NULL), 0);
	assert_int_equal(name_writer_finish(writer, &answer.bytes, &answer.size), 0);
	name_writer_close(writer);
	if (at < answer.size)
		answer.bytes[at] = (char)value;
	err = name_answer_read(&answer, &question);
	/* Whatever it is, it can be used. */
	for (i = 0; !err && i < answer.span_count; i++)
		if (answer.spans[i].name != NAME_TEXT_NONE)
			assert_true(strlen(answer.texts + answer.spans[i].name) < answer.size);
	free(answer.bytes);
	return at < answer.size ? err : 1;
}

static void hostile_answers(void **state)
{
	size_t at, refused = 0;

	assert_int_equal(read_changed(SIZE_MAX, 0), 1);
	for (at = 0; read_changed(at, 0xff) != 1; at++) {
		const int err = read_changed(at, 0xff);

		assert_true(!err || err == -EBADMSG);
		refused += err != 0;
	}
	assert_true(at > 100 && refused > 30);
}

static void short_answers(void **state)
{
	char bytes[512] = {0};
	struct name_answer answer = {.bytes = bytes};

	for (answer.size = 0; answer.size <= sizeof(bytes); answer.size++)
		assert_int_equal(name_answer_read(&answer, &question), -EBADMSG);
}

/* An offset that was asked for has no answer; nothing was asked that has one. */
static void other_questions(void **state)
{
	const uint64_t others[] = {100, 200, 300, 400};
	struct name_answer answer = {0};
	struct name_question more = question;
	struct name_writer *writer;
	struct name_span span = {.first = 100, .end = 301};

	assert_int_equal(name_writer_open(&writer), 0);
	assert_int_equal(name_writer_add(writer, &span, NULL, NULL), 0);
	assert_int_equal(name_writer_finish(writer, &answer.bytes, &answer.size), 0);
	name_writer_close(writer);
	assert_int_equal(name_answer_read(&answer, &question), 0);
	more.offsets = others;
	more.count = 4;
	assert_int_equal(name_answer_read(&answer, &more), -EBADMSG);
	more.count = 0;
	assert_int_equal(name_answer_read(&answer, &more), -EBADMSG);
	free(answer.bytes);
}

/* ---- no memory ------------------------------------------------------------------------------ */

/* What failed for lack of memory is found when there is some again. */
static void no_memory(void **state)
{
	const struct place place = place_of((const void *)some_function);
	struct named_code code;
	bool hit = true;
	size_t n;

	names_ask_through(NULL);
	for (n = 1; hit; n++) {
		struct named_files *files = open_files(NULL);
		int fd, err;
		struct named_file *file = add_self(files, &fd);

		alloc_fail_at(n);
		err = named_file_find(file, place.offset, &code);
		hit = alloc_fail_stop();
		assert_true(!err || (hit && err == -ENOMEM));
		assert_int_equal(named_file_find(file, place.offset, &code), 0);
		assert_string_equal(code.name, "some_function");
		named_files_close(files);
		close(fd);
	}
	assert_true(n > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(asked_once),          TEST(many_at_once),    TEST(after_a_parser_died),
		TEST(costs_its_own_names), TEST(given_up),        TEST(hostile_answers),
		TEST(short_answers),       TEST(other_questions), TEST(no_memory),
	};

	service_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
