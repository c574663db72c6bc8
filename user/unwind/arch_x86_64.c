/* SPDX-License-Identifier: BSD-2-Clause */
/* arch_x86_64.c - what the table compiler knows of x86-64: see arch.h. */
#include "unwind/arch.h"

#include <linux/types.h>
#include <string.h>

#include "geckobpf_abi.h"

/*
 *   b8       0f 00 00 00   0f 05      mov $15, %eax; syscall
 *   48 c7 c0 0f 00 00 00   0f 05      mov $15, %rax; syscall
 */
static const uint8_t sigreturn_tail[] = {15, 0, 0, 0, 0x0f, 0x05};
static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0};
static const uint8_t mov_eax[] = {0xb8};
static const uint8_t mov_edi[] = {0x89, 0xc7}; /* mov %eax, %edi */
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

static bool begins_with(const uint8_t *code, size_t size, const uint8_t *head, size_t head_size)
{
	return size >= head_size && !memcmp(code, head, head_size);
}

int machine_gb_reg(uint64_t dwarf_reg)
{
	static const int8_t known[MACHINE_REG_COUNT] = {
		GB_REG_RAX, GB_REG_RDX, GB_REG_RCX, GB_REG_RBX, GB_REG_RSI, GB_REG_RDI,
		-1,         -1,         GB_REG_R8,  GB_REG_R9,  GB_REG_R10, GB_REG_R11,
		GB_REG_R12, GB_REG_R13, GB_REG_R14, GB_REG_R15, -1,
	};

	return dwarf_reg < MACHINE_REG_COUNT ? known[dwarf_reg] : -1;
}

uint8_t machine_dwarf_reg(uint8_t gb_reg)
{
	uint8_t reg = 0;

	while (machine_gb_reg(reg) != gb_reg && reg < MACHINE_REG_RA)
		reg++;
	return reg;
}

/*
 * Linkers describe the 16-byte slots of a PLT, which push 8 bytes on their way, by
 *   breg7 8, breg16 0, lit15, and, lit11 (or lit10), ge, lit3, shl, plus
 */
int machine_cfa_expression(const uint8_t *bytes, size_t size)
{
	static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	const size_t literal = 6;

	if (size != sizeof(plt) || memcmp(bytes, plt, literal) ||
	    memcmp(bytes + literal + 1, plt + literal + 1, sizeof(plt) - literal - 1))
		return 0;
	if (bytes[literal] == 0x3b)
		return GB_CFA_PLT11;
	return bytes[literal] == 0x3a ? GB_CFA_PLT10 : 0;
}

/* Whether `head` comes right before `tail`, which is in code[]. */
static bool is_headed(const uint8_t *code, const uint8_t *tail, const uint8_t *head, size_t size)
{
	return (size_t)(tail - code) >= size && !memcmp(tail - size, head, size);
}

bool machine_find_sigreturn(const uint8_t *code, size_t size, size_t *at, size_t *length)
{
	const uint8_t *next = code, *end = code + size, *tail;
	size_t head;

	while ((tail = memmem(next, (size_t)(end - next), sigreturn_tail,
			      sizeof(sigreturn_tail)))) {
		head = 0;
		if (is_headed(code, tail, mov_rax, sizeof(mov_rax)))
			head = sizeof(mov_rax);
		else if (is_headed(code, tail, mov_eax, sizeof(mov_eax)))
			head = sizeof(mov_eax);
		if (head) {
			*at = (size_t)(tail - code) - head;
			*length = head + sizeof(sigreturn_tail);
			return true;
		}
		next = tail + 1;
	}
	return false;
}

/* An indirect call right before `tail`: call *%rax to %rdi, or with a prefix *%r8 to %r15. Its length, or 0. */
static size_t indirect_call(const uint8_t *code, const uint8_t *tail)
{
	if (tail - code < 2 || tail[-2] != 0xff || (tail[-1] & 0xf8) != 0xd0)
		return 0;
	return tail - code > 2 && tail[-3] == 0x41 ? 3 : 2;
}

/* A no-op, of one byte or more, or int3. */
static bool is_padding(const uint8_t *code)
{
	return code[0] == 0x90 || code[0] == 0xcc ||
	       (code[0] == 0x66 &&
		(code[1] == 0x90 || code[1] == 0x66 || code[1] == 0x2e || code[1] == 0x0f)) ||
	       (code[0] == 0x0f && code[1] == 0x1f);
}

/*
 * Code that exits with what was returned. The length, or 0:
 *   89 c7   e8 ...            mov %eax, %edi; call exit; padding
 *   89 c7   31 c0 b0 3c 0f 05   mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall
 */
static size_t exit_length(const uint8_t *code, size_t size)
{
	static const uint8_t exit_call[] = {0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
	const size_t mov = sizeof(mov_edi), call = mov + 5;

	if (size >= call + 2 && code[mov] == 0xe8 && is_padding(code + call))
		return call;
	return begins_with(code + mov, size - mov, exit_call, sizeof(exit_call))
		       ? mov + sizeof(exit_call)
		       : 0;
}

/* call *register, and such code behind it */
bool machine_find_outermost_call(const uint8_t *code, size_t size, size_t *at, size_t *length)
{
	const uint8_t *next = code, *end = code + size, *tail;
	size_t head, rest;

	while ((tail = memmem(next, (size_t)(end - next), mov_edi, sizeof(mov_edi)))) {
		head = indirect_call(code, tail);
		rest = head ? exit_length(tail, (size_t)(end - tail)) : 0;
		if (rest) {
			*at = (size_t)(tail - code) - head;
			*length = head + rest;
			return true;
		}
		next = tail + 1;
	}
	return false;
}

/*
 *   e8 ....     f4    call ...; hlt             ff 15 ....  f4   call *...; hlt
 *   48 83 e4 f0 e8 ....   and $-16, %rsp; call ...; a function, or padding
 *   41 ff e0 to e7        jmp *%r8 to *%r15
 */
static size_t entry_end(const uint8_t *code, size_t at, size_t size)
{
	static const uint8_t and_call[] = {0x48, 0x83, 0xe4, 0xf0, 0xe8};
	const uint8_t *here = code + at;
	size_t left = size - at;

	if (left >= 6 && here[0] == 0xe8 && here[5] == 0xf4)
		return at + 6;
	if (left >= 7 && here[0] == 0xff && here[1] == 0x15 && here[6] == 0xf4)
		return at + 7;
	if (left >= 9 && begins_with(here, left, and_call, sizeof(and_call)))
		return at + 9;
	return left >= 3 && here[0] == 0x41 && here[1] == 0xff && (here[2] & 0xf8) == 0xe0 ? at + 3
											   : 0;
}

size_t machine_entry_length(const uint8_t *code, size_t size)
{
	size_t at, end = 0;

	for (at = 0; at < size && !end; at++)
		end = entry_end(code, at, size);
	return end;
}

bool machine_sigreturn_size(uint64_t size)
{
	return size == sizeof(mov_rax) + sizeof(sigreturn_tail) ||
	       size == sizeof(mov_eax) + sizeof(sigreturn_tail);
}

/*
 *   [f3 0f 1e fa]   48 89 dc         ...   48 8b 3c 24        48 85 ff
 *   [endbr64;]      mov %rbx, %rsp;  ...   mov (%rsp), %rdi;  test %rdi, %rdi
 */
bool machine_is_start_context(const uint8_t *code, size_t size)
{
	static const uint8_t head[] = {0x48, 0x89, 0xdc};
	static const uint8_t rest[] = {0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff};

	if (begins_with(code, size, endbr64, sizeof(endbr64))) {
		code += sizeof(endbr64);
		size -= sizeof(endbr64);
	}
	return size > sizeof(head) && begins_with(code, size, head, sizeof(head)) &&
	       memmem(code, size, rest, sizeof(rest));
}

/* [endbr64;] sub $8, %rsp (or push %rax); ...; add $8, %rsp (or pop %rax); ret */
bool machine_is_init(const uint8_t *code, size_t size, size_t *pushed, size_t *popped)
{
	static const uint8_t sub[] = {0x48, 0x83, 0xec, 0x08}, push[] = {0x50};
	static const uint8_t add_ret[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}, pop_ret[] = {0x58, 0xc3};
	size_t at = begins_with(code, size, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	bool is_sub = begins_with(code + at, size - at, sub, sizeof(sub));
	const uint8_t *tail = is_sub ? add_ret : pop_ret;
	size_t tail_size = is_sub ? sizeof(add_ret) : sizeof(pop_ret);

	if (!is_sub && !begins_with(code + at, size - at, push, sizeof(push)))
		return false;
	at += is_sub ? sizeof(sub) : sizeof(push);
	if (size - at < tail_size || memcmp(code + size - tail_size, tail, tail_size) != 0)
		return false;
	*pushed = at;
	*popped = size - 1;
	return true;
}

/* The bytes of an instruction after its ModRM byte that say where an operand is. */
static size_t operand_bytes(uint8_t modrm)
{
	uint8_t mode = modrm >> 6, base = modrm & 7;
	size_t scale = mode < 3 && base == 4;

	if (mode == 2 || (!mode && base == 5))
		return scale + 4;
	return scale + (mode == 1);
}

/*
 * The length of such an instruction, 0 of any other:
 *   REX.W 8b /4   mov ..., %rsp      REX.W 8d /4       lea ..., %rsp
 *   REX.W 89 c4   mov %reg, %rsp     REX.W 83 e4 ib    and $..., %rsp
 */
static size_t stack_change(const uint8_t *code)
{
	uint8_t rex = code[0], modrm = code[2];

	if ((rex & 0xf8) != 0x48)
		return 0;
	switch (code[1]) {
	case 0x8b:
	case 0x8d:
		return !(rex & 4) && (modrm & 0x38) == 0x20 ? 3 + operand_bytes(modrm) : 0;
	case 0x89:
		return !(rex & 1) && (modrm & 0xc7) == 0xc4 ? 3 : 0;
	case 0x83:
		return !(rex & 1) && modrm == 0xe4 ? 4 : 0;
	default:
		return 0;
	}
}

size_t machine_find_stack_change(const uint8_t *code, size_t size)
{
	size_t at, length;

	for (at = 0; at + 3 <= size; at++) {
		length = stack_change(code + at);
		if (length)
			return at + length < size ? at + length : size;
	}
	return size;
}
