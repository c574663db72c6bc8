/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - see model.h. */
#include "profile/model.h"

#include "target/process.h"

static const char *const no_subcategories[] = {"Other", NULL};

static const char *const user_work[USER_WORK_COUNT + 1] = {
	"Other",
	[USER_ALLOCATION] = "Allocation",
	[USER_UNNAMED] = "Code without a name",
	[USER_JIT] = "JIT",
};

static const char *const kernel_work[KERNEL_WORK_COUNT + 1] = {
	"Other",
	[KERNEL_SYSTEM_CALL] = "System call",
	[KERNEL_PAGE_FAULT] = "Page fault",
	[KERNEL_INTERRUPT] = "Interrupt",
	[KERNEL_NETWORK] = "Network",
	[KERNEL_FILE_SYSTEM] = "File system",
	[KERNEL_MEMORY] = "Memory",
	[KERNEL_SCHEDULER] = "Scheduler",
};

static const char *const waits[WAIT_COUNT + 1] = {
	"Other",
	[WAIT_LOCK] = "Lock",
	[WAIT_POLL] = "Poll",
	[WAIT_SLEEP] = "Sleep",
	[WAIT_DISK] = "Disk",
	[WAIT_PAGE_FAULT] = "Page fault",
	[WAIT_SOCKET_READ] = "Socket read",
	[WAIT_SOCKET_WRITE] = "Socket write",
	[WAIT_SOCKET_ACCEPT] = "Socket accept",
	[WAIT_PIPE] = "Pipe",
	[WAIT_CHILD] = "Child",
	[WAIT_STOPPED] = "Stopped",
};

/* The first grey one is where rows without a stack are drawn. */
const struct profile_category profile_categories[CATEGORY_COUNT] = {
	[CATEGORY_OTHER] = {"Other", "grey", no_subcategories},
	[CATEGORY_IDLE] = {"Idle", "transparent", waits},
	[CATEGORY_USER] = {"User", "yellow", user_work},
	[CATEGORY_KERNEL] = {"Kernel", "orange", kernel_work},
	[CATEGORY_LIBRARY] = {"Library", "green", user_work},
	[CATEGORY_LIBC] = {"libc", "blue", user_work},
	[CATEGORY_BLOCKED] = {"Blocked", "purple", waits},
	[CATEGORY_RUNNABLE] = {"Runnable", "red", no_subcategories},
};

bool profile_is_main(const struct profile_thread *thread)
{
	return thread->thread->tid == thread->process->process->tgid;
}

bool profile_is_before_begin(const struct recording_facts *facts, uint64_t time_ns)
{
	return facts->is_cut && time_ns < facts->start_ns;
}

bool profile_has_time(const struct recording_facts *facts, const struct profile_filter *filter,
		      uint64_t time_ns)
{
	if (profile_is_before_begin(facts, time_ns))
		return false;
	if (facts->until_ns && time_ns > facts->until_ns)
		return false;
	return profile_filter_time(filter, profile_time_ns(facts, time_ns));
}
