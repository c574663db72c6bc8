/* SPDX-License-Identifier: BSD-2-Clause */
/* cpus.c - see cpus.h. */
#include "capture/cpus.h"

#include "base/clock.h"
#include "base/fd.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 256 /* the first line has room in so many */
#define STOLEN_FIELD 8 /* of it: user, nice, system, idle, iowait, irq, softirq, steal */

static bool parse_number(const char **text, unsigned long *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*out = strtoul(*text, &end, 10);
	*text = end;
	return *out < CPUS_MAX;
}

int cpus_parse(const char *list, struct cpu_set *out)
{
	unsigned long first, last;

	memset(out, 0, sizeof(*out));
	while (*list && *list != '\n') {
		if (!parse_number(&list, &first))
			return -EINVAL;
		last = first;
		if (*list == '-') {
			list++;
			if (!parse_number(&list, &last) || last < first)
				return -EINVAL;
		}
		for (; first <= last; first++)
			out->bits[first / 8] |= (unsigned char)(1U << first % 8);
		if (*list == ',')
			list++;
		else if (*list && *list != '\n')
			return -EINVAL;
	}
	return 0;
}

int cpus_online(struct cpu_set *out)
{
	char *text;
	int err;

	err = fd_read_file(CPUS_ONLINE_PATH, &text, NULL);
	if (err)
		return err;
	err = cpus_parse(text, out);
	free(text);
	return err;
}

bool cpus_has(const struct cpu_set *set, unsigned int cpu)
{
	return cpu < CPUS_MAX && set->bits[cpu / 8] >> cpu % 8 & 1;
}

size_t cpus_count(const struct cpu_set *set)
{
	size_t count = 0, i;

	for (i = 0; i < sizeof(set->bits); i++)
		count += (size_t)__builtin_popcount(set->bits[i]);
	return count;
}

uint64_t cpus_parse_stolen(const char *stat)
{
	unsigned int field;

	for (field = 0; field < STOLEN_FIELD; field++) {
		stat += strcspn(stat, " \n");
		stat += strspn(stat, " ");
		if (!isdigit((unsigned char)*stat))
			return 0;
	}
	return strtoull(stat, NULL, 10);
}

uint64_t cpus_stolen_ns(void)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	char text[STAT_BYTES] = "";
	size_t length;

	if (ticks_per_s <= 0 || fd_read_start("/proc/stat", text, sizeof(text) - 1, &length))
		return 0;
	return cpus_parse_stolen(text) * (NS_PER_SEC / (uint64_t)ticks_per_s);
}
