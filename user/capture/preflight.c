/* SPDX-License-Identifier: BSD-2-Clause */
/* preflight.c - see preflight.h. */
#include "capture/preflight.h"

#include "base/error.h"
#include "base/fd.h"
#include "capture/cpus.h"
#include "capture/rights.h"
#include "target/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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

static void refuse_kernel(const char *release, const char *cause, struct error *error)
{
	char object[96];

	snprintf(object, sizeof(object), "kernel %s", release);
	error_set(error, -ENOTSUP, object, "%s", cause);
}

int preflight_kernel(const char *release, const char *version, struct error *error)
{
	static const char debian[] = "Debian ";
	const char *exact = strstr(version, debian);
	unsigned long number = parse_version(exact ? exact + sizeof(debian) - 1 : release);
	size_t i;

	if (!number)
		number = parse_version(release);
	if (number < OLDEST) {
		refuse_kernel(release, "too old", error);
		error_advise(error, "geckobpf needs Linux 5.10 or later");
		return -ENOTSUP;
	}
	for (i = 0; i < sizeof(freezing) / sizeof(freezing[0]); i++) {
		if (number < freezing[i].first || number >= freezing[i].fixed)
			continue;
		refuse_kernel(release,
			      "sampling can freeze this kernel (fixed in 6.1.36 and 6.3.10)",
			      error);
		error_advise(error, "update it");
		return -ENOTSUP;
	}
	return 0;
}

uint32_t preflight_max_rate_hz(void)
{
	unsigned long limit;
	char *text;

	if (fd_read_file(RATE_PATH, &text, NULL))
		return 0;
	limit = strtoul(text, NULL, 10);
	free(text);
	return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

static int check_rate(uint32_t rate_hz, struct error *error)
{
	const uint32_t limit = preflight_max_rate_hz();
	char object[32];

	if (!limit || rate_hz <= limit)
		return 0; /* or the kernel will say */
	snprintf(object, sizeof(object), "--rate %u", rate_hz);
	error_set(error, -ERANGE, object, "more than kernel.perf_event_max_sample_rate (%u) allows",
		  limit);
	error_advise(error, "lower it, or: sysctl kernel.perf_event_max_sample_rate=%u", rate_hz);
	return -ERANGE;
}

static int check_btf(struct error *error)
{
	if (!access(BTF_PATH, R_OK))
		return 0;
	error_set(error, -ENOTSUP, BTF_PATH, "%s", strerror(errno));
	error_advise(error,
		     "the kernel must be built with CONFIG_DEBUG_INFO_BTF=y, and a container "
		     "must not hide /sys/kernel");
	return -ENOTSUP;
}

static int check_user_namespace(struct error *error)
{
	if (procfs_in_initial_user_namespace())
		return 0;
	error_set(error, -ENOTSUP, "user namespace", "not the host's, whose rights BPF needs");
	error_advise(error, "run the container as the host's root, without a user namespace of its "
			    "own (docker: --userns=host, podman: sudo podman)");
	return -ENOTSUP;
}

static int check_pid_namespace(struct error *error)
{
	if (procfs_in_initial_pid_namespace())
		return 0;
	error_set(error, -ENOTSUP, "pid namespace", "not the host's");
	error_advise(error,
		     "run the container with the host's pids (docker: --pid=host, Kubernetes: "
		     "hostPID: true)");
	return -ENOTSUP;
}

int preflight_mounts(struct error *error)
{
	static const struct {
		const char *file, *object, *cause, *remedy;
	} wanted[] = {
		{"/proc/self/stat", "/proc", "not mounted", "mount -t proc proc /proc"},
		{"/sys/kernel", "/sys", "not mounted", "mount -t sysfs sysfs /sys"},
		{CPUS_ONLINE_PATH, CPUS_ONLINE_PATH, "not there",
		 "a container must not hide it (docker: --privileged)"},
	};
	size_t i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!access(wanted[i].file, F_OK))
			continue;
		error_set(error, -ENOTSUP, wanted[i].object, "%s", wanted[i].cause);
		error_advise(error, "%s", wanted[i].remedy);
		return -ENOTSUP;
	}
	return 0;
}

int preflight_check(uint32_t rate_hz, struct error *error)
{
	struct utsname names;
	int err;

	if (uname(&names))
		return error_set(error, -errno, "kernel", "cannot be checked");
	err = check_user_namespace(error);
	if (!err)
		err = rights_check(error);
	if (!err)
		err = preflight_kernel(names.release, names.version, error);
	if (!err)
		err = check_btf(error);
	if (!err)
		err = check_pid_namespace(error);
	if (!err)
		err = check_rate(rate_hz, error);
	return err;
}
