/* SPDX-License-Identifier: BSD-2-Clause */
/* machine_facts.c - see machine_facts.h. What cannot be read stays empty or zero. */
#include "session/machine_facts.h"

#include "base/fd.h"
#include "capture/cpus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The value of the first "key : value" line, into `out`. */
static void find_value(const char *text, const char *key, char *out, size_t out_bytes)
{
	const char *line = strstr(text, key), *value = line ? strchr(line, ':') : NULL;
	size_t length;

	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	length = strcspn(value, "\n");
	if (length >= out_bytes)
		length = out_bytes - 1;
	memcpy(out, value, length);
	out[length] = '\0';
}

static long read_topology(unsigned int cpu, const char *name)
{
	char path[128], *text;
	long value;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, name);
	if (fd_read_file(path, &text, NULL))
		return -1;
	value = strtol(text, NULL, 10);
	free(text);
	return value;
}

/* A core is counted at its lowest-numbered CPU: the one that its list of siblings starts with. */
static uint32_t count_cores(const struct cpu_set *online)
{
	uint32_t cores = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpus_has(online, cpu) &&
		    read_topology(cpu, "thread_siblings_list") == (long)cpu)
			cores++;
	return cores;
}

/* Appends the first line of a file, after a blank if there is something already. */
static void append_line(const char *root, const char *name, char *out, size_t out_bytes)
{
	char path[PATH_MAX], *text;
	size_t used = strlen(out);

	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path) ||
	    fd_read_file(path, &text, NULL))
		return;
	snprintf(out + used, out_bytes - used, "%s%.*s", used ? " " : "", (int)strcspn(text, "\n"),
		 text);
	free(text);
}

void machine_facts_device(const char *root, char *out, size_t out_bytes)
{
	out[0] = '\0';
	append_line(root, "/sys/class/dmi/id/sys_vendor", out, out_bytes);
	append_line(root, "/sys/class/dmi/id/product_name", out, out_bytes);
	if (!out[0])
		append_line(root, "/proc/device-tree/model", out, out_bytes);
}

void machine_facts_read(struct machine_facts *out)
{
	struct cpu_set online;
	struct utsname names;
	char *text;

	*out = (struct machine_facts){0};
	if (!uname(&names))
		snprintf(out->oscpu, sizeof(out->oscpu), "%s %s %s", names.sysname, names.release,
			 names.machine);
	if (!fd_read_file("/proc/cpuinfo", &text, NULL)) {
		find_value(text, "model name", out->cpu_name, sizeof(out->cpu_name));
		free(text);
	}
	if (!fd_read_file("/proc/sys/kernel/random/boot_id", &text, NULL)) {
		snprintf(out->boot_id, sizeof(out->boot_id), "%.*s", (int)strcspn(text, "\n"),
			 text);
		free(text);
	}
	machine_facts_device("", out->device, sizeof(out->device));
	if (cpus_online(&online))
		return;
	out->logical_cpus = (uint32_t)cpus_count(&online);
	out->physical_cpus = count_cores(&online);
}
