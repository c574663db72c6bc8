/* SPDX-License-Identifier: BSD-2-Clause */
/* test_merged_facts.c - what several recordings say of themselves: times, pauses, counters, texts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "recording/losses.h"
#include "recording/merged_facts.h"

#define BOOT "b1f0"

static struct merged_facts *merged;

static int setup(void **state)
{
	return merged_facts_open(&merged);
}

static int teardown(void **state)
{
	merged_facts_close(merged);
	merged = NULL;
	return 0;
}

static struct recording_facts make(uint64_t start_ns, uint64_t end_ns)
{
	return (struct recording_facts){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.start_real_ns = 5000 + start_ns,
		.interval_ns = 10,
		.boot_id = BOOT,
		.began_ns = start_ns,
	};
}

static void add(const struct recording_facts *facts, const char *name)
{
	assert_int_equal(merged_facts_add(merged, facts, name, 0), 0);
}

static const struct recording_facts *get(void)
{
	const struct recording_facts *facts;

	assert_int_equal(merged_facts_get(merged, &facts), 0);
	return facts;
}

static void assert_pauses(const struct recording_facts *facts, size_t count,
			  const struct time_range *pauses)
{
	size_t i;

	assert_int_equal(facts->pause_count, count);
	for (i = 0; i < count; i++) {
		assert_int_equal(facts->pauses[i].start_ns, pauses[i].start_ns);
		assert_int_equal(facts->pauses[i].end_ns, pauses[i].end_ns);
	}
}

/* One recording says what it said, a pause that lasts included. */
static void test_one(void **state)
{
	static const struct time_range pauses[] = {{120, 130}, {150, 0}};
	const struct recording_fact log[] = {{.name = "lost", .value = 3},
					     {.name = "x", .text = "y"}};
	static const char *const threads[] = {"pid:42", NULL};
	struct recording_facts facts = make(100, 200);

	facts.product = "hot";
	facts.pauses = pauses;
	facts.pause_count = 2;
	facts.log = log;
	facts.log_count = 2;
	facts.threads = threads;
	facts.until_ns = 190;
	add(&facts, "a.gbpf");
	assert_string_equal(get()->product, "hot");
	assert_pauses(get(), 2, pauses);
	assert_int_equal(get()->log_count, 2);
	assert_string_equal(get()->log[1].text, "y");
	assert_string_equal(get()->threads[0], "pid:42");
	assert_null(get()->threads[1]);
	assert_int_equal(get()->until_ns, 190);
	assert_int_equal(get()->part_count, 0);
}

static void test_times(void **state)
{
	struct recording_facts a = make(100, 200), b = make(150, 300), c = make(160, 250);

	a.until_ns = 200;
	b.until_ns = 290;
	b.interval_ns = 5;
	c.until_ns = 0;
	b.include_args = 3;
	add(&a, "a");
	add(&b, "b");
	add(&c, "c");
	assert_int_equal(get()->start_ns, 100);
	assert_int_equal(get()->start_real_ns, 5100);
	assert_int_equal(get()->end_ns, 300);
	assert_int_equal(get()->until_ns, 290);
	assert_int_equal(get()->interval_ns, 5);
	assert_int_equal(get()->include_args, 3);
	assert_pauses(get(), 0, NULL);
}

/* Paused is when nobody recorded: the hole between two, and where the pauses of all meet. */
static void test_pauses(void **state)
{
	static const struct time_range of_a[] = {{90, 95}, {120, 140}, {190, 0}};
	static const struct time_range of_b[] = {{130, 150}, {155, 160}, {158, 170}};
	struct recording_facts a = make(100, 200), b = make(110, 180), c = make(250, 300);

	a.pauses = of_a;
	a.pause_count = 3;
	b.pauses = of_b;
	b.pause_count = 3;
	add(&a, "a");
	add(&b, "b");
	add(&c, "c");
	assert_pauses(get(), 2, (struct time_range[]){{130, 140}, {190, 250}});
}

/* Times of another clock are moved, those before its zero to zero. */
static void test_moved(void **state)
{
	static const struct time_range pauses[] = {{1010, 1020}};
	struct recording_facts a = make(100, 200), b = make(1000, 1050);

	b.pauses = pauses;
	b.pause_count = 1;
	b.until_ns = 1045;
	add(&a, "a");
	assert_int_equal(merged_facts_add(merged, &b, "b", (uint64_t)-800), 0);
	assert_int_equal(get()->end_ns, 250);
	assert_int_equal(get()->until_ns, 245);
	assert_pauses(get(), 1, (struct time_range[]){{210, 220}});
	assert_int_equal(get()->parts[1].facts->start_ns, 1000);
}

static const struct recording_fact *find(const char *name)
{
	const struct recording_facts *facts = get();
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (!strcmp(facts->log[i].name, name))
			return &facts->log[i];
	return NULL;
}

/* The capture at 200 counts what the one at 150 has counted: only other recordings are added. */
static void test_counters(void **state)
{
	const struct recording_fact first[] = {{.name = "lost", .value = 3},
					       {.name = "old", .value = 9}};
	const struct recording_fact second[] = {{.name = "lost", .value = 5},
						{.name = "sampling_rate_hz", .value = 100},
						{.name = "period_ns", .value = 10},
						{.name = "event", .text = "cpu-clock"},
						{.name = "kernel", .text = "6.1"},
						{.name = "main_memory_bytes", .value = 64},
						{.name = RECORDING_COST_LEAST, .value = 5},
						{.name = RECORDING_COST_MEMORY, .value = 8}};
	const struct recording_fact other[] = {{.name = "lost", .value = 7},
					       {.name = "sampling_rate_hz", .value = 100},
					       {.name = "period_ns", .value = 20},
					       {.name = "event", .text = "cpu-clock"},
					       {.name = "kernel", .text = "6.2"},
					       {.name = "more", .value = 1},
					       {.name = "main_memory_bytes", .value = 64},
					       {.name = RECORDING_COST_LEAST, .value = 4},
					       {.name = RECORDING_COST_MEMORY, .value = 7}};
	struct recording_facts a = make(100, 150), b = make(100, 200), c = make(300, 400);

	a.log = first;
	a.log_count = 2;
	b.log = second;
	b.log_count = sizeof(second) / sizeof(second[0]);
	c.log = other;
	c.log_count = sizeof(other) / sizeof(other[0]);
	add(&b, "b");
	add(&c, "c");
	assert_int_equal(find("lost")->value, 12);
	assert_int_equal(find("sampling_rate_hz")->value, 100);
	assert_null(find("period_ns"));
	assert_string_equal(find("event")->text, "cpu-clock");
	assert_null(find("kernel"));
	assert_int_equal(find("more")->value, 1);
	assert_int_equal(find("main_memory_bytes")->value, 64);
	assert_int_equal(find(RECORDING_COST_LEAST)->value, 4);
	assert_int_equal(find(RECORDING_COST_MEMORY)->value, 8);
	teardown(NULL);
	assert_int_equal(setup(NULL), 0);
	add(&b, "b");
	add(&a, "a");
	assert_int_equal(find("lost")->value, 5);
	assert_null(find("old"));
}

/* As the counters; in the clock of the first one, however often it is asked. */
static void test_losses(void **state)
{
	static const struct loss first[] = {{110, 120, 3, LOSS_RING}};
	static const struct loss second[] = {{110, 120, 3, LOSS_RING}, {160, 170, 5, LOSS_TICKS}};
	static const struct loss other[] = {{300, 310, 7, LOSS_RING}};
	struct recording_facts a = make(100, 150), b = make(100, 200), c = make(300, 400);
	const struct loss *losses;

	a.losses = first;
	a.loss_count = 1;
	b.losses = second;
	b.loss_count = 2;
	c.losses = other;
	c.loss_count = 1;
	add(&a, "a");
	assert_int_equal(get()->loss_count, 1);
	add(&b, "b");
	assert_int_equal(merged_facts_add(merged, &c, "c", 1000), 0);
	(void)get();
	assert_int_equal(get()->loss_count, 3);
	losses = get()->losses;
	assert_int_equal(losses[0].cause, LOSS_RING);
	assert_int_equal(losses[0].count, 3);
	assert_int_equal(losses[1].cause, LOSS_TICKS);
	assert_int_equal(losses[1].from_ns, 160);
	assert_int_equal(losses[2].from_ns, 1300);
	assert_int_equal(losses[2].to_ns, 1310);
	assert_int_equal(losses[2].count, 7);
}

static void test_texts(void **state)
{
	static const char *const of_a[] = {"pid:1", "pid:2", NULL}, *const of_b[] = {"pid:2", "*",
										     NULL};
	struct recording_facts a = make(100, 200), b = make(300, 400), c = make(500, 600);

	a.product = "hot";
	b.product = "cold";
	c.product = "hot";
	a.oscpu = b.oscpu = c.oscpu = "Linux";
	a.cpu_name = "One";
	b.cpu_name = c.cpu_name = "Two";
	a.logical_cpus = b.logical_cpus = c.logical_cpus = 2;
	c.physical_cpus = 1;
	a.duration_s = b.duration_s = c.duration_s = 2.5;
	a.threads = of_a;
	b.threads = of_b;
	add(&a, "x");
	add(&b, "geckobpf");
	add(&c, "x");
	assert_string_equal(get()->product, "hot, cold");
	assert_string_equal(get()->oscpu, "Linux");
	assert_null(get()->cpu_name);
	assert_int_equal(get()->logical_cpus, 2);
	assert_int_equal(get()->physical_cpus, 0);
	assert_true(get()->duration_s == 2.5);
	assert_string_equal(get()->threads[0], "pid:1");
	assert_string_equal(get()->threads[1], "pid:2");
	assert_string_equal(get()->threads[2], "*");
	assert_null(get()->threads[3]);
	assert_int_equal(get()->part_count, 3);
	assert_string_equal(get()->parts[0].name, "x");
	assert_string_equal(get()->parts[1].name, "geckobpf (2)");
	assert_string_equal(get()->parts[2].name, "x (2)");
	assert_string_equal(get()->parts[1].facts->cpu_name, "Two");
}

/* More than fits is cut, not written. */
static void test_long_titles(void **state)
{
	char names[12][64];
	struct recording_facts facts = make(100, 200);
	size_t i;

	for (i = 0; i < 12; i++) {
		memset(names[i], 'a' + (int)i, 63);
		names[i][63] = '\0';
		facts.product = names[i];
		facts.began_ns = i + 1;
		add(&facts, "x");
	}
	assert_int_equal(strlen(get()->product), 255);
}

static void test_same_clock(void **state)
{
	struct recording_facts a = make(100, 200), b = make(300, 400);

	assert_true(merged_facts_same_clock(&a, &b));
	b.boot_id = "other";
	assert_false(merged_facts_same_clock(&a, &b));
	b.boot_id = NULL;
	assert_false(merged_facts_same_clock(&a, &b));
	a.boot_id = NULL;
	assert_true(merged_facts_same_clock(&a, &b));
	b.start_real_ns++;
	assert_false(merged_facts_same_clock(&a, &b));
}

static int attempt(void *context)
{
	static const struct time_range pauses[] = {{120, 130}};
	static const char *const list[] = {"a", "b", NULL};
	static const struct loss losses[] = {{110, 120, 3, LOSS_RING}};
	const struct recording_fact log[] = {{.name = "lost", .value = 3},
					     {.name = "x", .text = "y"}};
	struct recording_facts facts = make(100, 200);
	const struct recording_facts *got;
	struct merged_facts *some = NULL;
	int err = merged_facts_open(&some);

	facts.product = facts.version = facts.oscpu = "text";
	facts.pauses = pauses;
	facts.pause_count = 1;
	facts.losses = losses;
	facts.loss_count = 1;
	facts.log = log;
	facts.log_count = 2;
	facts.threads = facts.features = list;
	if (!err)
		err = merged_facts_add(some, &facts, "a", 0);
	if (!err)
		err = merged_facts_add(some, &facts, "b", 0);
	if (!err)
		err = merged_facts_get(some, &got);
	merged_facts_close(some);
	return err;
}

static void test_no_memory(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 15);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_one),        FRESH(test_times),
		FRESH(test_pauses),     FRESH(test_moved),
		FRESH(test_counters),   FRESH(test_losses),
		FRESH(test_texts),      FRESH(test_long_titles),
		FRESH(test_same_clock), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
