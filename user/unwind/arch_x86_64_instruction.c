/* SPDX-License-Identifier: BSD-2-Clause */
/* arch_x86_64_instruction.c - see instruction.h: what an instruction that was taken apart does. */
#include "unwind/arch.h"
#include "unwind/arch_x86_64_decode.h"
#include "unwind/instruction.h"

/* By their number in machine code. */
static const uint8_t gb_regs[16] = {
	GB_REG_RAX, GB_REG_RCX, GB_REG_RDX, GB_REG_RBX, GB_REG_RSP, GB_REG_RBP,
	GB_REG_RSI, GB_REG_RDI, GB_REG_R8,  GB_REG_R9,  GB_REG_R10, GB_REG_R11,
	GB_REG_R12, GB_REG_R13, GB_REG_R14, GB_REG_R15,
};

const uint32_t machine_scratch_registers = 1u << GB_REG_RAX | 1u << GB_REG_RCX | 1u << GB_REG_RDX |
					   1u << GB_REG_RSI | 1u << GB_REG_RDI | 1u << GB_REG_R8 |
					   1u << GB_REG_R9 | 1u << GB_REG_R10 | 1u << GB_REG_R11;

/* A register's bit; of bytes without REX, 4 to 7 are the high ones of the first four. */
static uint32_t bit_of(const struct decoding *d, uint8_t reg)
{
	if (d->what & B && !d->has_rex && reg >= 4)
		reg -= 4;
	return 1u << gb_regs[reg & 15];
}

static uint32_t written_by(const struct decoding *d)
{
	uint32_t written = 0;

	if (d->what & R)
		written |= bit_of(d, d->reg);
	if (d->what & E && d->is_register)
		written |= bit_of(d, d->rm);
	if (d->what & O)
		written |= bit_of(d, d->base_high | (d->opcode & 7));
	if (d->what & V)
		written |= 1u << gb_regs[d->vector];
	if (d->what & A)
		written |= 1u << GB_REG_RAX;
	if (d->what & D)
		written |= 1u << GB_REG_RDX;
	if (d->what & C)
		written |= 1u << GB_REG_RCX;
	if (d->what & S)
		written |= 1u << GB_REG_RSI | 1u << GB_REG_RDI;
	return written;
}

static void set(struct instruction *out, enum instruction_kind kind, int target, int source,
		int64_t value)
{
	out->kind = (uint8_t)kind;
	out->target = target < 0 ? GB_REG_COUNT : gb_regs[target];
	out->source = source < 0 ? GB_REG_COUNT : gb_regs[source];
	out->value = value;
}

#define NONE (-1)

/* mov between 64-bit registers, or with memory. */
static void say_move(const struct decoding *d, struct instruction *out)
{
	bool is_load = d->opcode == 0x8b;

	if (!d->wide)
		return;
	if (d->is_register)
		set(out, INSTRUCTION_MOVE, is_load ? d->reg : d->rm, is_load ? d->rm : d->reg, 0);
	else if (d->is_simple && is_load)
		set(out, INSTRUCTION_LOAD, d->reg, d->rm, d->displacement);
	else if (d->is_simple)
		set(out, INSTRUCTION_STORE, d->rm, d->reg, d->displacement);
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static void say_arithmetic(const struct decoding *d, struct instruction *out)
{
	if (!d->wide || !d->is_register)
		return;
	switch (d->modrm >> 3 & 7) {
	case 0:
		set(out, INSTRUCTION_ADD, d->rm, d->rm, d->immediate);
		break;
	case 4:
		if (d->immediate < 0 && !(-d->immediate & (-d->immediate - 1)))
			set(out, INSTRUCTION_ALIGN, d->rm, d->rm, d->immediate);
		break;
	case 5:
		set(out, INSTRUCTION_ADD, d->rm, d->rm, -d->immediate);
		break;
	}
}

/* inc, dec, call, far call, jmp, far jmp, push */
static void say_group_5(const struct decoding *d, struct instruction *out)
{
	switch (d->modrm >> 3 & 7) {
	case 2:
		set(out, INSTRUCTION_CALL_INDIRECT, NONE, NONE, 0);
		break;
	case 4:
		set(out, d->is_fixed ? INSTRUCTION_JUMP_SLOT : INSTRUCTION_JUMP_INDIRECT, NONE,
		    NONE, 0);
		break;
	case 6:
		set(out, INSTRUCTION_PUSH, NONE, d->is_register && !d->has_66 ? d->rm : NONE,
		    d->has_66 ? 2 : 8);
		break;
	case 3:
	case 5:
	case 7:
		set(out, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	}
}

static void say_stack(const struct decoding *d, struct instruction *out)
{
	int64_t bytes = d->has_66 ? 2 : 8;
	int reg = d->base_high | (d->opcode & 7);

	if (d->opcode < 0x58)
		set(out, INSTRUCTION_PUSH, NONE, d->has_66 ? NONE : reg, bytes);
	else
		set(out, INSTRUCTION_POP, d->has_66 ? NONE : reg, NONE, bytes);
	if (d->opcode >= 0x58)
		out->written |= 1u << gb_regs[reg];
}

/* Opcodes of one byte that are neither arithmetic nor moves. */
static void say_others(const struct decoding *d, struct instruction *out)
{
	switch (d->opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		set(out, INSTRUCTION_PUSH, NONE, NONE, d->has_66 ? 2 : 8);
		break;
	case 0x8f:
	case 0x9d:
		set(out, INSTRUCTION_POP, NONE, NONE, d->has_66 ? 2 : 8);
		break;
	case 0x90:
		if (d->base_high) /* xchg */
			break;
		out->written = 0;
		if (!d->rep) /* pause */
			set(out, INSTRUCTION_PADDING, NONE, NONE, 0);
		break;
	case 0xc2:
	case 0xc3:
		set(out, INSTRUCTION_RETURN, NONE, NONE, 0);
		break;
	case 0xc8:
		out->written |= 1u << GB_REG_RSP | 1u << GB_REG_RBP;
		break;
	case 0xc9:
		set(out, INSTRUCTION_LEAVE, NONE, NONE, 0);
		break;
	case 0xca:
	case 0xcb:
	case 0xcc:
	case 0xcf:
	case 0xf1:
	case 0xf4:
		set(out, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		set(out, INSTRUCTION_BRANCH, NONE, NONE, d->immediate);
		break;
	case 0xe8:
		set(out, INSTRUCTION_CALL, NONE, NONE, d->immediate);
		break;
	case 0xe9:
	case 0xeb:
		set(out, INSTRUCTION_JUMP, NONE, NONE, d->immediate);
		break;
	}
}

static void say_one_byte(const struct decoding *d, struct instruction *out)
{
	uint8_t opcode = d->opcode;

	if (opcode == 0x89 || opcode == 0x8b)
		say_move(d, out);
	else if (opcode == 0x81 || opcode == 0x83)
		say_arithmetic(d, out);
	else if (opcode == 0x8d && d->wide && d->is_simple)
		set(out, INSTRUCTION_ADD, d->reg, d->rm, d->displacement);
	else if (opcode == 0x8d && d->wide && d->is_relative)
		set(out, INSTRUCTION_ADDRESS, d->reg, NONE, d->displacement);
	else if ((opcode == 0xc7 && d->wide && d->is_register) ||
		 (opcode >= 0xb8 && opcode <= 0xbf && !d->wide && !d->has_66))
		set(out, INSTRUCTION_NUMBER, NONE, NONE, d->immediate);
	else if ((opcode & 0xfd) == 0x31 && d->is_register && d->reg == d->rm && !d->has_66)
		set(out, INSTRUCTION_ZERO, d->rm, NONE, 0);
	else if ((opcode & 0xf0) == 0x50)
		say_stack(d, out);
	else if ((opcode & 0xf0) == 0x70)
		set(out, INSTRUCTION_BRANCH, NONE, NONE, d->immediate);
	else if (opcode == 0xff)
		say_group_5(d, out);
	else
		say_others(d, out);
}

static void say_two_bytes(const struct decoding *d, struct instruction *out)
{
	if ((d->opcode & 0xf0) == 0x80) {
		set(out, INSTRUCTION_BRANCH, NONE, NONE, d->immediate);
		return;
	}
	switch (d->opcode) {
	case 0x05:
		out->written |= 1u << GB_REG_R11;
		break;
	case 0x0b:
	case 0xb9:
	case 0xff:
		set(out, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	case 0x1f:
		set(out, INSTRUCTION_PADDING, NONE, NONE, 0);
		break;
	case 0xa0:
	case 0xa8:
		set(out, INSTRUCTION_PUSH, NONE, NONE, d->has_66 ? 2 : 8);
		break;
	case 0xa1:
	case 0xa9:
		set(out, INSTRUCTION_POP, NONE, NONE, d->has_66 ? 2 : 8);
		break;
	case 0xa2:
		out->written |= 1u << GB_REG_RBX;
		break;
	}
}

bool machine_decode(const uint8_t *code, size_t size, struct instruction *out)
{
	struct decoding d = {.code = code,
			     .size = size < INSTRUCTION_MAX_BYTES ? size : INSTRUCTION_MAX_BYTES};

	if (!x86_64_decode(&d))
		return false;
	*out = (struct instruction){.kind = INSTRUCTION_PLAIN,
				    .length = (uint8_t)d.at,
				    .source = GB_REG_COUNT,
				    .target = GB_REG_COUNT,
				    .written = written_by(&d)};
	if (d.is_vector)
		return true;
	if (d.map == MAP_ONE_BYTE)
		say_one_byte(&d, out);
	else if (d.map == MAP_0F)
		say_two_bytes(&d, out);
	return true;
}
