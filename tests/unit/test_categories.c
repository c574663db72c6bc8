/* SPDX-License-Identifier: BSD-2-Clause */
/* What kind of work a function does, by its name and file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "profile/categories.h"
#include "profile/category_rules.h"
#include "profile/model.h"

struct decision {
	const char *name, *lib;
	bool is_unnamed;
	const char *category, *subcategory; /* subcategory NULL: its caller's */
};

static void check(const struct decision *expected, enum profile_category_index kind)
{
	const struct profile_function function = {.name = expected->name, .lib = expected->lib};
	struct profile_frame frame = {.category = kind};
	const struct profile_category *category;

	categories_decide(&function, expected->is_unnamed, &frame);
	category = &profile_categories[frame.category];
	if (strcmp(category->name, expected->category))
		fail_msg("%s: %s", expected->name, category->name);
	if (kind == CATEGORY_KERNEL)
		assert_int_equal(frame.inherits != 0, !expected->subcategory);
	if (expected->subcategory &&
	    strcmp(category->subcategories[frame.subcategory], expected->subcategory))
		fail_msg("%s: %s", expected->name, category->subcategories[frame.subcategory]);
}

static void of_the_kernel(void **state)
{
	static const struct decision rows[] = {
		{"do_syscall_64", "[kernel]", false, "Kernel", "System call"},
		{"__x64_sys_sendto", "[kernel]", false, "Kernel", "System call"},
		{"asm_exc_page_fault", "[kernel]", false, "Kernel", "Page fault"},
		{"asm_exc_nmi", "[kernel]", false, "Kernel", "Interrupt"},
		{"asm_sysvec_apic_timer_interrupt", "[kernel]", false, "Kernel", "Interrupt"},
		{"tcp_sendmsg_locked", "[kernel]", false, "Kernel", "Network"},
		{"__ip_queue_xmit", "[kernel]", false, "Kernel", "Network"},
		{"ext4_file_write_iter", "[ext4]", false, "Kernel", "File system"},
		{"__alloc_pages_noprof", "[kernel]", false, "Kernel", "Memory"},
		{"kfree", "[kernel]", false, "Kernel", "Memory"},
		{"kfree_skb_reason", "[kernel]", false, "Kernel", "Network"}, /* the longest */
		{"finish_task_switch.isra.0", "[kernel]", false, "Kernel", "Scheduler"},
		{"release_sock", "[kernel]", false, "Kernel", "Network"},
		{"do_idle", "[kernel]", false, "Idle", "Other"},
		{"_raw_spin_lock", "[kernel]", false, "Kernel", NULL},
		{"kfreed", "[kernel]", false, "Kernel", NULL}, /* no rule says so of begins */
		{"[unknown]", "[kernel]", true, "Kernel", NULL},
		{"____", "[kernel]", false, "Kernel", NULL},
		{"", "[kernel]", false, "Kernel", NULL},
		{NULL, NULL, false, "Kernel", NULL},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], CATEGORY_KERNEL);
}

static void of_programs(void **state)
{
	static const struct decision rows[] = {
		{"main", "app", false, "User", "Other"},
		{"tcp_connect", "app", false, "User", "Other"},
		{"operator new(unsigned long)", "app", false, "User", "Allocation"},
		{"free", "app", false, "User", "Allocation"},
		{"free_list", "app", false, "User", "Other"},
		{NULL, "app", true, "User", "Code without a name"},
		{"malloc", "libjemalloc.so.2", false, "Library", "Allocation"},
		{"deflate", "libz.so.1.2.13", false, "Library", "Other"},
		{NULL, "libz.so", true, "Library", "Code without a name"},
		{"x", "my.sources", false, "User", "Other"},
		{"_int_malloc", "libc.so.6", false, "libc", "Allocation"},
		{"_mid_memalign.isra.0", "libc.so.6", false, "libc", "Allocation"},
		{"munmap_chunk", "libc.so.6", false, "libc", "Allocation"},
		{"__libc_start_main@@GLIBC_2.34", "libc.so.6", false, "libc", "Other"},
		{NULL, "ld-linux-x86-64.so.2", true, "libc", "Code without a name"},
		{"clock_gettime", "[vdso]", false, "Library", "Other"},
		{"LazyCompile:~f", "[anon]", false, "User", "JIT"},
		{"[anonymous code]", "[heap]", true, "User", "JIT"},
		{"[unknown]", "[unmapped]", true, "User", "Code without a name"},
		{NULL, NULL, false, "User", "Other"}, /* no names are wanted */
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], CATEGORY_USER);
}

static bool takes_allocation(const char *name, const char *lib, bool is_unnamed)
{
	const struct profile_function function = {.name = name, .lib = lib};
	struct profile_frame frame = {.category = CATEGORY_USER};

	categories_decide(&function, is_unnamed, &frame);
	assert_int_equal(frame.inherits & ~(1U << USER_ALLOCATION), 0);
	return frame.inherits;
}

/* Only in libc is it known that all that an allocation calls is part of it. */
static void of_callees_of_allocations(void **state)
{
	assert_true(takes_allocation(NULL, "libc.so.6", true));
	assert_true(takes_allocation("__brk", "libc.so.6", false));
	assert_false(takes_allocation("_int_malloc", "libc.so.6", false)); /* it is one itself */
	assert_false(takes_allocation("__restore_rt", "libc.so.6", false)); /* not a callee */
	assert_false(takes_allocation("hook", "app", false));
	assert_false(takes_allocation(NULL, "libjemalloc.so.2", true));
	assert_false(takes_allocation(NULL, "[heap]", true));
}

static const struct category_table *const tables[] = {
	&kernel_category_table,
	&file_category_table,
	&function_category_table,
};

/* They are looked for by their first letter. */
static void rules_in_order(void **state)
{
	size_t t, i, k;

	for (t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (i = 0; i < tables[t]->count; i++) {
			const struct category_rules *rules = &tables[t]->rules[i];

			assert_true(rules->names[0][0]);
			for (k = 1; k < rules->count; k++)
				if (strcmp(rules->names[k - 1], rules->names[k]) >= 0)
					fail_msg("\"%s\" is before \"%s\"", rules->names[k - 1],
						 rules->names[k]);
		}
}

/* The row of the longest rule that a name begins with, by looking at all of them. */
static const struct category_rules *longest_rule(const struct category_table *table,
						 const char *name)
{
	const struct category_rules *best = NULL;
	size_t longest = 0, i, k;

	for (i = 0; i < table->count; i++)
		for (k = 0; k < table->rules[i].count; k++) {
			const char *rule = table->rules[i].names[k];
			size_t length = strcspn(rule, "*");

			if (strncmp(rule, name, length) || (!rule[length] && name[length]) ||
			    length <= longest)
				continue;
			longest = length;
			best = &table->rules[i];
		}
	return best;
}

/* What each rule says of itself, and of names that begin with it, is what the longest of all says. */
static void every_rule(void **state)
{
	static const enum profile_category_index kinds[] = {CATEGORY_KERNEL, CATEGORY_USER};
	const struct category_table *const of_functions[] = {tables[0], tables[2]};
	size_t t, i, k;

	for (t = 0; t < 2; t++)
		for (i = 0; i < of_functions[t]->count; i++)
			for (k = 0; k < of_functions[t]->rules[i].count; k++) {
				char name[64];
				const struct profile_function function = {.name = name};
				struct profile_frame frame = {.category = kinds[t]};
				const struct category_rules *rule;

				snprintf(name, sizeof(name), "%s",
					 of_functions[t]->rules[i].names[k]);
				rule = longest_rule(of_functions[t], name);
				assert_non_null(rule);
				categories_decide(&function, false, &frame);
				assert_int_equal(frame.category, rule->category);
				assert_int_equal(frame.subcategory, rule->subcategory);
			}
}

static void of_no_code(void **state)
{
	check(&(struct decision){"do_idle", NULL, false, "Other", "Other"}, CATEGORY_OTHER);
}

/* Front-ends have no other colours, and the first subcategory is "Other". */
static void the_list(void **state)
{
	static const char colors[] = " grey transparent yellow orange green blue purple red ";
	size_t i, k;

	for (i = 0; i < CATEGORY_COUNT; i++) {
		const struct profile_category *category = &profile_categories[i];

		assert_non_null(strstr(colors, category->color));
		assert_string_equal(category->subcategories[0], "Other");
		for (k = 0; k < i; k++)
			assert_string_not_equal(category->name, profile_categories[k].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_kernel),
		cmocka_unit_test(of_programs),
		cmocka_unit_test(of_callees_of_allocations),
		cmocka_unit_test(rules_in_order),
		cmocka_unit_test(every_rule),
		cmocka_unit_test(of_no_code),
		cmocka_unit_test(the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
