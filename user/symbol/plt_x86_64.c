/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt_x86_64.c - the stubs of x86-64: see plt_machine.h.
 *
 *   stub: [endbr64] [bnd] jmp *disp32(%rip)
 */
#include "symbol/plt_machine.h"

#include <elf.h>
#include <string.h>

static bool decode(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	int32_t displacement;
	size_t at = 0;

	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	*slot = address + at + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

const struct plt_machine plt_x86_64 = {
	.machine = EM_X86_64,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.global_data = R_X86_64_GLOB_DAT,
	.decode = decode,
};
