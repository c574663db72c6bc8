/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * system_calls.c - see system_calls.h.
 *
 * The filter is a list of comparisons, of which each that fits jumps to the end: the most frequent calls are first. A call
 * by another machine's numbers is none of them.
 */
#include "service/system_calls.h"

#include "arch/arch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const int allowed[] = {
	SYS_pread64,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_madvise,
	SYS_mprotect,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat, /* fstat(2) of some C libraries; a file by its name says no more than that */
	SYS_read,
	SYS_write,
	SYS_lseek,
	SYS_memfd_create,
	SYS_fcntl,
	SYS_ftruncate,
	SYS_futex,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_getpid,
	SYS_gettid,
	SYS_tgkill, /* abort(3) */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_sched_yield,
	SYS_exit,
	SYS_exit_group,
};

#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))
#define BEFORE 4
#define AFTER 2

int system_calls_restrict(void)
{
	struct sock_filter filter[BEFORE + ALLOWED + AFTER] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GB_ARCH_AUDIT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	const struct sock_fprog program = {BEFORE + ALLOWED + AFTER, filter};
	size_t i;

	for (i = 0; i < ALLOWED; i++)
		filter[BEFORE + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								  (unsigned int)allowed[i],
								  (unsigned char)(ALLOWED - i), 0);
	filter[BEFORE + ALLOWED] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	filter[BEFORE + ALLOWED + 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}
