/* SPDX-License-Identifier: BSD-2-Clause */
/* sandbox.c - see sandbox.h. */
#include "service/sandbox.h"

#include "reader/start.h"
#include "service/system_calls.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static uint32_t lacks;

uint32_t sandbox_lacks(void)
{
	return lacks;
}

/* Each capability that is kept opens files: of others, of other processes, by where they are mapped. */
static uint64_t kept_by(enum reader_role role)
{
	return role == READER_OPENER ? 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
					       1ULL << CAP_CHECKPOINT_RESTORE
				     : 0;
}

static void drop_capabilities(enum reader_role role)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	const uint64_t kept = kept_by(role);
	int i;

	if (syscall(SYS_capget, &header, data)) {
		lacks |= SANDBOX_CAPABLE;
		return;
	}
	for (i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(kept >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, data))
		lacks |= SANDBOX_CAPABLE;
}

static void limit(int what, uint64_t value)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return;
	if (now.rlim_max > value)
		now.rlim_max = value;
	now.rlim_cur = now.rlim_max;
	(void)setrlimit(what, &now);
}

static void set_limits(enum reader_role role)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, SANDBOX_DESCRIPTORS);
	if (role != READER_PARSER)
		return;
	limit(RLIMIT_FSIZE, SANDBOX_FILE_BYTES);
#ifndef GECKOBPF_SANITIZED /* that needs terabytes of addresses */
	limit(RLIMIT_AS, SANDBOX_MEMORY_BYTES);
#endif
}

void sandbox_enter(enum reader_role role)
{
	char name[16];

	snprintf(name, sizeof(name), "geckobpf-%s", reader_role_name(role));
	(void)prctl(PR_SET_NAME, name);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)syscall(SYS_close_range, READER_SOCKET + 1, ~0U, 0);
	set_limits(role);
	drop_capabilities(role);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (role == READER_PARSER && system_calls_restrict())
		lacks |= SANDBOX_NO_SECCOMP;
}
