/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * confine_calls.c - see confine.h: system calls.
 *
 * A list of what is refused, not of what is allowed: libraries may begin to make any call, and it must go on recording
 * then. What is refused changes the machine, other processes or who we are; most of it needs capabilities that are gone,
 * but the kernel's code for it need not even be reached. To execute is allowed: helpers are other processes of our own
 * program.
 */
#include "capture/confine.h"

#include "arch/arch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST_OTHER 0x40000000U /* those of x32 */
#else
#define FIRST_OTHER UINT32_MAX
#endif

static const unsigned int refused[] = {
	/* other processes */
	SYS_ptrace,
	SYS_process_vm_writev,
	SYS_kcmp,
	/* who we are */
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_setns,
	SYS_unshare,
	SYS_personality,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	/* the file system */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mknodat,
	SYS_swapon,
	SYS_swapoff,
	SYS_quotactl,
	SYS_acct,
	/* the kernel and the machine */
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	SYS_reboot,
	SYS_syslog,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_vhangup,
#if defined(__x86_64__)
	SYS_iopl,
	SYS_ioperm,
	SYS_modify_ldt,
#endif
	/* the network, and what reaches far into the kernel */
	SYS_socket,
	SYS_userfaultfd,
	SYS_io_uring_setup,
};

#define COUNT (sizeof(refused) / sizeof(refused[0]))
#define HEAD 5 /* instructions before the list */
#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define IS_EQUAL(value, skip_if, skip_else)                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skip_if, skip_else)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

_Static_assert(COUNT + HEAD < 256, "a jump goes at most so far");

int confine_calls(void)
{
	struct sock_filter code[HEAD + COUNT + 2] = {
		FIELD(arch),
		IS_EQUAL(GB_ARCH_AUDIT, 1, 0),
		RETURN(SECCOMP_RET_ERRNO | ENOSYS),
		FIELD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_OTHER, COUNT + 1, 0),
	};
	const struct sock_fprog program = {.len = HEAD + COUNT + 2, .filter = code};
	size_t i;

	for (i = 0; i < COUNT; i++)
		code[HEAD + i] =
			(struct sock_filter)IS_EQUAL(refused[i], (unsigned char)(COUNT - i), 0);
	code[HEAD + COUNT] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	code[HEAD + COUNT + 1] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)
		       ? -errno
		       : 0;
}
