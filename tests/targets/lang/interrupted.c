/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupted.c - a signal that interrupts a function before its very first instruction; right before that is another
 * function, which nobody calls.
 *
 *   main ── spinner ── (signal) ── on_signal ── hot_handler
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "target.h"

static volatile uint64_t sink;

__attribute__((noinline)) static void hot_handler(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 50; i++)
		WORK(x);
	sink += x;
}

static void on_signal(int number)
{
	hot_handler();
	sink += (uint64_t)number;
}

__asm__(".text\n"
	".type never_called, @function\n"
	"never_called:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size never_called, . - never_called\n"
	".type spinner, @function\n"
	"spinner:\n"
	"	.cfi_startproc\n"
	"	jmp spinner\n"
	"	.cfi_endproc\n"
	".size spinner, . - spinner\n");

void spinner(void);

int main(void)
{
	struct itimerval often = {{0, 2000}, {0, 2000}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	printf("spinner %p\n", (void *)spinner);
	say_ready();
	spinner();
	return 0;
}
