/* SPDX-License-Identifier: BSD-2-Clause */
/* shapes.c - see shapes.h. Built without frame pointers and without sibling calls. */
#include "shapes.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define COROUTINE_STACK_BYTES (256 << 10)
#define CODE_BYTES 128 /* of a system call's wrapper */
#define VDSO_BYTES 8192

static struct self_stack outer; /* of the case at hand */

/* ---- plain calls: three functions with different frames --------------------------- */

static int call_small(int depth, void (*leaf)(void));

static NOINLINE int call_large(int depth, void (*leaf)(void))
{
	volatile char room[200];
	int result;

	room[depth % 200] = (char)depth;
	result = call_small(depth - 1, leaf);
	BARRIER();
	return result + room[depth % 200];
}

/* Keeps much in registers, so that it saves them all. */
static NOINLINE int call_saving(int depth, void (*leaf)(void))
{
	int a = depth * 3, b = depth ^ 5, c = depth << 2, d = ~depth, e = depth + 77, result;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	result = call_large(depth - 1, leaf);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	return result + a + b + c + d + e;
}

static NOINLINE int call_small(int depth, void (*leaf)(void))
{
	int result = 0;

	if (depth > 0)
		result = call_saving(depth - 1, leaf);
	else
		leaf();
	BARRIER();
	return result + 1;
}

NOINLINE int shape_calls(int depth, void (*leaf)(void))
{
	int result = call_small(depth, leaf);

	BARRIER();
	return result;
}

NOINLINE int shape_call_back(void (*callback)(void))
{
	volatile int used = 1;

	callback();
	BARRIER();
	return used;
}

/* ---- libc in between ---------------------------------------------------------------- */

static int compare_once(const void *a, const void *b)
{
	static bool is_done;

	if (!is_done)
		self_check();
	is_done = true;
	return *(const int *)a - *(const int *)b;
}

static int compare_inner(const void *a, const void *b)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof(numbers[0]), compare_once);
	return *(const int *)a - *(const int *)b;
}

NOINLINE void shape_qsort(void)
{
	int numbers[] = {5, 2, 4, 1, 3};

	qsort(numbers, 5, sizeof(numbers[0]), compare_inner);
	BARRIER();
}

/* ---- frames that are not of a fixed or small size ------------------------------------- */

static NOINLINE void use_alloca(size_t bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = room[bytes - 1] = 1;
	self_check();
	BARRIER();
}

NOINLINE void shape_alloca(void)
{
	size_t bytes;

	for (bytes = 16; bytes <= 1 << 20; bytes *= 4)
		use_alloca(bytes);
	BARRIER();
}

NOINLINE void shape_large_frame(void)
{
	volatile char room[600 << 10];

	room[0] = room[sizeof(room) - 1] = 1;
	self_check();
	BARRIER();
}

NOINLINE void shape_realigned(void)
{
	volatile char aligned[128] __attribute__((aligned(64)));
	volatile char *room = alloca((size_t)(getpid() | 1) % 1000 + 1);

	aligned[0] = room[0] = 1;
	self_check();
	room[0] = aligned[0];
	BARRIER();
}

/* A call that is the last instruction of its function: the return address is the next one's, whose frame is another. */
__asm__(".text\n"
	".type call_last, @function\n"
	"call_last: .cfi_startproc\n"
	"	subq $56, %rsp\n"
	"	.cfi_adjust_cfa_offset 56\n"
	"	call *%rdi\n"
	"	.cfi_endproc\n"
	".type call_never, @function\n"
	"call_never: .cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n");
void call_last(void (*callee)(void));

/* ---- jumps -------------------------------------------------------------------------- */

static jmp_buf jump;

static void jump_out(void)
{
	self_check();
	longjmp(jump, 1);
}

NOINLINE void shape_noreturn(void)
{
	if (!setjmp(jump))
		call_last(jump_out);
	BARRIER();
}

NOINLINE void shape_longjmp(void)
{
	if (!setjmp(jump))
		shape_calls(30, jump_out);
	self_check();
	BARRIER();
}

static ucontext_t main_context, coroutine_context;

static void check_and_yield(void)
{
	self_check();
	swapcontext(&coroutine_context, &main_context);
	self_check();
}

static void coroutine(void)
{
	self_check();
	shape_calls(12, check_and_yield);
	self_check();
}

NOINLINE void shape_coroutine(void)
{
	static char stack[COROUTINE_STACK_BYTES];

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof(stack);
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context); /* it yields */
	self_check();
	swapcontext(&main_context, &coroutine_context); /* it ends */
	self_check();
	BARRIER();
}

static void *in_thread(void *unused)
{
	shape_calls(9, self_check);
	return unused;
}

NOINLINE void shape_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, NULL))
		self_fail("no thread");
	else
		pthread_join(thread, NULL);
}

/* ---- vfork ---------------------------------------------------------------------------- */

/* The child runs in our memory, and on our stack, under its own process number. */
NOINLINE void shape_vfork_child(void)
{
	pid_t child = vfork();

	if (child == 0) {
		self_check();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		self_fail("no child");
	BARRIER();
}

/* The last arguments go where vfork() had its return address. */
static volatile long one = 1;

static NOINLINE void leave(long a, long b, long c, long d, long e, long f, long g, long h)
{
	_exit((int)(a + b + c + d + e + f + g + h) & 1);
}

/*
 * vfork() takes its return address off the stack before the system call, for the child overwrites it. In the parent the call
 * ends when the child has.
 */
NOINLINE void shape_in_vfork(void)
{
	pid_t child;

	self_remember(&outer);
	if (self_trace_begin("sys_exit")) {
		self_fail("cannot trace system calls");
		return;
	}
	child = vfork();
	if (child == 0)
		leave(one, one, one, one, one, one, one, one);
	if (self_trace_end(&outer, (uintptr_t)vfork, CODE_BYTES) != 1)
		self_fail("no sample in vfork()");
	waitpid(child, NULL, 0);
}

/* ---- code that libgcc may not know ------------------------------------------------------ */

/* The vDSO does not know this clock: it makes the system call itself. */
NOINLINE void shape_in_vdso(void)
{
	struct timespec time;

	self_remember(&outer);
	if (self_trace_begin("sys_enter")) {
		self_fail("cannot trace system calls");
		return;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	if (self_trace_end(&outer, getauxval(AT_SYSINFO_EHDR), VDSO_BYTES) != 1)
		self_fail("no sample in the vDSO");
	BARRIER();
}

static struct self_stack trail;

static void check_trail(void)
{
	static struct self_stack expected;
	size_t i;

	expected.count = 0;
	for (i = trail.count; i > 0; i--) /* leaf first, and the outermost is in `outer` too */
		expected.frames[expected.count++] = trail.frames[i - 1];
	memcpy(&expected.frames[expected.count], &outer.frames[1],
	       (outer.count - 1) * sizeof(outer.frames[0]));
	expected.count += outer.count - 1;
	self_check_outer(&expected);
	BARRIER();
}

NOINLINE void shape_frame_pointers(void)
{
	self_remember(&outer);
	trail.count = 0;
	frame_pointer_calls(20, &trail, check_trail);
	if (trail.count != 20 || trail.frames[0].sp != outer.frames[0].sp)
		self_fail("the frames are not as expected");
	BARRIER();
}
