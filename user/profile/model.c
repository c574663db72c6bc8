/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - see model.h. */
#include "profile/model.h"

#include "target/process.h"

static const char *const no_subcategories[] = {"Other", NULL};

/* The first grey one is where rows without a stack are drawn. */
const struct profile_category profile_categories[CATEGORY_COUNT] = {
	[CATEGORY_OTHER] = {"Other", "grey", no_subcategories},
	[CATEGORY_IDLE] = {"Idle", "transparent", no_subcategories},
	[CATEGORY_USER] = {"User", "yellow", no_subcategories},
	[CATEGORY_KERNEL] = {"Kernel", "orange", no_subcategories},
};

bool profile_is_main(const struct profile_thread *thread)
{
	return thread->thread->tid == thread->process->process->tgid;
}
