/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress: what comes out of stderr, a pipe or a terminal, while a clock that is not one goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "cmd/progress_text.h"

#include "alloc.h"
#include "terminal.h"

#define CLEAR "\r\033[K"
#define LINE(part, task, left) "{\"progress\":" part ",\"task\":\"" task "\",\"eta_s\":" left "}\n"

static uint64_t fake_now, fake_looks, fake_step;
static int saved_stderr = -1;

static uint64_t fake_clock(void)
{
	fake_looks++;
	fake_now += fake_step;
	return fake_now;
}

static struct progress_view view_of(const struct progress_style *style)
{
	fake_now = NS_PER_SEC;
	fake_looks = fake_step = 0;
	return (struct progress_view){.style = style, .now_ns = fake_clock};
}

/* From here to restore(), stderr goes to `fd`. */
static void redirect(int fd)
{
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	assert_true(saved_stderr >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
}

static void restore(void)
{
	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
}

/* What `work` says into a pipe. */
static void capture(void (*work)(void), char *text, size_t size)
{
	int fds[2];
	ssize_t got;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	redirect(fds[1]);
	work();
	restore();
	close(fds[1]);
	got = read(fds[0], text, size - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	close(fds[0]);
}

/* The shown parts of a text, in ten thousandths; they never go back and only the last one is 10000. */
static size_t read_parts(const char *text, unsigned int *parts, size_t capacity)
{
	static const char key[] = "{\"progress\":";
	unsigned int whole, rest;
	size_t count = 0;

	for (; *text; text = strchr(text, '\n') + 1) {
		assert_memory_equal(text, key, sizeof(key) - 1);
		assert_int_equal(sscanf(text + sizeof(key) - 1, "%1u.%4u", &whole, &rest), 2);
		assert_true(count < capacity);
		parts[count] = whole * 10000 + rest;
		if (count)
			assert_true(parts[count] >= parts[count - 1] && parts[count - 1] < 10000);
		count++;
	}
	return count;
}

/* ---- nested pieces ------------------------------------------------------------------- */

static void nested(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole, part, inner;

	fake_step = 100 * NS_PER_MS; /* every look is shown */
	progress_begin(&whole, &view, "first", 8);
	progress_split(&part, &whole, 2, "second", 4);
	progress_add(&part, 1);
	progress_add(&part, 3);
	progress_end(&part);
	progress_split(&part, &whole, 6, "third", 3);
	progress_add(&part, 1);
	progress_split(&inner, &part, 1, NULL, 2);
	progress_add(&inner, 1);
	progress_end(&inner);
	progress_end(&part);
	progress_end(&whole);
}

static void test_nested(void **state)
{
	char text[2048];

	capture(nested, text, sizeof(text));
	assert_string_equal(
		text, LINE("0.0000", "first", "null")
		/* 0, 1/4 and 4/4 of 2/8, and its end */
		LINE("0.0000", "second", "null") LINE("0.0625", "second", "null")
			LINE("0.2500", "second", "null") LINE("0.2500", "second", "null")
		/* 2/8 + 6/8 * 0, 1/3, 1/3 + 1/6, 2/3, 1; one digit of seconds, cut off */
		LINE("0.2500", "third", "1.5") LINE("0.5000", "third", "0.6")
			LINE("0.5000", "third", "0.7") LINE("0.6250", "third", "0.4")
				LINE("0.7500", "third", "0.3") LINE("0.9999", "third", "0.0")
					LINE("1.0000", "third", "0.0"));
}

/* A third has no finite binary fraction; the ends of thirds of thirds meet exactly all the same. */
static void thirds(struct progress *parent, unsigned int depth)
{
	uint64_t end = parent->from;
	struct progress part;
	int i;

	for (i = 0; i < 3; i++) {
		progress_split(&part, parent, 1, NULL, 3);
		assert_int_equal(part.from, end);
		end = part.to;
		if (depth)
			thirds(&part, depth - 1);
		progress_end(&part);
	}
	assert_int_equal(end, parent->to);
}

static void split_in_thirds(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole;

	progress_begin(&whole, &view, "thirds", 3);
	thirds(&whole, 5);
	progress_end(&whole);
	assert_int_equal(view.position, PROGRESS_WHOLE);
}

static void test_no_gaps(void **state)
{
	char text[512];

	capture(split_in_thirds, text, sizeof(text));
	assert_string_equal(text, LINE("0.0000", "thirds", "null") LINE("1.0000", "thirds", "0.0"));
}

/* ---- work that is not what was announced ------------------------------------------------ */

static void too_much(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole, part;
	int i;

	fake_step = 100 * NS_PER_MS;
	progress_begin(&whole, &view, "work", 10);
	progress_split(&part, &whole, 5, NULL, 7);
	for (i = 0; i < 9; i++)
		progress_add(&part, UINT64_MAX / 2);
	progress_end(&part);
	progress_split(&part, &whole, 500, NULL, 1);
	progress_add(&part, 1);
	progress_end(&part);
	progress_split(&part, &whole, 1, NULL, 1);
	progress_end(&part);
	progress_end(&whole);
}

static void test_too_much(void **state)
{
	unsigned int parts[32];
	char text[4096];
	size_t count, i;

	capture(too_much, text, sizeof(text));
	count = read_parts(text, parts, 32);
	assert_int_equal(count, 18);
	for (i = 2; i < 13; i++)
		assert_int_equal(parts[i], 5000);
	for (i = 14; i < 17; i++)
		assert_int_equal(parts[i], 9999);
	assert_int_equal(parts[17], 10000);
}

static void of_no_size(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole, part, inner;

	fake_step = 100 * NS_PER_MS;
	progress_begin(&whole, &view, "work", 2);
	progress_split(&part, &whole, 1, NULL, 0);
	progress_add(&part, 5);
	progress_split(&inner, &part, 3, NULL, 3);
	progress_add(&inner, 2);
	progress_end(&inner);
	progress_end(&part);
	progress_split(&part, &whole, 0, NULL, 3);
	progress_add(&part, 2);
	progress_end(&part);
	progress_end(&whole);
}

static void nothing(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole;

	progress_begin(&whole, &view, "nothing", 0);
	progress_add(&whole, 1);
	progress_end(&whole);
}

static void test_of_no_size(void **state)
{
	unsigned int parts[32];
	char text[4096];
	size_t count, i;

	capture(of_no_size, text, sizeof(text));
	count = read_parts(text, parts, 32);
	assert_int_equal(count, 11);
	for (i = 0; i < 6; i++)
		assert_int_equal(parts[i], 0);
	for (i = 6; i < 10; i++)
		assert_int_equal(parts[i], 5000);
	assert_int_equal(parts[10], 10000);
	capture(nothing, text, sizeof(text));
	assert_string_equal(text,
			    LINE("0.0000", "nothing", "null") LINE("1.0000", "nothing", "0.0"));
}

/* The first attempt came to 0.9, the second begins at 0. */
static void again(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole;

	fake_step = 100 * NS_PER_MS;
	progress_begin(&whole, &view, "once", 10);
	progress_add(&whole, 9);
	progress_begin(&whole, &view, "again", 10);
	progress_add(&whole, 8);
	progress_add(&whole, 2);
	progress_end(&whole);
}

static void test_never_goes_back(void **state)
{
	char text[1024];

	capture(again, text, sizeof(text));
	assert_string_equal(text,
			    LINE("0.0000", "once", "null") LINE("0.9000", "once", "null")
				    LINE("0.9000", "again", "null") LINE("0.9000", "again", "null")
					    LINE("0.9999", "again", "null")
						    LINE("1.0000", "again", "0.0"));
}

/* ---- how often ------------------------------------------------------------------------ */

/* A million calls, 10 us each. */
static void often(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole;
	int i;

	progress_begin(&whole, &view, "often", 1000000);
	for (i = 0; i < 1000000; i++) {
		fake_now += 10 * NS_PER_US;
		progress_add(&whole, 1);
	}
	progress_end(&whole);
}

static void test_ten_times_a_second(void **state)
{
	unsigned int parts[128];
	char text[16384];
	size_t count;

	capture(often, text, sizeof(text));
	count = read_parts(text, parts, 128);
	assert_true(count > 95 && count <= 102);
	assert_true(parts[1] >= 100 && parts[1] < 120);
	/* A look at least once in 2 ms, and not much more often. */
	assert_true(fake_looks > 5000 && fake_looks < 11000);
}

/* Calls that become slow: the clock is looked at after 1024 of them at the latest, and from then on in each. */
static void slow(void)
{
	struct progress_view view = view_of(&progress_json);
	struct progress whole;
	int i;

	progress_begin(&whole, &view, "slow", 20000);
	for (i = 0; i < 10000; i++)
		progress_add(&whole, 1);
	assert_in_range(fake_looks, 1 + 11, 1 + 11 + 10);
	fake_looks = 0;
	for (i = 0; i < 1024 && !fake_looks; i++) {
		fake_now += NS_PER_SEC;
		progress_add(&whole, 1);
	}
	for (i = 0; i < 20; i++) {
		fake_now += NS_PER_SEC;
		progress_add(&whole, 1);
	}
	assert_int_equal(fake_looks, 21);
}

static void test_slow_calls(void **state)
{
	unsigned int parts[32];
	char text[4096];

	capture(slow, text, sizeof(text));
	assert_int_equal(read_parts(text, parts, 32), 1 + 21);
}

/* ---- nobody looks ----------------------------------------------------------------------- */

static void into_a_pipe(void)
{
	struct progress_view bar = view_of(&progress_bar), none = view_of(NULL);
	struct progress_view *const views[] = {&bar, &none, NULL};
	struct progress whole, part;
	size_t i;

	fake_step = NS_PER_SEC;
	for (i = 0; i < 3; i++) {
		progress_begin(&whole, views[i], "work", 3);
		progress_split(&part, &whole, 1, "part", 2);
		progress_add(&part, 1);
		progress_end(&part);
		progress_add(&whole, 1);
		progress_end(&whole);
	}
	progress_split(&part, NULL, 1, "part", 2);
	progress_add(&part, 1);
	progress_end(&part);
	progress_add(NULL, 1);
	progress_end(NULL);
	assert_int_equal(fake_looks, 0);
}

static void test_not_a_terminal(void **state)
{
	char text[64];

	capture(into_a_pipe, text, sizeof(text));
	assert_string_equal(text, "");
}

/* ---- a terminal --------------------------------------------------------------------------- */

static void on_terminal(void)
{
	struct progress_view view = view_of(&progress_bar);
	struct progress whole;

	fake_step = 300 * NS_PER_MS;
	progress_begin(&whole, &view, "writing", 4);
	progress_add(&whole, 1);
	progress_add(&whole, 1);
	progress_end(&whole);
	log_set_level(LOG_WARN);
	progress_begin(&whole, &view, "not shown", 1);
	progress_end(&whole);
	log_set_level(LOG_INFO);
	log_info("end");
}

static void test_terminal(void **state)
{
	int ours, theirs;

	open_terminal(&ours, &theirs);
	redirect(theirs);
	on_terminal();
	restore();
	assert_terminal_says(ours, CLEAR "  [>           ]  0 %   writing" CLEAR
					 "  [===>        ] 25 %   writing" CLEAR
					 "  [======>     ] 50 %   writing, 0.6 s left" CLEAR
					 "geckobpf: end\n");
	close(ours);
	close(theirs);
}

static void test_bar(void **state)
{
	char bar[PROGRESS_BAR_BYTES];

	progress_draw_bar(bar, 0);
	assert_string_equal(bar, "[>           ] ");
	progress_draw_bar(bar, 0.5);
	assert_string_equal(bar, "[======>     ] ");
	progress_draw_bar(bar, 1);
	assert_string_equal(bar, "[============] ");
	progress_draw_bar(bar, 7);
	assert_string_equal(bar, "[============] ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),          cmocka_unit_test(test_no_gaps),
		cmocka_unit_test(test_too_much),        cmocka_unit_test(test_of_no_size),
		cmocka_unit_test(test_never_goes_back), cmocka_unit_test(test_ten_times_a_second),
		cmocka_unit_test(test_slow_calls),      cmocka_unit_test(test_not_a_terminal),
		cmocka_unit_test(test_terminal),        cmocka_unit_test(test_bar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
