/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.c - see filter.h. */
#include "profile/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "target/process.h"

bool profile_filter_is_empty(const struct profile_filter *filter)
{
	return !filter->from_ns && !filter->to_ns && !filter->process && !filter->thread;
}

static bool is_number(const char *wanted, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return !strcmp(wanted, text);
}

static bool is_name(const char *wanted, const char name[THREAD_NAME_BYTES])
{
	char text[THREAD_NAME_BYTES + 1] = {0};

	memcpy(text, name, strnlen(name, THREAD_NAME_BYTES));
	return !fnmatch(wanted, text, 0);
}

bool profile_filter_process(const struct profile_filter *filter, const struct process *process)
{
	char image[32];

	if (!filter->process || is_number(filter->process, process->tgid) ||
	    is_name(filter->process, process->name))
		return true;
	snprintf(image, sizeof(image), "%u.%u", process->tgid, process->life);
	return !strcmp(filter->process, image);
}

bool profile_filter_thread(const struct profile_filter *filter, const struct thread *thread)
{
	return !filter->thread || is_number(filter->thread, thread->tid) ||
	       is_name(filter->thread, thread->name);
}

bool profile_filter_time(const struct profile_filter *filter, uint64_t time_ns)
{
	return time_ns >= filter->from_ns && (!filter->to_ns || time_ns < filter->to_ns);
}

void profile_filter_span(const struct profile_filter *filter, uint64_t end_ns, uint64_t *from_ns,
			 uint64_t *to_ns)
{
	*to_ns = filter->to_ns && filter->to_ns < end_ns ? filter->to_ns : end_ns;
	*from_ns = filter->from_ns < *to_ns ? filter->from_ns : *to_ns;
}
