/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anonymous.c - works in code that is in no file, as a JIT compiler's is: it has neither a frame pointer, for RBP is 0
 * there, nor its return address on top of the stack.
 */
#include "target.h"

#include <string.h>
#include <sys/mman.h>

static const uint8_t code[] = {
	0x55, /* push %rbp */
	0x31, 0xed, /* xor %ebp, %ebp */
	0x6a, 0x00, 0x6a, 0x00, /* push $0, twice */
	0xb9, 0x00, 0x00, 0x10, 0x00, /* mov $0x100000, %ecx */
	0xff, 0xc9, /* dec %ecx */
	0x75, 0xfc, /* jnz, to before it */
	0x58, 0x58, /* pop %rax, twice */
	0x5d, /* pop %rbp */
	0xc3, /* ret */
};

int main(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*work)(void);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	memcpy(&work, &memory, sizeof(work));
	say_ready();
	for (;;)
		work();
}
