/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of the machine, against what the C library says; and when memory is out, less of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "session/machine_facts.h"

#include "alloc.h"
#include "elf_fixture.h"

static void test_facts(void **state)
{
	struct machine_facts facts;
	struct utsname names;
	char want[256];

	memset(&facts, 0xff, sizeof(facts));
	machine_facts_read(&facts);
	assert_int_equal(uname(&names), 0);
	snprintf(want, sizeof(want), "%s %s %s", names.sysname, names.release, names.machine);
	assert_string_equal(facts.oscpu, want);
	assert_true(memchr(facts.cpu_name, '\0', sizeof(facts.cpu_name)) != NULL);
	assert_null(strchr(facts.cpu_name, '\n'));
	assert_int_equal(facts.logical_cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_in_range(facts.physical_cpus, 0, facts.logical_cpus);
}

/* /proc/cpuinfo of x86 has the name; other architectures' may not. */
static void test_cpu_name(void **state)
{
#if defined(__x86_64__)
	char line[256], want[300] = "";
	FILE *file = fopen("/proc/cpuinfo", "r");
	struct machine_facts facts;

	assert_non_null(file);
	machine_facts_read(&facts);
	while (!want[0] && fgets(line, sizeof(line), file))
		if (!strncmp(line, "model name", 10))
			snprintf(want, sizeof(want), "%.*s",
				 (int)strcspn(strchr(line, ':') + 2, "\n"), strchr(line, ':') + 2);
	fclose(file);
	assert_string_equal(facts.cpu_name, want);
#else
	skip();
#endif
}

static void assert_device(const char *want)
{
	char device[160];

	machine_facts_device(fixture_dir, device, sizeof(device));
	assert_string_equal(device, want);
	machine_facts_device(fixture_dir, device, 5);
	assert_int_equal(strlen(device), strlen(want) < 4 ? strlen(want) : 4);
}

/* What firmware says of PCs, and of boards that have a device tree. */
static void test_device(void **state)
{
	assert_device("");
	assert_true(fixture_run("mkdir -p proc/device-tree sys/class/dmi/id"));
	fixture_write("proc/device-tree/model", "A board\0", 8);
	assert_device("A board");
	fixture_write("sys/class/dmi/id/product_name", "X1\n", 3);
	assert_device("X1");
	fixture_write("sys/class/dmi/id/sys_vendor", "Maker\nrest", 10);
	assert_device("Maker X1");
}

static void test_no_memory(void **state)
{
	struct machine_facts whole, facts;
	size_t n;

	machine_facts_read(&whole);
	for (n = 1;; n++) {
		alloc_fail_at(n);
		machine_facts_read(&facts);
		if (!alloc_fail_stop())
			break;
		assert_string_equal(facts.oscpu, whole.oscpu);
		assert_true(!facts.cpu_name[0] || !strcmp(facts.cpu_name, whole.cpu_name));
		assert_true(!facts.logical_cpus || facts.logical_cpus == whole.logical_cpus);
		assert_in_range(facts.physical_cpus, 0, whole.physical_cpus);
	}
	assert_true(n > 4);
	assert_memory_equal(&facts, &whole, sizeof(facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_cpu_name),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
