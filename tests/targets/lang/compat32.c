/* SPDX-License-Identifier: BSD-2-Clause */
/* compat32.c - a 32-bit program that works for ever; without a libc, so that none is needed to build it: -m32 -nostdlib -static. */

static int system_call(int number, int a, const void *b, int c)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return result;
}

__attribute__((noinline)) static unsigned int hot_work(unsigned int x)
{
	for (int i = 0; i < 100000; i++)
		x = x * 1103515245 + 12345;
	__asm__ volatile("" : "+r"(x));
	return x;
}

void _start(void);

void _start(void)
{
	static const char line[] = "ready 32\n";
	unsigned int x = 1;

	system_call(4, 1, line, sizeof(line) - 1); /* write */
	for (;;)
		x = hot_work(x);
}
