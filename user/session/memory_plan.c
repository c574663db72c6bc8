/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_plan.c - see memory_plan.h. */
#include "session/memory_plan.h"

#include "base/fd.h"
#include "capture/kernel_side.h"
#include "session/session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
/*
 * Maps that have one size (28 MiB), the program and its threads (16), the kernel's symbols (12), and the tables and
 * symbols of a program as large as clang while they are read (40).
 */
#define FIXED_BYTES (96 * MIB)
#define CPU_BYTES (512ULL << 10) /* scratch memory, the ring of the perf events */
#define MIN_BUFFER_BYTES (8 * MIB) /* less would hold little but what is known of the processes */
#define MIN_UNWIND_BYTES (4 * MIB)

/* ---- what there is ----------------------------------------------------------------- */

/* The number behind the first line that begins with `key`; UINT64_MAX: there is none, or it is "max". */
static uint64_t find_number(const char *text, const char *key)
{
	const size_t length = strlen(key);
	const char *line = text;

	while (line && strncmp(line, key, length) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line || strspn(line + length, " \t0123456789") == 0)
		return UINT64_MAX;
	line += length;
	line += strspn(line, " \t");
	return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
}

static uint64_t read_number(const char *directory, const char *file, const char *key)
{
	char path[PATH_MAX], *text;
	uint64_t number;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file) >= sizeof(path) ||
	    fd_read_file(path, &text, NULL))
		return UINT64_MAX;
	number = find_number(text, key);
	free(text);
	return number;
}

/* Files of a memory controller: of the second version, and of the first. */
struct controller {
	const char *mount, *limit, *usage;
};

static const struct controller controllers[] = {
	{"/sys/fs/cgroup", "memory.max", "memory.current"},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

static uint64_t room_in_group(const struct controller *controller, const char *directory)
{
	const uint64_t limit = read_number(directory, controller->limit, "");
	const uint64_t used = read_number(directory, controller->usage, "");
	uint64_t files = read_number(directory, "memory.stat", "inactive_file ");

	if (limit == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	if (files > used)
		files = 0;
	return limit > used - files ? limit - (used - files) : 0;
}

/* In the group at `path` and in all those that it is in. */
static uint64_t room_in_groups(const struct controller *controller, const char *root,
			       const char *path)
{
	uint64_t room = UINT64_MAX, more;
	char directory[PATH_MAX];
	size_t mount;

	mount = (size_t)snprintf(directory, sizeof(directory), "%s%s", root, controller->mount);
	if (mount + strlen(path) >= sizeof(directory))
		return room;
	strcpy(directory + mount, path);
	for (;;) {
		more = room_in_group(controller, directory);
		if (more < room)
			room = more;
		if (strlen(directory) <= mount)
			return room;
		*strrchr(directory, '/') = '\0';
	}
}

/* A line of /proc/PID/cgroup is "0::/path", or "4:memory,hugetlb:/path" of the first version. */
static uint64_t room_by_line(const char *root, const char *line)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	char copy[PATH_MAX];
	size_t length;

	if (!path)
		return UINT64_MAX;
	length = strcspn(path + 1, "\n");
	if (length >= sizeof(copy) || path[1] != '/')
		return UINT64_MAX;
	memcpy(copy, path + 1, length);
	copy[length == 1 ? 0 : length] = '\0';
	if (path == names + 1)
		return room_in_groups(&controllers[0], root, copy);
	if (!strncmp(names, ":memory", strlen(":memory")))
		return room_in_groups(&controllers[1], root, copy);
	return UINT64_MAX;
}

uint64_t memory_plan_room(const char *root)
{
	char path[PATH_MAX], *text, *line;
	uint64_t room, more;

	snprintf(path, sizeof(path), "%s/proc", root);
	room = read_number(path, "meminfo", "MemAvailable:");
	if (room != UINT64_MAX)
		room *= 1024;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (fd_read_file(path, &text, NULL))
		return room;
	for (line = text; *line; line += *line == '\n') {
		more = room_by_line(root, line);
		if (more < room)
			room = more;
		line += strcspn(line, "\n");
	}
	free(text);
	return room;
}

/* ---- what is wanted ---------------------------------------------------------------- */

/* Not more than `room`, in whole MiB as the options have it, but at least `least`, if so much was asked for. */
static uint64_t fit(uint64_t asked, uint64_t room, uint64_t least)
{
	const uint64_t fitting = room / MIB * MIB;

	if (asked <= room || asked <= least)
		return asked;
	return fitting > least ? fitting : least;
}

static uint64_t fixed_part(const struct session_config *config, uint32_t cpu_count)
{
	const uint64_t bytes = FIXED_BYTES + CPU_BYTES * cpu_count +
			       kernel_side_rings_total(config->rate_hz, cpu_count);

	return config->saves_memory ? bytes - KERNEL_SIDE_SAVED_BYTES : bytes;
}

uint64_t memory_plan_most(const struct session_config *config, uint32_t cpu_count)
{
	return fixed_part(config, cpu_count) + config->unwind_bytes + config->buffer_bytes / 8 * 9;
}

bool memory_plan_fit(struct session_config *config, uint32_t cpu_count, uint64_t room)
{
	uint64_t fixed, left;

	if (memory_plan_most(config, cpu_count) <= room)
		return false;
	config->saves_memory =
		fixed_part(config, cpu_count) + MIN_UNWIND_BYTES + MIN_BUFFER_BYTES > room;
	fixed = fixed_part(config, cpu_count);
	left = room > fixed ? room - fixed : 0;
	config->unwind_bytes = fit(config->unwind_bytes, left / 3, MIN_UNWIND_BYTES);
	left = left > config->unwind_bytes ? left - config->unwind_bytes : 0;
	config->buffer_bytes = fit(config->buffer_bytes, left / 9 * 8, MIN_BUFFER_BYTES);
	return true;
}
