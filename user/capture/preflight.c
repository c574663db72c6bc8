/* SPDX-License-Identifier: BSD-2-Clause */
/* preflight.c - see preflight.h. */
#include "capture/preflight.h"

#include "base/fd.h"
#include "target/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

/* Versions as one number, so that they compare: 6.1.36 -> 60001036. */
#define VERSION(major, minor, patch) ((major)*10000000UL + (minor)*10000UL + (patch))
#define OLDEST VERSION(5UL, 10UL, 0UL)

/*
 * From first up to but not including fixed, reading user memory from a timer can freeze the machine (a bug in
 * copy_from_user_nofault with hardened usercopy).
 */
static const struct {
	unsigned long first, fixed;
} freezing[] = {
	{VERSION(5UL, 19UL, 0UL), VERSION(6UL, 1UL, 36UL)},
	{VERSION(6UL, 2UL, 0UL), VERSION(6UL, 3UL, 10UL)},
};

static unsigned long parse_version(const char *text)
{
	unsigned long major, minor, patch = 0;

	if (sscanf(text, "%lu.%lu.%lu", &major, &minor, &patch) < 2)
		return 0;
	return VERSION(major, minor, patch);
}

int preflight_kernel(const char *release, const char *version, char *problem, size_t problem_bytes)
{
	static const char debian[] = "Debian ";
	const char *exact = strstr(version, debian);
	unsigned long number = parse_version(exact ? exact + sizeof(debian) - 1 : release);
	size_t i;

	if (!number)
		number = parse_version(release);
	if (number < OLDEST) {
		snprintf(problem, problem_bytes,
			 "kernel %s: too old; geckobpf needs Linux 5.10 or later", release);
		return -ENOTSUP;
	}
	for (i = 0; i < sizeof(freezing) / sizeof(freezing[0]); i++) {
		if (number < freezing[i].first || number >= freezing[i].fixed)
			continue;
		snprintf(problem, problem_bytes,
			 "kernel %s: sampling can freeze this kernel (fixed in 6.1.36 and 6.3.10); "
			 "update it",
			 release);
		return -ENOTSUP;
	}
	return 0;
}

static const struct {
	cap_value_t value;
	const char *name;
	int admin_is_enough; /* CAP_SYS_ADMIN includes it */
} needed[] = {
	{CAP_BPF, "CAP_BPF", 1},
	{CAP_PERFMON, "CAP_PERFMON", 1},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", 0},
};

static int has_capability(cap_t held, cap_value_t value)
{
	cap_flag_value_t flag = CAP_CLEAR;

	return !cap_get_flag(held, value, CAP_EFFECTIVE, &flag) && flag == CAP_SET;
}

static int check_capabilities(char *problem, size_t problem_bytes)
{
	cap_t held = cap_get_proc();
	char missing[128] = "";
	size_t i;

	if (!held)
		return -errno;
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		size_t used = strlen(missing);

		if (has_capability(held, needed[i].value) ||
		    (needed[i].admin_is_enough && has_capability(held, CAP_SYS_ADMIN)))
			continue;
		snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
			 needed[i].name);
	}
	cap_free(held);
	if (!missing[0])
		return 0;
	snprintf(problem, problem_bytes, "%s: missing %s; run it with sudo",
		 geteuid() ? "not root" : "root without all its capabilities", missing);
	return -EPERM;
}

static int check_rate(uint32_t rate_hz, char *problem, size_t problem_bytes)
{
	unsigned long limit;
	char *text;

	if (fd_read_file(RATE_PATH, &text, NULL))
		return 0; /* the kernel will say */
	limit = strtoul(text, NULL, 10);
	free(text);
	if (!limit || rate_hz <= limit)
		return 0;
	snprintf(problem, problem_bytes,
		 "--rate %u: more than kernel.perf_event_max_sample_rate (%lu) allows; lower it, "
		 "or: sysctl kernel.perf_event_max_sample_rate=%u",
		 rate_hz, limit, rate_hz);
	return -ERANGE;
}

static int check_btf(char *problem, size_t problem_bytes)
{
	if (!access(BTF_PATH, R_OK))
		return 0;
	snprintf(problem, problem_bytes,
		 BTF_PATH ": %s; the kernel must be built with CONFIG_DEBUG_INFO_BTF=y",
		 strerror(errno));
	return -ENOTSUP;
}

static int check_namespace(char *problem, size_t problem_bytes)
{
	if (procfs_in_initial_pid_namespace())
		return 0;
	snprintf(problem, problem_bytes,
		 "pid namespace: not the host's; run the container with the host's pids (docker: "
		 "--pid=host, Kubernetes: hostPID: true)");
	return -ENOTSUP;
}

int preflight_check(uint32_t rate_hz, char *problem, size_t problem_bytes)
{
	struct utsname names;
	int err;

	if (uname(&names))
		return -errno;
	err = check_capabilities(problem, problem_bytes);
	if (!err)
		err = preflight_kernel(names.release, names.version, problem, problem_bytes);
	if (!err)
		err = check_btf(problem, problem_bytes);
	if (!err)
		err = check_namespace(problem, problem_bytes);
	if (!err)
		err = check_rate(rate_hz, problem, problem_bytes);
	return err;
}
