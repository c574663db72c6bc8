/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf.c - works in a function without unwind information that makes no frame, so that RBP is what its caller left there.
 *
 *   main ── grand ── direct_caller ── leaf
 */
#include "target.h"

#define LINK __attribute__((noinline, noclone))

__asm__(".text\n"
	".type leaf, @function\n"
	"leaf:\n"
	"	mov $0x100000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	".size leaf, . - leaf\n");

void leaf(void);

static volatile int calls;

LINK static void direct_caller(void)
{
	leaf();
	calls++;
}

LINK static void other_callee(void)
{
	calls++;
}

LINK static void grand(void)
{
	direct_caller();
	other_callee();
	calls++;
}

int main(void)
{
	say_ready();
	for (;;)
		grand();
}
