/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.c - see shapes.h. Handlers that interrupted an instruction, not a call, in code without frame pointers.
 */
#include "shapes.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#define SIGNAL_STACK_BYTES (256 << 10)
#define UD2_BYTES 2

/*
 * Three functions without a byte in between: the first ends in a frame of 32 bytes, so who looks up the byte before the second's
 * first one is wrong; the third is interrupted with a register saved and room taken.
 */
__asm__(".text\n"
	".type trap_never, @function\n"
	"trap_never: .cfi_startproc\n"
	"	subq $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".globl trap_first\n"
	".type trap_first, @function\n"
	"trap_first: .cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".globl trap_inside\n"
	".type trap_inside, @function\n"
	"trap_inside: .cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	movl $1, %ebp\n" /* RBP is a register like any other */
	"	subq $48, %rsp\n"
	"	.cfi_adjust_cfa_offset 48\n"
	"	ud2\n"
	"	addq $48, %rsp\n"
	"	.cfi_adjust_cfa_offset -48\n"
	"	popq %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n");
void trap_first(void);
void trap_inside(void);

static int nesting;

static void on_trap(int number, siginfo_t *info, void *context)
{
	self_check();
	if (nesting > 0) {
		nesting--;
		trap_inside();
	}
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += UD2_BYTES;
}

static bool handle_traps(int flags)
{
	struct sigaction action = {.sa_sigaction = on_trap,
				   .sa_flags = SA_SIGINFO | SA_NODEFER | flags};

	if (!sigaction(SIGILL, &action, NULL))
		return true;
	self_fail("no signal handler");
	return false;
}

static void trap(void)
{
	trap_first();
	trap_inside();
	BARRIER();
}

NOINLINE void shape_signal(void)
{
	if (handle_traps(0))
		shape_calls(6, trap);
	BARRIER();
}

NOINLINE void shape_nested_signals(void)
{
	nesting = 3;
	if (handle_traps(0))
		shape_calls(6, trap);
	BARRIER();
}

/* The frame that was interrupted is far from the handler's, above or below. */
NOINLINE void shape_signal_stack(void)
{
	static char memory[SIGNAL_STACK_BYTES];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)},
		none = {.ss_flags = SS_DISABLE};

	if (sigaltstack(&stack, NULL))
		self_fail("no signal stack");
	nesting = 1;
	if (handle_traps(SA_ONSTACK))
		shape_calls(6, trap);
	sigaltstack(&none, NULL);
	BARRIER();
}
