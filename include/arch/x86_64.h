/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86_64.h - what only this machine has: its registers by every numbering that we meet, its stack
 * frames, its signal frames.
 *
 * Included by arch.h only.
 */
#ifndef GECKOBPF_ARCH_X86_64_H
#define GECKOBPF_ARCH_X86_64_H

#define GB_ARCH_INLINE static inline __attribute__((always_inline))

#define GB_ARCH_NAME "x86_64" /* as uname(2) says it */
/* As the kernel's filters of system calls have it: linux/audit.h. */
#define GB_ARCH_AUDIT AUDIT_ARCH_X86_64

/* ---- registers as rules name them --------------------------------------------------- */

/* In the order in which a signal frame holds them (struct sigcontext). */
enum gb_reg {
	GB_REG_R8 = 0,
	GB_REG_R9 = 1,
	GB_REG_R10 = 2,
	GB_REG_R11 = 3,
	GB_REG_R12 = 4,
	GB_REG_R13 = 5,
	GB_REG_R14 = 6,
	GB_REG_R15 = 7,
	GB_REG_RDI = 8,
	GB_REG_RSI = 9,
	GB_REG_RBP = 10,
	GB_REG_RBX = 11,
	GB_REG_RDX = 12,
	GB_REG_RAX = 13,
	GB_REG_RCX = 14,
	GB_REG_RSP = 15,
	GB_REG_RIP = 16, /* not in rules, which have 4 bits */
	GB_REG_COUNT = 17,
	/* The names that the unwinder uses: what the registers are for. */
	GB_REG_SP = GB_REG_RSP,
	GB_REG_FP = GB_REG_RBP,
	GB_REG_PC = GB_REG_RIP,
	/* It is followed from frame to frame too, through files whose rules say where it is. */
	GB_REG_TRACKED = GB_REG_RBX,
};

/* ---- frames --------------------------------------------------------------------------- */

#define GB_ADDRESS_BITS 48 /* of user code and user memory */
#define GB_RETURN_AT (-8) /* from the CFA: where a call leaves the return address */
/*
 * A frame pointer points at the caller's; from there it is so far to the return address, and to the
 * CFA.
 */
#define GB_FP_RETURN_AT 8
#define GB_FP_CFA_AT 16
#define GB_WINDOW_BACK 48 /* registers are saved so far below the return address, as a rule */
#define GB_SIGNAL_REGISTERS_AT 40 /* offset of struct sigcontext in struct ucontext */

/*
 * Rules that only this machine has: where the CFA is within a slot of a PLT. The code of a slot
 * pushes 8 bytes; they are on the stack from its 11th or from its 10th byte on.
 */
#define GB_CFA_PLT11 GB_CFA_ARCH_1
#define GB_CFA_PLT10 GB_CFA_ARCH_2

GB_ARCH_INLINE __u64 gb_arch_cfa(int is_first, __u64 sp, __u64 pc)
{
	__u64 byte = pc & 15;

	return sp + 8 + (byte >= (is_first ? 11 : 10) ? 8 : 0);
}

/* A thread that is off the CPU: from its saved kernel stack pointer to the address in the scheduler where it goes on. */
#define GB_SWITCHED_RETURN_AT 48

/* ---- leaves without a frame of their own, in code that has frame pointers ---------------- */

/* Code is looked at from so far before the address of a leaf on, and so many bytes of it. */
#define GB_LEAF_CODE_BEFORE 48
#define GB_LEAF_CODE_BYTES 64

/*
 * How many words are on the stack up to the return address, itself included, if it is certain that
 * the leaf's frame is not there yet, or not there any more; else 0:
 *
 *   1   before push %rbp; mov %rsp, %rbp     before ret     before a jump by memory, as in a PLT
 *   2   between the two
 */
GB_ARCH_INLINE __u32 gb_arch_leaf_words(const __u64 *code)
{
	const __u64 mov_to = 0xe58948, mov_from = 0xec8b48; /* mov %rsp, %rbp, either way */
	__u64 at = code[GB_LEAF_CODE_BEFORE / 8], next = (at >> 8) & 0xffffff;

	if ((at & 0xff) == 0xc3 || (at & 0xff) == 0xc2 || (at & 0xffff) == 0xc3f3)
		return 1;
	if ((at & 0xff) == 0x55 && (next == mov_to || next == mov_from))
		return 1;
	if ((at & 0xffff) == 0x25ff) /* jmp *...(%rip) */
		return 1;
	if ((at & 0xffffffff) == 0xfa1e0ff3) /* endbr64; one of those, or that with a prefix */
		return (at >> 32 & 0xff) == 0x55 || (at >> 32 & 0xffff) == 0x25ff ||
		       (at >> 32 & 0xffffff) == 0x25fff2;
	at &= 0xffffff;
	return code[GB_LEAF_CODE_BEFORE / 8 - 1] >> 56 == 0x55 && (at == mov_to || at == mov_from)
		       ? 2
		       : 0;
}

/*
 * The CFA less SP of a frame that goes on, by the 8 bytes of code there, if it does nothing any more:
 * add $..., %rsp; ret. 0: something else.
 */
GB_ARCH_INLINE __u32 gb_arch_rest_bytes(__u64 bytes)
{
	__u32 added = bytes >> 24 & 0xff;

	return (bytes & 0xff00ffffff) == 0xc300c48348 && !(added & 0x87) ? added + 8 : 0;
}

/*
 * Where the call goes that is right before `address`, by the 8 bytes before it; 0: it is none, or
 * not a direct one.
 */
GB_ARCH_INLINE __u64 gb_arch_call_target(__u64 address, __u64 bytes)
{
	return (bytes >> 24 & 0xff) == 0xe8 ? address + (__u64)(__s64)(__s32)(bytes >> 32) : 0;
}

/*
 * Whether a frame pointer is set between so many bytes before the leaf's address and that. Without
 * branches: see the head of unwind.bpf.h.
 */
GB_ARCH_INLINE int gb_arch_sets_fp(const __u64 *code, __u64 before)
{
	const __u8 *bytes = (const __u8 *)code;
	__u64 last = 0, hits = 0, to, from;
	int i;

	for (i = 0; i < GB_LEAF_CODE_BEFORE; i++) {
		last = last >> 8 | (__u64)bytes[i] << 16;
		to = (last ^ 0xe58948) - 1;
		from = (last ^ 0xec8b48) - 1;
		hits = hits << 1 | to >> 63 | from >> 63;
	}
	/* The lowest bit: it ends right before the address. */
	return (hits & ((1ULL << before) - 1)) != 0;
}

/* ---- struct pt_regs, in words: ABI, and the same in a perf event's context -------------- */

/* clang-format off */
enum gb_pt_word {
	GB_PT_R15, GB_PT_R14, GB_PT_R13, GB_PT_R12, GB_PT_RBP, GB_PT_RBX, GB_PT_R11, GB_PT_R10, GB_PT_R9,
	GB_PT_R8, GB_PT_RAX, GB_PT_RCX, GB_PT_RDX, GB_PT_RSI, GB_PT_RDI, GB_PT_ORIG_RAX, GB_PT_RIP, GB_PT_CS,
	GB_PT_FLAGS, GB_PT_RSP, GB_PT_SS, GB_PT_WORDS,
	GB_PT_SP = GB_PT_RSP,
	GB_PT_MODE = GB_PT_CS, /* for the two below */
};
/* clang-format on */

/*
 * Size of a thread's kernel stack. The user registers are at its end, for kernels without a helper
 * that finds them.
 */
#define GB_KERNEL_STACK_BYTES 16384
#define GB_PAGE_BYTES 4096

/* By the privilege level. */
GB_ARCH_INLINE int gb_pt_is_user(__u64 mode)
{
	return (mode & 3) != 0;
}

/* By the code segment of 32-bit programs. */
GB_ARCH_INLINE int gb_pt_is_32_bit(__u64 mode)
{
	return (mode & 0xffff) == 0x23;
}

/* The number + 1 of the system call that it is in; 0: none. What is entered otherwise has -1 there. */
GB_ARCH_INLINE __u32 gb_pt_call(const __u64 *pt)
{
	return pt[GB_PT_ORIG_RAX] < 0xffff ? (__u32)pt[GB_PT_ORIG_RAX] + 1 : 0;
}

/* The descriptor that the system call reads from or writes to, if it is one that only does that; else all ones. */
GB_ARCH_INLINE __u32 gb_pt_descriptor(const __u64 *pt)
{
	__u64 call = pt[GB_PT_ORIG_RAX];
	int reads = call == 0 || call == 17 || call == 19 || call == 295 || call == 327;
	int writes = call == 1 || call == 18 || call == 20 || call == 296 || call == 328;

	return reads || writes ? (__u32)pt[GB_PT_RDI] : ~0U;
}

GB_ARCH_INLINE void gb_pt_to_regs(const __u64 *pt, __u64 *regs)
{
	regs[GB_REG_R8] = pt[GB_PT_R8];
	regs[GB_REG_R9] = pt[GB_PT_R9];
	regs[GB_REG_R10] = pt[GB_PT_R10];
	regs[GB_REG_R11] = pt[GB_PT_R11];
	regs[GB_REG_R12] = pt[GB_PT_R12];
	regs[GB_REG_R13] = pt[GB_PT_R13];
	regs[GB_REG_R14] = pt[GB_PT_R14];
	regs[GB_REG_R15] = pt[GB_PT_R15];
	regs[GB_REG_RDI] = pt[GB_PT_RDI];
	regs[GB_REG_RSI] = pt[GB_PT_RSI];
	regs[GB_REG_RBP] = pt[GB_PT_RBP];
	regs[GB_REG_RBX] = pt[GB_PT_RBX];
	regs[GB_REG_RDX] = pt[GB_PT_RDX];
	regs[GB_REG_RAX] = pt[GB_PT_RAX];
	regs[GB_REG_RCX] = pt[GB_PT_RCX];
	regs[GB_REG_RSP] = pt[GB_PT_RSP];
	regs[GB_REG_RIP] = pt[GB_PT_RIP];
}

/* ---- files ------------------------------------------------------------------------------ */

#define MACHINE_ELF 62 /* EM_X86_64 */
#define MACHINE_ADDRESS_BYTES 8
#define MACHINE_INSTRUCTION_BYTES 1 /* instructions are a multiple of it */

/* DWARF numbers of the registers that are followed from frame to frame. */
enum machine_reg {
	MACHINE_REG_TRACKED = 3, /* RBX */
	MACHINE_REG_FP = 6,
	MACHINE_REG_SP = 7,
	MACHINE_REG_RA = 16, /* a column for the return address, not a register */
	MACHINE_REG_COUNT = 17,
};

/* The most that is looked at of code that is known by sight: see user/unwind/arch.h. */
#define MACHINE_SIGRETURN_MAX_BYTES 9
#define MACHINE_OUTERMOST_CALL_MAX_BYTES 13 /* with the padding looked at */
#define MACHINE_ENTRY_MAX_BYTES 96
#define MACHINE_START_CONTEXT_MIN_BYTES 16
#define MACHINE_START_CONTEXT_MAX_BYTES 96

#endif
