/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decoder: how long an instruction is, what it does to the stack pointer and its copies, which
 * registers it writes. The bytes and lengths are an assembler's and a disassembler's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "unwind/instruction.h"

#include "alloc.h"

enum {
	RAX = GB_REG_RAX,
	RBX = GB_REG_RBX,
	RCX = GB_REG_RCX,
	RDX = GB_REG_RDX,
	RSI = GB_REG_RSI,
	RDI = GB_REG_RDI,
	RBP = GB_REG_RBP,
	RSP = GB_REG_RSP,
	R8 = GB_REG_R8,
	R11 = GB_REG_R11,
	R12 = GB_REG_R12,
	R13 = GB_REG_R13,
	R15 = GB_REG_R15,
	NONE = GB_REG_COUNT,
};

struct effect {
	uint8_t kind, source, target;
	uint32_t written;
	int64_t value;
};

struct sample {
	struct effect effect;
	size_t length;
	uint8_t code[INSTRUCTION_MAX_BYTES];
};

#define BIT(reg) (1u << (reg))
#define EFFECT(kind, target, source, written, value)                                               \
	{                                                                                          \
		INSTRUCTION_##kind, source, target, written, value                                 \
	}
#define PLAIN(written) EFFECT(PLAIN, NONE, NONE, written, 0)
#define PADDING EFFECT(PADDING, NONE, NONE, 0, 0)
#define PUSH(source, bytes) EFFECT(PUSH, NONE, source, 0, bytes)
#define POP(target, bytes) EFFECT(POP, target, NONE, BIT(target) & ~BIT(NONE), bytes)
#define POP_OTHER(reg, bytes) EFFECT(POP, NONE, NONE, BIT(reg), bytes)
#define MOVE(target, source) EFFECT(MOVE, target, source, BIT(target), 0)
#define ADD(target, source, value) EFFECT(ADD, target, source, BIT(target), value)
#define ZERO(target) EFFECT(ZERO, target, NONE, BIT(target), 0)
#define ALIGN(target, mask) EFFECT(ALIGN, target, target, BIT(target), mask)
#define LOAD(target, source, value) EFFECT(LOAD, target, source, BIT(target), value)
#define STORE(target, source, value) EFFECT(STORE, target, source, 0, value)
#define ADDRESS(target, value) EFFECT(ADDRESS, target, NONE, BIT(target), value)
#define NUMBER(reg, value) EFFECT(NUMBER, NONE, NONE, BIT(reg), value)
#define LEAVE EFFECT(LEAVE, NONE, NONE, 0, 0)
#define CALL(value) EFFECT(CALL, NONE, NONE, 0, value)
#define CALL_INDIRECT EFFECT(CALL_INDIRECT, NONE, NONE, 0, 0)
#define JUMP(value) EFFECT(JUMP, NONE, NONE, 0, value)
#define BRANCH(value) EFFECT(BRANCH, NONE, NONE, 0, value)
#define BRANCH_COUNT(value) EFFECT(BRANCH, NONE, NONE, BIT(RCX), value)
#define JUMP_INDIRECT EFFECT(JUMP_INDIRECT, NONE, NONE, 0, 0)
#define JUMP_SLOT EFFECT(JUMP_SLOT, NONE, NONE, 0, 0)
#define RETURN EFFECT(RETURN, NONE, NONE, 0, 0)
#define STOP EFFECT(STOP, NONE, NONE, 0, 0)

/* A copy that ends where its memory does, so that a read behind it is found. */
static bool decode(const uint8_t *code, size_t size, struct instruction *out)
{
	uint8_t *copy = malloc(size ? size : 1);
	bool is_one;

	assert_non_null(copy);
	memcpy(copy, code, size);
	is_one = machine_decode(copy, size, out);
	free(copy);
	return is_one;
}

static void assert_effect(const struct instruction *got, const struct sample *sample)
{
	assert_int_equal(got->length, sample->length);
	assert_int_equal(got->kind, sample->effect.kind);
	assert_int_equal(got->source, sample->effect.source);
	assert_int_equal(got->target, sample->effect.target);
	assert_int_equal(got->written, sample->effect.written);
	assert_int_equal(got->value, sample->effect.value);
}

/* Whatever comes after it, and nothing when it is cut. */
static void check(const struct sample *sample)
{
	uint8_t code[2 * INSTRUCTION_MAX_BYTES];
	struct instruction got;
	size_t size;

	memset(code, 0xff, sizeof(code));
	memcpy(code, sample->code, sample->length);
	assert_true(decode(code, sizeof(code), &got));
	assert_effect(&got, sample);
	assert_true(decode(code, sample->length, &got));
	assert_effect(&got, sample);
	for (size = 0; size < sample->length; size++)
		assert_false(decode(code, size, &got));
}

static void check_all(const struct sample *samples, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		check(&samples[i]);
}

#define CHECK(samples) check_all(samples, sizeof(samples) / sizeof((samples)[0]))

static void pushes_and_pops(void **state)
{
	static const struct sample samples[] = {
		{PUSH(RBX, 8), 1, {0x53}}, /* push %rbx */
		{PUSH(R12, 8), 2, {0x41, 0x54}}, /* push %r12 */
		{POP(RBP, 8), 1, {0x5d}}, /* pop %rbp */
		{POP(R15, 8), 2, {0x41, 0x5f}}, /* pop %r15 */
		{PUSH(NONE, 2), 2, {0x66, 0x50}}, /* pushw %ax */
		{POP_OTHER(RAX, 2), 2, {0x66, 0x58}}, /* popw %ax */
		{PUSH(NONE, 8), 2, {0x6a, 0xf0}}, /* push $-16 */
		{PUSH(NONE, 8), 5, {0x68, 0x78, 0x56, 0x34, 0x12}}, /* push $0x12345678 */
		{PUSH(NONE, 8), 3, {0xff, 0x70, 0x08}}, /* push 8(%rax) */
		{PUSH(NONE, 8),
		 8,
		 {0x64, 0xff, 0x34, 0x25, 0x28, 0x00, 0x00, 0x00}}, /* push %fs:0x28 */
		{PUSH(NONE, 8), 1, {0x9c}}, /* pushf */
		{POP(NONE, 8), 1, {0x9d}}, /* popf */
		{POP(NONE, 8), 4, {0x8f, 0x44, 0x24, 0x08}}, /* pop 8(%rsp) */
		{PUSH(RBX, 8), 2, {0xff, 0xf3}}, /* push %rbx,  the other way to write it */
		{POP_OTHER(RBX, 8), 2, {0x8f, 0xc3}}, /* pop %rbx,  the other way to write it */
		{PUSH(NONE, 8), 2, {0x0f, 0xa0}}, /* push %fs */
		{POP(NONE, 8), 2, {0x0f, 0xa9}}, /* pop %gs */
		{PLAIN(BIT(RBP) | BIT(RSP)), 4, {0xc8, 0x10, 0x00, 0x00}}, /* enter $16, $0 */
		{LEAVE, 1, {0xc9}}, /* leave */
	};

	CHECK(samples);
}

static void moves_of_the_stack_pointer(void **state)
{
	static const struct sample samples[] = {
		{ADD(RSP, RSP, -40), 4, {0x48, 0x83, 0xec, 0x28}}, /* sub $40, %rsp */
		{ADD(RSP, RSP, -4096),
		 7,
		 {0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00}}, /* sub $0x1000, %rsp */
		{ADD(RSP, RSP, 128), 4, {0x48, 0x83, 0xec, 0x80}}, /* sub $-0x80, %rsp */
		{ADD(RSP, RSP, 8), 4, {0x48, 0x83, 0xc4, 0x08}}, /* add $8, %rsp */
		{PLAIN(BIT(RSP)), 3, {0x83, 0xec, 0x08}}, /* sub $8, %esp */
		{PLAIN(BIT(RSP)), 4, {0x66, 0x83, 0xc4, 0x08}}, /* addw $8, %sp */
		{PLAIN(BIT(RSP)), 3, {0x48, 0x01, 0xc4}}, /* add %rax, %rsp */
		{PLAIN(BIT(RSP)), 3, {0x48, 0x29, 0xc4}}, /* sub %rax, %rsp */
		{ADD(RSP, RSP, -8), 5, {0x48, 0x8d, 0x64, 0x24, 0xf8}}, /* lea -8(%rsp), %rsp */
		{ADD(RSP, RBP, 4096),
		 7,
		 {0x48, 0x8d, 0xa5, 0x00, 0x10, 0x00, 0x00}}, /* lea 0x1000(%rbp), %rsp */
		{ADD(RAX, RSP, 16), 5, {0x48, 0x8d, 0x44, 0x24, 0x10}}, /* lea 16(%rsp), %rax */
		{PLAIN(BIT(RSP)), 4, {0x48, 0x8d, 0x24, 0xc4}}, /* lea (%rsp,%rax,8), %rsp */
		{ADDRESS(RSI, 16),
		 7,
		 {0x48, 0x8d, 0x35, 0x10, 0x00, 0x00, 0x00}}, /* lea 0x10(%rip), %rsi */
		{PLAIN(BIT(RSP)), 6, {0x67, 0x48, 0x8d, 0x64, 0x24, 0x08}}, /* lea 8(%esp), %rsp */
	};

	CHECK(samples);
}

static void copies(void **state)
{
	static const struct sample samples[] = {
		{MOVE(RBP, RSP), 3, {0x48, 0x89, 0xe5}}, /* mov %rsp, %rbp */
		{MOVE(RSP, RBP), 3, {0x48, 0x89, 0xec}}, /* mov %rbp, %rsp */
		{MOVE(RSP, RBP),
		 3,
		 {0x48, 0x8b, 0xe5}}, /* mov %rbp, %rsp,  the other way to write it */
		{PLAIN(BIT(RBP)), 2, {0x89, 0xe5}}, /* mov %esp, %ebp */
		{LOAD(RSP, RSP, 64), 5, {0x48, 0x8b, 0x64, 0x24, 0x40}}, /* mov 64(%rsp), %rsp */
		{STORE(RDI, RSP, 16), 4, {0x48, 0x89, 0x67, 0x10}}, /* mov %rsp, 0x10(%rdi) */
		{PLAIN(BIT(RSP)),
		 9,
		 {0x64, 0x48, 0x8b, 0x24, 0x25, 0x08, 0x00, 0x00, 0x00}}, /* mov %fs:8, %rsp */
		{PLAIN(BIT(RBP)),
		 8,
		 {0x48, 0x8b, 0x2c, 0xc5, 0x00, 0x01, 0x00, 0x00}}, /* mov 0x100(,%rax,8), %rbp */
		{PLAIN(BIT(RAX) | BIT(RSP)), 2, {0x48, 0x94}}, /* xchg %rax, %rsp */
		{PLAIN(BIT(RBP) | BIT(RSP)), 3, {0x48, 0x87, 0xe5}}, /* xchg %rsp, %rbp */
		{ALIGN(RSP, -16), 4, {0x48, 0x83, 0xe4, 0xf0}}, /* and $-16, %rsp */
		{ALIGN(RSP, -4096),
		 7,
		 {0x48, 0x81, 0xe4, 0x00, 0xf0, 0xff, 0xff}}, /* and $-4096, %rsp */
		{PLAIN(BIT(RSP)), 4, {0x48, 0x83, 0xe4, 0xef}}, /* and $-17, %rsp */
		{ZERO(RBP), 2, {0x31, 0xed}}, /* xor %ebp, %ebp */
		{PLAIN(BIT(R12)), 3, {0x4d, 0x29, 0xe4}}, /* sub %r12, %r12 */
		{PLAIN(BIT(RAX)), 2, {0x31, 0xe8}}, /* xor %ebp, %eax */
		{NUMBER(RAX, 4660), 5, {0xb8, 0x34, 0x12, 0x00, 0x00}}, /* mov $0x1234, %eax */
		{PLAIN(BIT(RAX)),
		 10,
		 {0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22,
		  0x11}}, /* movabs $0x1122334455667788, %rax */
		{NUMBER(RAX, -1),
		 7,
		 {0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff}}, /* mov $-1, %rax */
		{PLAIN(BIT(RAX)), 4, {0x66, 0xb8, 0x01, 0x00}}, /* mov $1, %ax */
		{PLAIN(BIT(RAX)),
		 9,
		 {0xa1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22,
		  0x11}}, /* movabs 0x1122334455667788, %eax */
	};

	CHECK(samples);
}

static void ways_on(void **state)
{
	static const struct sample samples[] = {
		{CALL(256), 5, {0xe8, 0x00, 0x01, 0x00, 0x00}}, /* call .+0x105 */
		{CALL_INDIRECT, 2, {0xff, 0xd0}}, /* call *%rax */
		{CALL_INDIRECT, 3, {0xff, 0x50, 0x08}}, /* call *8(%rax) */
		{CALL_INDIRECT, 6, {0xff, 0x15, 0x00, 0x01, 0x00, 0x00}}, /* call *0x100(%rip) */
		{RETURN, 1, {0xc3}}, /* ret */
		{RETURN, 3, {0xc2, 0x10, 0x00}}, /* ret $16 */
		{JUMP(16), 2, {0xeb, 0x10}}, /* jmp .+0x12 */
		{JUMP(-261), 5, {0xe9, 0xfb, 0xfe, 0xff, 0xff}}, /* jmp .-0x100 */
		{JUMP_INDIRECT, 2, {0xff, 0xe0}}, /* jmp *%rax */
		{JUMP_INDIRECT,
		 7,
		 {0xff, 0x24, 0xc5, 0x00, 0x00, 0x00, 0x00}}, /* jmp *table(,%rax,8) */
		{JUMP_SLOT, 6, {0xff, 0x25, 0x00, 0x01, 0x00, 0x00}}, /* jmp *0x100(%rip) */
		{JUMP_SLOT, 7, {0xff, 0x24, 0x25, 0x00, 0x10, 0x00, 0x00}}, /* jmp *0x1000 */
		{BRANCH(16), 2, {0x74, 0x10}}, /* jz .+0x12 */
		{BRANCH(-518), 6, {0x0f, 0x85, 0xfa, 0xfd, 0xff, 0xff}}, /* jne .-0x200 */
		{BRANCH_COUNT(16), 2, {0xe3, 0x10}}, /* jrcxz .+0x12 */
		{BRANCH_COUNT(-18), 2, {0xe2, 0xee}}, /* loop .-0x10 */
		{CALL(256),
		 8,
		 {0x66, 0x66, 0x48, 0xe8, 0x00, 0x01, 0x00, 0x00}}, /* call __tls_get_addr */
		{JUMP_INDIRECT, 3, {0x3e, 0xff, 0xe0}}, /* notrack jmp *%rax */
		{RETURN, 2, {0xf2, 0xc3}}, /* bnd ret */
	};

	CHECK(samples);
}

static void ends(void **state)
{
	static const struct sample samples[] = {
		{STOP, 1, {0xf4}}, /* hlt */
		{STOP, 1, {0xcc}}, /* int3 */
		{STOP, 2, {0x0f, 0x0b}}, /* ud2 */
		{STOP, 3, {0x0f, 0xb9, 0x00}}, /* ud1 (%rax), %eax */
		{STOP, 1, {0xcb}}, /* lret */
		{STOP, 2, {0x48, 0xcf}}, /* iretq */
	};

	CHECK(samples);
}

/* They write nothing, also where the same opcode with a prefix does. */
static void padding_and_hints(void **state)
{
	static const struct sample samples[] = {
		{PADDING, 1, {0x90}}, /* nop */
		{PADDING, 3, {0x0f, 0x1f, 0x00}}, /* nopl 0(%rax) */
		{PADDING, 6, {0x2e, 0x66, 0x0f, 0x1f, 0x04, 0x00}}, /* nopw %cs:0x0(%rax,%rax,1) */
		{PADDING, 2, {0x66, 0x90}}, /* xchg %ax, %ax */
		{PADDING, 2, {0x48, 0x90}}, /* rex.W nop */
		{PADDING,
		 15,
		 {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f,
		  0x84}}, /* as long as one may be */
		{PLAIN(0), 2, {0xf3, 0x90}}, /* pause */
		{PLAIN(0), 4, {0xf3, 0x0f, 0x1e, 0xfa}}, /* endbr64 */
	};

	CHECK(samples);
}

static void lengths_by_immediates(void **state)
{
	static const struct sample samples[] = {
		{PLAIN(0), 4, {0xc6, 0x40, 0x08, 0x01}}, /* movb $1, 8(%rax) */
		{PLAIN(0), 6, {0x66, 0xc7, 0x40, 0x08, 0x01, 0x00}}, /* movw $1, 8(%rax) */
		{PLAIN(0),
		 8,
		 {0xc7, 0x44, 0x88, 0x08, 0x01, 0x00, 0x00, 0x00}}, /* movl $1, 8(%rax,%rcx,4) */
		{PLAIN(0),
		 11,
		 {0x48, 0xc7, 0x05, 0x00, 0x01, 0x00, 0x00, 0x01, 0x00, 0x00,
		  0x00}}, /* movq $1, 0x100(%rip) */
		{PLAIN(0), 2, {0xa8, 0x01}}, /* test $1, %al */
		{PLAIN(0), 6, {0xf7, 0xc1, 0x00, 0x01, 0x00, 0x00}}, /* testl $0x100, %ecx */
		{PLAIN(0), 5, {0x66, 0xf7, 0xc1, 0x00, 0x01}}, /* testw $0x100, %cx */
		{PLAIN(0),
		 8,
		 {0x48, 0xf7, 0x04, 0x24, 0x01, 0x00, 0x00, 0x00}}, /* testq $1, (%rsp) */
		{PLAIN(BIT(RDX)), 4, {0x48, 0x6b, 0xd1, 0x64}}, /* imul $100, %rcx, %rdx */
		{PLAIN(BIT(RDX)),
		 7,
		 {0x48, 0x69, 0xd1, 0xe8, 0x03, 0x00, 0x00}}, /* imul $1000, %rcx, %rdx */
	};

	CHECK(samples);
}

static void registers_written(void **state)
{
	static const struct sample samples[] = {
		{PLAIN(BIT(R11) | BIT(RAX) | BIT(RCX)), 2, {0x0f, 0x05}}, /* syscall */
		{PLAIN(BIT(RBX) | BIT(RDX) | BIT(RAX) | BIT(RCX)), 2, {0x0f, 0xa2}}, /* cpuid */
		{PLAIN(BIT(RDI) | BIT(RSI) | BIT(RAX) | BIT(RCX)),
		 3,
		 {0xf3, 0x48, 0xab}}, /* rep stosq */
		{PLAIN(BIT(RDI) | BIT(RSI) | BIT(RCX)), 2, {0xf3, 0xa4}}, /* rep movsb */
		{PLAIN(BIT(RDX) | BIT(RAX)),
		 5,
		 {0xf0, 0x48, 0x0f, 0xc7, 0x0f}}, /* lock cmpxchg16b (%rdi) */
		{PLAIN(0), 3, {0xf0, 0xff, 0x00}}, /* lock incl (%rax) */
		{PLAIN(BIT(RAX)),
		 9,
		 {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00}}, /* mov %fs:0x28, %rax */
		{PLAIN(BIT(RAX)), 3, {0x67, 0x8b, 0x00}}, /* addr32 mov (%eax), %eax */
		{PLAIN(BIT(R12)), 3, {0x49, 0xff, 0xc4}}, /* inc %r12 */
		{PLAIN(BIT(RBP)), 3, {0x40, 0xfe, 0xcd}}, /* dec %bpl */
		{PLAIN(BIT(RBX)), 2, {0x88, 0xe7}}, /* mov %ah, %bh */
		{PLAIN(BIT(RAX)), 2, {0x88, 0xe0}}, /* mov %ah, %al */
		{PLAIN(BIT(RAX)), 3, {0x0f, 0x94, 0xc0}}, /* setz %al */
		{PLAIN(BIT(R13)), 3, {0x49, 0x0f, 0xcd}}, /* bswap %r13 */
		{PLAIN(BIT(RBX)), 5, {0x48, 0x0f, 0xa4, 0xc3, 0x04}}, /* shld $4, %rax, %rbx */
		{PLAIN(BIT(RBP)), 4, {0x48, 0x0f, 0xbc, 0xe8}}, /* bsf %rax, %rbp */
		{PLAIN(BIT(RBP)), 4, {0x0f, 0xb6, 0x2c, 0x24}}, /* movzbl (%rsp), %ebp */
		{PLAIN(BIT(RCX)), 5, {0xf2, 0x0f, 0x38, 0xf0, 0x0e}}, /* crc32b (%rsi), %ecx */
		{PLAIN(BIT(RCX)), 4, {0x0f, 0x38, 0xf0, 0x0e}}, /* movbe (%rsi), %ecx */
		{PLAIN(0), 4, {0x0f, 0x38, 0xf1, 0x0e}}, /* movbe %ecx, (%rsi) */
		{PLAIN(BIT(R8) | BIT(RAX)), 2, {0x49, 0x90}}, /* xchg %r8, %rax */
	};

	CHECK(samples);
}

static void registers_written_by_vector_instructions(void **state)
{
	static const struct sample samples[] = {
		{PLAIN(0), 5, {0x0f, 0x29, 0x44, 0x24, 0xe8}}, /* movaps %xmm0, -0x18(%rsp) */
		{PLAIN(BIT(RBP)), 4, {0x66, 0x0f, 0x7e, 0xc5}}, /* movd %xmm0, %ebp */
		{PLAIN(BIT(RBP)), 5, {0x66, 0x48, 0x0f, 0x7e, 0xc5}}, /* movq %xmm0, %rbp */
		{PLAIN(BIT(RBP)), 5, {0xf3, 0x48, 0x0f, 0x2c, 0xe8}}, /* cvttss2si %xmm0, %rbp */
		{PLAIN(BIT(RBP)), 5, {0x66, 0x0f, 0xc5, 0xe8, 0x01}}, /* pextrw $1, %xmm0, %ebp */
		{PLAIN(0), 5, {0x66, 0x0f, 0x70, 0xc8, 0x01}}, /* pshufd $1, %xmm0, %xmm1 */
		{PLAIN(BIT(RBP)), 4, {0x66, 0x0f, 0xd7, 0xe8}}, /* pmovmskb %xmm0, %ebp */
		{PLAIN(0), 6, {0x66, 0x0f, 0x3a, 0x0f, 0xc8, 0x08}}, /* palignr $8, %xmm0, %xmm1 */
		{PLAIN(0),
		 7,
		 {0x66, 0x48, 0x0f, 0x3a, 0x22, 0xcd, 0x01}}, /* pinsrq $1, %rbp, %xmm1 */
	};

	CHECK(samples);
}

static void vector_prefixes(void **state)
{
	static const struct sample samples[] = {
		{PLAIN(0), 3, {0xc5, 0xf8, 0x77}}, /* vzeroupper */
		{PLAIN(0), 6, {0xc5, 0xfd, 0x6f, 0x44, 0x24, 0x20}}, /* vmovdqa 32(%rsp), %ymm0 */
		{PLAIN(0), 6, {0xc4, 0x01, 0x7e, 0x7f, 0x0c, 0x08}}, /* vmovdqu %ymm9, (%r8,%r9) */
		{PLAIN(0), 6, {0xc4, 0xe3, 0xfd, 0x00, 0xc8, 0x01}}, /* vpermq $1, %ymm0, %ymm1 */
		{PLAIN(BIT(RBP)), 4, {0xc5, 0xfd, 0xd7, 0xe8}}, /* vpmovmskb %ymm0, %ebp */
		{PLAIN(BIT(RBP)), 4, {0xc5, 0xf9, 0x7e, 0xc5}}, /* vmovd %xmm0, %ebp */
		{PLAIN(0), 5, {0xc5, 0xfd, 0x70, 0xc8, 0x01}}, /* vpshufd $1, %ymm0, %ymm1 */
		{PLAIN(BIT(RBP)), 5, {0xc4, 0xe2, 0xe0, 0xf2, 0xe8}}, /* andn %rax, %rbx, %rbp */
		{PLAIN(BIT(RBP)), 5, {0xc4, 0xe2, 0xd0, 0xf3, 0xc8}}, /* blsr %rax, %rbp */
		{PLAIN(BIT(RBP)), 5, {0xc4, 0xe2, 0xf8, 0xf7, 0xeb}}, /* bextr %rax, %rbx, %rbp */
		{PLAIN(BIT(RBP)),
		 6,
		 {0xc4, 0xe3, 0xfb, 0xf0, 0xe8, 0x05}}, /* rorx $5, %rax, %rbp */
		{PLAIN(BIT(RBP) | BIT(RBX)),
		 5,
		 {0xc4, 0xe2, 0xe3, 0xf6, 0xe8}}, /* mulx %rax, %rbx, %rbp */
		{PLAIN(0),
		 8,
		 {0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x44, 0x24, 0x01}}, /* vmovdqu64 64(%rsp), %zmm16 */
		{PLAIN(0),
		 7,
		 {0x62, 0xf3, 0x6d, 0x48, 0x25, 0xd9,
		  0x96}}, /* vpternlogd $0x96, %zmm1, %zmm2, %zmm3 */
		{PLAIN(0),
		 6,
		 {0x62, 0xf2, 0x6d, 0x48, 0x8d, 0xd9}}, /* vpermb %zmm1, %zmm2, %zmm3 */
		{PLAIN(0),
		 7,
		 {0x62, 0xf3, 0x6d, 0x48, 0x3e, 0xc9, 0x01}}, /* vpcmpub $1, %zmm1, %zmm2, %k1 */
		{PLAIN(BIT(RBP)), 5, {0xc4, 0xe1, 0xfb, 0x93, 0xe9}}, /* kmovq %k1, %rbp */
		{PLAIN(0),
		 6,
		 {0x62, 0xf5, 0x6c, 0x48, 0x58, 0xd9}}, /* vaddph %zmm1, %zmm2, %zmm3 */
		{PLAIN(BIT(RBP)),
		 6,
		 {0x62, 0xf5, 0xfe, 0x08, 0x2c, 0xe8}}, /* vcvttsh2si %xmm0, %rbp */
		{PLAIN(0),
		 6,
		 {0x8f, 0xe8, 0x68, 0xcc, 0xd9, 0x01}}, /* vpcomb $1, %xmm1, %xmm2, %xmm3 */
		{PLAIN(0), 6, {0x8f, 0xe8, 0x78, 0xc0, 0xd1, 0x01}}, /* vprotb $1, %xmm1, %xmm2 */
		{PLAIN(BIT(RBP)),
		 9,
		 {0x8f, 0xea, 0xf8, 0x10, 0xe8, 0x02, 0x01, 0x00,
		  0x00}}, /* bextr $0x102, %rax, %rbp */
		{PLAIN(BIT(RBP)), 5, {0x8f, 0xe9, 0xd0, 0x01, 0xc8}}, /* blcfill %rax, %rbp */
	};

	CHECK(samples);
}

/* Not taken for instructions, whatever comes after them. */
static void invalid_ones(void **state)
{
	static const struct {
		size_t length;
		uint8_t code[4];
	} samples[] = {
		{1, {0x06}}, /* push %es, as all of one byte here: gone in 64-bit code */
		{1, {0x27}},
		{1, {0x60}},
		{1, {0x82}},
		{1, {0x9a}},
		{1, {0xce}},
		{1, {0xd4}},
		{1, {0xea}},
		{1, {0xd5}}, /* REX2, which we do not know */
		{2, {0x0f, 0x04}},
		{2, {0x0f, 0x0a}},
		{2, {0x0f, 0x24}},
		{2, {0x0f, 0x39}},
		{2, {0x0f, 0x7a}},
		{2, {0x0f, 0xaa}},
		{2, {0x48, 0x66}}, /* a prefix after REX: no assembler writes that */
		{2, {0x48, 0x48}},
		{2, {0xc4, 0xe0}}, /* VEX of map 0 */
		{2, {0xc4, 0xe4}}, /* of map 4 */
		{2, {0xc4, 0xe7}}, /* of map 7 */
		{2, {0xc4, 0xff}}, /* of map 31 */
		{2, {0x62, 0xf0}}, /* EVEX of map 0 */
		{2, {0x62, 0xf4}}, /* of map 4: push2 and the like */
		{2, {0x62, 0xf9}}, /* with a bit that is 0 */
		{3, {0x62, 0xf1, 0x78}}, /* with a bit that is 1 */
		{2, {0x8f, 0xeb}}, /* XOP of map 11 */
	};
	uint8_t code[2 * INSTRUCTION_MAX_BYTES];
	struct instruction got;
	size_t i;

	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		memset(code, 0x44, sizeof(code));
		memcpy(code, samples[i].code, samples[i].length);
		assert_false(decode(code, sizeof(code), &got));
		assert_false(decode(code, samples[i].length, &got));
	}
}

/* The machine refuses more than 15 bytes, however they are made. */
static void too_long(void **state)
{
	uint8_t code[2 * INSTRUCTION_MAX_BYTES];
	struct instruction got;

	memset(code, 0x66, sizeof(code));
	assert_false(decode(code, sizeof(code), &got));
	code[INSTRUCTION_MAX_BYTES] = 0xc3;
	assert_false(decode(code, sizeof(code), &got));
	code[INSTRUCTION_MAX_BYTES - 1] = 0xc3;
	assert_true(decode(code, sizeof(code), &got));
	assert_int_equal(got.kind, INSTRUCTION_RETURN);
	assert_int_equal(got.length, INSTRUCTION_MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_and_pops),
		cmocka_unit_test(moves_of_the_stack_pointer),
		cmocka_unit_test(copies),
		cmocka_unit_test(ways_on),
		cmocka_unit_test(ends),
		cmocka_unit_test(padding_and_hints),
		cmocka_unit_test(lengths_by_immediates),
		cmocka_unit_test(registers_written),
		cmocka_unit_test(registers_written_by_vector_instructions),
		cmocka_unit_test(vector_prefixes),
		cmocka_unit_test(invalid_ones),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
