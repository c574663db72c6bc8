/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - see shapes.h. The processor's trap flag raises SIGTRAP after every instruction; the handler checks the stack. So every
 * instruction of a prologue, an epilogue, a PLT stub and of what it calls is met once.
 */
#include "shapes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100
#define MAX_STEPS 4000
#define VDSO_BYTES 8192

static volatile bool is_stepping;
static unsigned int steps, vdso_steps;
static volatile long result;
static const struct self_stack *step_outer; /* not NULL: libgcc does not know the code */

/* ---- code that is in no file, with frame pointers ---- */

#define JIT_AT 64 /* from where it is mapped */
#define JIT_LEAVES_AT 16 /* in the code */

static const uint8_t jit_bytes[] = {
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
	0xe8, 7,    0,    0,    0,    0xe8, 18,   0,
	0,    0, /* call the first leaf; call the other */
	0x5d, 0xc3, /* pop %rbp; ret */
	0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, /* endbr64; push %rbp; mov %rsp, %rbp */
	0x90, 0x5d, 0xc3, /* nop; pop %rbp; ret */
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* padding */
	0x31, 0xc0, 0xff, 0xc0, 0x90, 0xc3, /* xor %eax, %eax; inc %eax; nop; ret */
};
static uint8_t *jit; /* those, where they can be executed */
static struct self_stack jit_outer; /* of a leaf: its caller, and all that called that */
static unsigned int jit_steps;

/* Before main() tells the kernel what is mapped. */
__attribute__((constructor)) static void map_jit(void)
{
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	jit = memory + JIT_AT;
	memcpy(jit, jit_bytes, sizeof(jit_bytes));
}

/* Whose outer frames are known; NULL: libgcc knows. */
static const struct self_stack *outer_at(uint64_t pc)
{
	uint64_t at = pc - (uintptr_t)jit;

	if (!jit || at >= sizeof(jit_bytes))
		return step_outer;
	jit_steps++;
	return at < JIT_LEAVES_AT ? step_outer : &jit_outer;
}

/* The first is an int3 and sets the flag; the others are its doing. */
static void on_step(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (!is_stepping || steps >= MAX_STEPS) {
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	regs[REG_EFL] |= TRAP_FLAG;
	steps++;
	if ((uint64_t)regs[REG_RIP] - getauxval(AT_SYSINFO_EHDR) < VDSO_BYTES)
		vdso_steps++;
	if (step_outer)
		self_check_outer(outer_at((uint64_t)regs[REG_RIP]));
	else
		self_check();
}

static bool prepare(const struct self_stack *known)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	step_outer = known;
	steps = vdso_steps = jit_steps = 0;
	is_stepping = true;
	if (!sigaction(SIGTRAP, &action, NULL))
		return true;
	self_fail("no signal handler");
	return false;
}

#define STEP_BEGIN() __asm__ volatile("int3" ::: "memory")
#define STEP_END() (is_stepping = false)

static void expect_steps(unsigned int least)
{
	if (steps < least)
		self_fail("only %u instructions, should be %u", steps, least);
}

static void nothing(void)
{
}

NOINLINE void shape_step_calls(void)
{
	if (!prepare(NULL))
		return;
	STEP_BEGIN();
	shape_calls(6, nothing);
	STEP_END();
	expect_steps(80);
}

static NOINLINE int realign(int size)
{
	volatile char aligned[128] __attribute__((aligned(64)));
	volatile char *room = __builtin_alloca((size_t)size);

	aligned[0] = room[0] = 1;
	nothing();
	return aligned[0] + room[0];
}

NOINLINE void shape_step_realigned(void)
{
	if (!prepare(NULL))
		return;
	STEP_BEGIN();
	realign(100);
	STEP_END();
	expect_steps(15);
}

/* Goes through the dynamic linker's resolver, in a dynamic program; nothing else here calls a64l(). */
NOINLINE void shape_step_first_plt_call(void)
{
	if (!prepare(NULL))
		return;
	STEP_BEGIN();
	result = a64l("zz");
	STEP_END();
	expect_steps(10);
}

NOINLINE void shape_step_plt_call(void)
{
	char text[64];

	if (!prepare(NULL))
		return;
	STEP_BEGIN();
	result = a64l("zz");
	memset(text, steps ? 'x' : 'y', sizeof(text) - steps % 2);
	STEP_END();
	BARRIER();
	expect_steps(12);
}

NOINLINE void shape_step_vdso(void)
{
	static struct self_stack outer;
	struct timespec time;

	self_remember(&outer);
	if (!prepare(&outer))
		return;
	STEP_BEGIN();
	clock_gettime(CLOCK_MONOTONIC, &time);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	STEP_END();
	if (vdso_steps < 20)
		self_fail("only %u of %u instructions were in the vDSO", vdso_steps, steps);
}

/* Before and after a function has its frame RBP is its caller's; in the other leaf it always is. */
NOINLINE void shape_step_frame_pointers(void)
{
	static struct self_stack outer;
	void (*call)(void);

	self_remember(&outer);
	memcpy(&call, &jit, sizeof(call));
	if (!call || !prepare(&outer))
		return;
	jit_outer = outer;
	memmove(&jit_outer.frames[1], &jit_outer.frames[0],
		jit_outer.count++ * sizeof(jit_outer.frames[0]));
	jit_outer.frames[0] = (struct self_frame){.sp = outer.frames[0].sp - 16};
	STEP_BEGIN();
	call();
	STEP_END();
	if (jit_steps != 16)
		self_fail("%u of %u instructions were in the code", jit_steps, steps);
}
