/* SPDX-License-Identifier: BSD-2-Clause */
/* plt_machine.h - what the stubs of the procedure linkage table look like on one machine, with 64-bit files. */
#ifndef GECKOBPF_SYMBOL_PLT_MACHINE_H
#define GECKOBPF_SYMBOL_PLT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plt_machine {
	uint16_t machine; /* EM_* */
	uint32_t jump_slot, global_data; /* relocations of the slots that stubs jump through */
	/*
	 * Reads the stub in code[0 .. size), of 8 or 16 bytes and at `address` in memory. *slot
	 * gets the address of the slot that it jumps through. False: that is no such stub.
	 */
	bool (*decode)(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot);
};

extern const struct plt_machine plt_x86_64;

#endif
