/* SPDX-License-Identifier: BSD-2-Clause */
/* rights.c - see rights.h. */
#include "capture/rights.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define NO_OTHER (-1)
#define IN_CONTAINER                                                                               \
	"in a container: docker run --privileged --pid=host, or --pid=host and --cap-add BPF, "    \
	"PERFMON, "                                                                                \
	"SYS_PTRACE, SYSLOG, DAC_READ_SEARCH, CHECKPOINT_RESTORE, SYS_NICE; a service manager "    \
	"may have "                                                                                \
	"taken them, too"

static const struct right {
	cap_value_t value, other; /* `other` includes it; NO_OTHER: none does */
	const char *name;
	const char *missing; /* what is missing without it; NULL: everything */
} rights[] = {
	{CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", NULL},
	{CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", NULL},
	{CAP_SYS_PTRACE, NO_OTHER, "CAP_SYS_PTRACE", NULL},
	{CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH",
	 "files that only others may read"},
	{CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE",
	 "files that were deleted or replaced"},
};

static bool has(cap_t held, cap_value_t value)
{
	cap_flag_value_t flag = CAP_CLEAR;

	return value != NO_OTHER && !cap_get_flag(held, value, CAP_EFFECTIVE, &flag) &&
	       flag == CAP_SET;
}

static bool has_right(cap_t held, const struct right *right)
{
	return has(held, right->value) || has(held, right->other);
}

/* Debian's and other kernels know a level above those of Linux: no perf event for anybody else. */
static bool perf_takes_admin(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (!file)
		return false;
	if (fscanf(file, "%d", &level) != 1)
		level = 0;
	fclose(file);
	return level > 2;
}

bool rights_records_with(cap_t held, cap_value_t value)
{
	size_t i;

	for (i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (rights[i].value == value ||
		    (rights[i].other == value && !has(held, rights[i].value)))
			return true;
	if (value == CAP_SYS_ADMIN)
		return perf_takes_admin();
	return value == CAP_SYSLOG; /* names of kernel functions */
}

static void append(char *text, size_t text_bytes, const char *separator, const char *more)
{
	const size_t used = strlen(text);

	snprintf(text + used, text_bytes - used, "%s%s", used ? separator : "", more);
}

int rights_check(struct error *error)
{
	cap_t held = cap_get_proc();
	char missing[128] = "";
	size_t i;

	if (!held)
		return error_set(error, -errno, "capabilities", "cannot be checked");
	for (i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (!rights[i].missing && !has_right(held, &rights[i]))
			append(missing, sizeof(missing), ", ", rights[i].name);
	cap_free(held);
	if (!missing[0])
		return 0;
	error_set(error, -EPERM, geteuid() ? "not root" : "root without all its capabilities",
		  "missing %s", missing);
	error_advise(error, "%s", geteuid() ? "run it with sudo" : IN_CONTAINER);
	return -EPERM;
}

void rights_describe_missing(char *text, size_t text_bytes)
{
	cap_t held = cap_get_proc();
	char item[128];
	size_t i;

	*text = '\0';
	if (!held)
		return;
	for (i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (!rights[i].missing || has_right(held, &rights[i]))
			continue;
		snprintf(item, sizeof(item), "without %s no names and stacks of %s", rights[i].name,
			 rights[i].missing);
		append(text, text_bytes, "; ", item);
	}
	cap_free(held);
}

/* ---- who forbids it all the same ----------------------------------------------------- */

static bool contains(const char *path, const char *what)
{
	char *text;
	bool is_in;

	if (fd_read_file(path, &text, NULL))
		return false;
	is_in = strstr(text, what) != NULL;
	free(text);
	return is_in;
}

void rights_advise(int err, struct error *error)
{
	if (err != -EPERM && err != -EACCES)
		return;
	if (contains("/proc/self/status", "\nSeccomp:\t2"))
		error_advise(error,
			     "a seccomp filter may forbid it: docker run --security-opt "
			     "seccomp=unconfined, or --privileged; systemd: SystemCallFilter=");
	else if (contains("/sys/kernel/security/lockdown", "[confidentiality]"))
		error_advise(error,
			     "the kernel is locked down (confidentiality), which forbids it");
}

void rights_advise_kernel_names(struct error *error)
{
	static const char path[] = "/proc/sys/kernel/kptr_restrict";
	cap_t held = cap_get_proc();
	const bool may_see = held && has(held, CAP_SYSLOG);
	const bool is_hidden_from_all = contains(path, "2");

	cap_free(held);
	error_advise(error, "kernel frames have no names. To see them: %s%s%s",
		     may_see ? "" : "CAP_SYSLOG", !may_see && is_hidden_from_all ? " and " : "",
		     is_hidden_from_all ? "sysctl kernel.kptr_restrict=1"
		     : may_see          ? "sysctl kernel.kptr_restrict=0"
					: "");
}
