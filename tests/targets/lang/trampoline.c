/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trampoline.c - every other function is called by a copy of a few bytes of code that is in no file, as CPython does it
 * with -X perf, so that profilers see its functions.
 *
 *   main ── (code) ── outer ── (code) ── inner
 */
#include "target.h"

#include <string.h>
#include <sys/mman.h>

/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
static const uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};

typedef uint64_t (*callee)(uint64_t x);
typedef uint64_t (*trampoline)(uint64_t x, uint64_t unused, uint64_t too, callee callee);

static trampoline trampolines[2];

__attribute__((noinline)) static uint64_t inner(uint64_t x)
{
	for (int i = 0; i < 10; i++)
		WORK(x);
	return x;
}

__attribute__((noinline)) static uint64_t outer(uint64_t x)
{
	return trampolines[1](x, 0, 0, inner) + 1;
}

int main(void)
{
	uint8_t *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t x = 1;

	if (memory == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < 2; i++, memory += sizeof(code)) {
		memcpy(memory, code, sizeof(code));
		memcpy(&trampolines[i], &memory, sizeof(memory));
	}
	if (mprotect(memory - 2 * sizeof(code), 4096, PROT_READ | PROT_EXEC))
		return 1;
	say_ready();
	for (;;)
		x = trampolines[0](x, 0, 0, outer);
}
