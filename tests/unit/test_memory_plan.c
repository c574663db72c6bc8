/* SPDX-License-Identifier: BSD-2-Clause */
/* test_memory_plan.c - how much memory there is, as /proc and the cgroups of both versions say it, and what fits into it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "alloc.h"
#include "session/memory_plan.h"
#include "session/session.h"

#define MIB ((uint64_t)1 << 20)

static char root[] = "/tmp/geckobpf-test-memory-plan.XXXXXX";

/* The file ROOT/PATH, with its directories. */
static void put(const char *path, const char *text)
{
	char command[512], whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", whole);
	assert_int_equal(system(command), 0);
	file = fopen(whole, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void clear(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
}

static void nothing_is_known(void **state)
{
	assert_true(memory_plan_room(root) == UINT64_MAX);
	put("proc/meminfo", "MemTotal:  8 kB\n");
	put("proc/self/cgroup", "");
	assert_true(memory_plan_room(root) == UINT64_MAX);
	put("proc/self/cgroup", "0::/there/is/none\n:\n0:\n0::relative\n4:cpu:/\n");
	assert_true(memory_plan_room(root) == UINT64_MAX);
	clear();
}

static void of_the_machine(void **state)
{
	put("proc/meminfo",
	    "MemTotal:       24684092 kB\nMemAvailable:   1024 kB\nBuffers: 3 kB\n");
	assert_true(memory_plan_room(root) == MIB);
	clear();
}

static void of_the_tightest_group(void **state)
{
	put("proc/meminfo", "MemAvailable:   8388608 kB\n");
	put("proc/self/cgroup", "0::/system.slice/x.service\n");
	put("sys/fs/cgroup/system.slice/x.service/memory.max", "max\n");
	put("sys/fs/cgroup/system.slice/x.service/memory.current", "4096\n");
	assert_true(memory_plan_room(root) == 8192 * MIB);
	put("sys/fs/cgroup/system.slice/memory.max", "104857600\n");
	put("sys/fs/cgroup/system.slice/memory.current", "20971520\n");
	assert_true(memory_plan_room(root) == 80 * MIB);
	put("sys/fs/cgroup/system.slice/memory.stat", "anon 5\ninactive_file 10485760\n");
	assert_true(memory_plan_room(root) == 90 * MIB);
	put("sys/fs/cgroup/system.slice/x.service/memory.max", "4096\n");
	assert_true(memory_plan_room(root) == 0);
	clear();
}

static void of_a_group_of_the_first_version(void **state)
{
	put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/box/1\n0::/\n");
	put("sys/fs/cgroup/memory/box/1/memory.limit_in_bytes", "62914560\n");
	put("sys/fs/cgroup/memory/box/1/memory.usage_in_bytes", "1048576\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
	assert_true(memory_plan_room(root) == 59 * MIB);
	put("proc/self/cgroup", "4:memory:/\n");
	assert_true(memory_plan_room(root) > 1024 * MIB);
	clear();
}

static int read_room(void *context)
{
	uint64_t *rooms = context;

	*rooms = memory_plan_room(root);
	return *rooms == 59 * MIB ? 0 : -ENOMEM;
}

/* Without memory to read it, a limit is not known. */
static void failing_allocations(void **state)
{
	uint64_t room;

	put("proc/self/cgroup", "4:memory:/box\n");
	put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "62914560\n");
	put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1048576\n");
	assert_true(alloc_fail_each(read_room, &room) >= 3);
	clear();
}

static struct session_config usual(void)
{
	return (struct session_config){
		.rate_hz = 1000, .buffer_bytes = 128 * MIB, .unwind_bytes = 64 * MIB};
}

static void what_fits_stays(void **state)
{
	struct session_config config = usual();
	const uint64_t most = memory_plan_most(&config, 2);

	assert_in_range(most, (64 + 128) * MIB, 400 * MIB);
	assert_false(memory_plan_fit(&config, 2, UINT64_MAX));
	assert_false(memory_plan_fit(&config, 2, most));
	assert_int_equal(config.buffer_bytes, 128 * MIB);
	assert_true(memory_plan_fit(&config, 2, most - 1));
}

/* Whatever there is, what is made of it fits, as long as the smallest does, and is whole MiB. */
static void what_does_not_fit_is_made_smaller(void **state)
{
	uint64_t room;

	for (room = 0; room < 400 * MIB; room += 999999) {
		struct session_config config = usual(), smallest = usual();
		const bool is_smaller = memory_plan_fit(&config, 2, room);

		memory_plan_fit(&smallest, 2, 0);
		assert_true(is_smaller == (config.buffer_bytes < 128 * MIB));
		assert_true(config.buffer_bytes >= 8 * MIB && config.unwind_bytes >= 4 * MIB);
		assert_int_equal(config.buffer_bytes % MIB + config.unwind_bytes % MIB, 0);
		if (room >= memory_plan_most(&smallest, 2) + 30 * MIB)
			assert_true(memory_plan_most(&config, 2) <= room);
	}
}

/* Only where the sizes that are left to choose are not enough, since small maps may be too small. */
static void maps_are_small_at_last(void **state)
{
	struct session_config config = usual();

	assert_true(memory_plan_fit(&config, 2, 140 * MIB));
	assert_false(config.saves_memory);
	config = usual();
	assert_true(memory_plan_fit(&config, 2, 100 * MIB));
	assert_true(config.saves_memory);
}

static void small_sizes_that_were_asked_for_stay(void **state)
{
	struct session_config config = {
		.rate_hz = 1000, .buffer_bytes = 1 * MIB, .unwind_bytes = 4 * MIB};

	memory_plan_fit(&config, 2, 0);
	assert_int_equal(config.buffer_bytes, 1 * MIB);
	assert_int_equal(config.unwind_bytes, 4 * MIB);
}

static int setup(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	return remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known),
		cmocka_unit_test(of_the_machine),
		cmocka_unit_test(of_the_tightest_group),
		cmocka_unit_test(of_a_group_of_the_first_version),
		cmocka_unit_test(failing_allocations),
		cmocka_unit_test(what_fits_stays),
		cmocka_unit_test(what_does_not_fit_is_made_smaller),
		cmocka_unit_test(maps_are_small_at_last),
		cmocka_unit_test(small_sizes_that_were_asked_for_stay),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
