/* SPDX-License-Identifier: BSD-2-Clause */
/* category_rules.h - names of functions and files that say what kind of work is done: tables for categories.c. */
#ifndef GECKOBPF_PROFILE_CATEGORY_RULES_H
#define GECKOBPF_PROFILE_CATEGORY_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

/* What all of the names are. */
struct category_rules {
	enum profile_category_index category;
	uint8_t subcategory;
	const char *const *names; /* each once, in the order of their bytes; none is empty */
	size_t count;
};

struct category_table {
	const struct category_rules *rules;
	size_t count;
};

extern const struct category_table kernel_category_table; /* functions of the kernel */
extern const struct category_table file_category_table; /* files that code is in */
extern const struct category_table function_category_table; /* functions of user code */

#endif
