/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arch.h - the machine that all of this is built for. Nothing else asks which one it is: another
 * machine is another file beside x86_64.h with the same names in it, user/unwind/arch_<machine>.c,
 * and user/symbol/plt_<machine>.c with its row in plt.c.
 */
#ifndef GECKOBPF_ARCH_H
#define GECKOBPF_ARCH_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The second is for the BPF side, whose compiler works for the BPF machine. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64.h"
#else
#error "there is no file for this machine in include/arch"
#endif

#endif
