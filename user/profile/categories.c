/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * categories.c - see categories.h.
 *
 * A rule is a name, or the begin of names if it ends with '*'; underscores that a name begins with do not count, nor does
 * what compilers and linkers put behind it. The longest rule that fits is taken. A function of the kernel that fits none
 * does what its caller does, and one of libc does if its caller allocates.
 */
#include "profile/categories.h"

#include <stddef.h>
#include <string.h>

#include "profile/category_rules.h"
#include "profile/model.h"

/* What may stand behind a name that is whole: a version, a clone's suffix, arguments, nothing. */
static bool is_end(char c)
{
	return !c || c == '.' || c == '@' || c == '(' || c == '<';
}

/* How much of the name the rule says; 0: it does not fit. */
static size_t fit(const char *rule, const char *name)
{
	size_t i = 0;

	while (rule[i] && rule[i] == name[i])
		i++;
	return rule[i] == '*' || (!rule[i] && is_end(name[i])) ? i : 0;
}

/* The first of the names that does not begin with a lower byte. */
static size_t find_letter(const struct category_rules *rules, unsigned char letter)
{
	size_t low = 0, high = rules->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if ((unsigned char)rules->names[middle][0] < letter)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How much of the name the longest of the rules says; 0: none fits. */
static size_t longest_fit(const struct category_rules *rules, const char *name)
{
	size_t longest = 0, i;

	for (i = find_letter(rules, (unsigned char)name[0]);
	     i < rules->count && rules->names[i][0] == name[0]; i++) {
		size_t length = fit(rules->names[i], name);

		if (length > longest)
			longest = length;
	}
	return longest;
}

static const struct category_rules *find_rule(const struct category_table *table, const char *name)
{
	const struct category_rules *best = NULL;
	size_t longest = 0, i;

	for (i = 0; i < table->count; i++) {
		size_t length = longest_fit(&table->rules[i], name);

		if (length <= longest)
			continue;
		longest = length;
		best = &table->rules[i];
	}
	return best;
}

static const struct category_rules *find_function(const struct category_table *table,
						  const char *name)
{
	return name ? find_rule(table, name + strspn(name, "_")) : NULL;
}

#define ALL_WORK ((uint8_t)((1U << KERNEL_WORK_COUNT) - 2)) /* but 0, which says nothing */
_Static_assert(KERNEL_WORK_COUNT <= 8, "profile_frame.inherits has a bit for each");

static void decide_kernel(const struct profile_function *function, struct profile_frame *frame)
{
	const struct category_rules *rule = find_function(&kernel_category_table, function->name);

	frame->inherits = rule ? 0 : ALL_WORK;
	if (!rule)
		return;
	frame->category = (uint8_t)rule->category;
	frame->subcategory = rule->subcategory;
}

/* "libz.so.1", "plugin.so". */
static bool is_library(const char *lib)
{
	const char *so = strstr(lib, ".so");

	return so && (!so[3] || so[3] == '.');
}

static void decide_file(const char *lib, struct profile_frame *frame)
{
	const struct category_rules *rule = find_rule(&file_category_table, lib);

	if (rule) {
		frame->category = (uint8_t)rule->category;
		frame->subcategory = rule->subcategory;
	} else if (is_library(lib)) {
		frame->category = CATEGORY_LIBRARY;
	}
}

static void decide_user(const struct profile_function *function, bool is_unnamed,
			struct profile_frame *frame)
{
	const struct category_rules *rule;

	if (function->lib)
		decide_file(function->lib, frame);
	if (frame->subcategory)
		return;
	rule = is_unnamed ? NULL : find_function(&function_category_table, function->name);
	if (rule)
		frame->subcategory = rule->subcategory;
	else if (is_unnamed)
		frame->subcategory = USER_UNNAMED;
	if (!rule && frame->category == CATEGORY_LIBC)
		frame->inherits = 1U << USER_ALLOCATION;
}

void categories_decide(const struct profile_function *function, bool is_unnamed,
		       struct profile_frame *frame)
{
	if (frame->category == CATEGORY_KERNEL)
		decide_kernel(function, frame);
	else if (frame->category == CATEGORY_USER)
		decide_user(function, is_unnamed, frame);
}
