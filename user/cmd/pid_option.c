/* SPDX-License-Identifier: BSD-2-Clause */
/* pid_option.c - see pid_option.h. */
#include "cmd/pid_option.h"

#include "base/log.h"
#include "cmd/usage.h"
#include "session/pid_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS ", \t\n"
#define MAX_PID (1UL << 22)
#define SHOWN 20 /* ids of one name */

static error_t add_number(struct usage *usage, const char *value, const char *item,
			  struct pid_list *list)
{
	unsigned long pid;

	errno = 0;
	pid = strtoul(item, NULL, 10);
	if (errno || !pid || pid > MAX_PID)
		return usage_reject(usage,
				    "--pid %s: '%s' is not a process id; give one from 1 to %lu",
				    value, item, MAX_PID);
	return pid_list_add(list, (pid_t)pid) ? ENOMEM : 0;
}

/* "nginx: 3 processes: 12 13 14" */
static void tell_several(const char *name, const struct pid_list *list, size_t from)
{
	char ids[SHOWN * 12] = "";
	size_t i;

	for (i = from; i < list->count && i < from + SHOWN; i++)
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), " %d", (int)list->items[i]);
	log_info("--pid %s: %zu processes:%s%s", name, list->count - from, ids,
		 list->count > from + SHOWN ? " ..." : "");
}

static error_t add_name(struct usage *usage, const char *value, const char *name,
			struct pid_list *list)
{
	struct nearest nearest = {0};
	const size_t from = list->count;
	int count;

	if (*name == '-')
		return usage_reject(usage, "--pid %s: '%s' is no process id, and no name", value,
				    name);
	snprintf(nearest.word, sizeof(nearest.word), "%s", name);
	count = pid_names_find(name, list, &nearest);
	if (count == -ENOMEM)
		return ENOMEM;
	if (count < 0)
		return usage_reject(usage, "--pid %s: processes cannot be listed: /proc: %s", value,
				    strerror(-count));
	if (count > 1)
		tell_several(name, list, from);
	if (count > 0)
		return 0;
	if (nearest.best[0])
		return usage_reject(usage, "--pid %s: no process is called '%s'; did you mean %s?",
				    value, name, nearest.best);
	return usage_reject(usage,
			    "--pid %s: no process is called '%s', and it is no process id; look it "
			    "up with pgrep or ps",
			    value, name);
}

error_t pid_option_parse(struct usage *usage, const char *value, struct pid_list *list)
{
	char *copy = strdup(value), *rest = copy, *item;
	error_t err = copy ? 0 : ENOMEM;
	const size_t from = list->count;

	while (!err && (item = strsep(&rest, SEPARATORS))) {
		if (!*item)
			continue;
		err = item[strspn(item, "0123456789")] ? add_name(usage, value, item, list)
						       : add_number(usage, value, item, list);
	}
	free(copy);
	if (!err && list->count == from)
		err = usage_reject(
			usage,
			"--pid '%s': no process; give ids or names, separated by commas or "
			"blanks",
			value);
	return err;
}
