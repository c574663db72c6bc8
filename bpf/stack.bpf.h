/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack.bpf.h - the stack of the interrupted thread: one function for its kernel part, one for its user part.
 *
 * Whatever finds user frames stays behind stack_user(); now it is the kernel's frame pointer walk.
 */
#ifndef STACK_BPF_H
#define STACK_BPF_H

/* Kernel frames, leaf first, into `pc` (room for GB_MAX_KERNEL_FRAMES). Returns their number. */
static __always_inline __u32 stack_kernel(void *ctx, __u64 *pc)
{
	long bytes = bpf_get_stack(ctx, pc, GB_MAX_KERNEL_FRAMES * sizeof(__u64), 0);

	return bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

/* User frames, leaf first, into `pc` (room for GB_MAX_USER_FRAMES). Returns their number; *end tells how they ended. */
static __always_inline __u32 stack_user(void *ctx, __u64 *pc, __u8 *end)
{
	long bytes = bpf_get_stack(ctx, pc, GB_MAX_USER_FRAMES * sizeof(__u64), BPF_F_USER_STACK);

	if (bytes <= 0) {
		*end = GB_STACK_FAILED;
		return 0;
	}
	*end = bytes == GB_MAX_USER_FRAMES * sizeof(__u64) ? GB_STACK_FULL : GB_STACK_WALKED;
	return (__u32)bytes / sizeof(__u64);
}

#endif
