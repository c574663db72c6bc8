/* SPDX-License-Identifier: BSD-2-Clause */
/* stages.c - see stages.h. */
#include "base/stages.h"

#include "base/clock.h"
#include "base/fd.h"

#include <stdlib.h>
#include <string.h>

/* To read the memory takes some 20 us: that is not done every time when stages alternate quickly. */
#define MEMORY_EVERY_NS NS_PER_MS

/* "VmRSS:     5120 kB" -> bytes; 0: it is not there. */
static uint64_t find_bytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static void read_memory(struct stages *stages)
{
	char *text;

	if (fd_read_file("/proc/self/status", &text, NULL))
		return;
	stages->rss_bytes = find_bytes(text, "\nVmRSS:");
	stages->peak_bytes = find_bytes(text, "\nVmHWM:");
	free(text);
}

static void leave(struct stages *stages, uint64_t now)
{
	struct stage *stage = stages->current;

	if (!stage)
		return;
	if (!stages->memory_ns || now - stages->memory_ns >= MEMORY_EVERY_NS) {
		read_memory(stages);
		stages->memory_ns = now;
	}
	stage->duration_ns += now - stages->since_ns;
	stage->rss_bytes = stages->rss_bytes;
	stage->peak_bytes = stages->peak_bytes;
	stages->current = NULL;
}

static struct stage *find(struct stages *stages, const char *name)
{
	size_t i;

	for (i = 0; i < stages->count; i++)
		if (!strcmp(stages->items[i].name, name))
			return &stages->items[i];
	if (stages->count == STAGES_MAX)
		return NULL;
	stages->items[stages->count].name = name;
	return &stages->items[stages->count++];
}

static uint64_t now_ns(const struct stages *stages)
{
	return stages->now_ns ? stages->now_ns() : clock_now_ns();
}

const char *stages_enter(struct stages *stages, const char *name)
{
	const char *left;
	uint64_t now;

	if (!stages)
		return NULL;
	left = stages->current ? stages->current->name : NULL;
	now = now_ns(stages);
	leave(stages, now);
	stages->current = find(stages, name);
	stages->since_ns = now;
	return left;
}

void stages_end(struct stages *stages)
{
	if (stages)
		leave(stages, now_ns(stages));
}
