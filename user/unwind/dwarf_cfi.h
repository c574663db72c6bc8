/* SPDX-License-Identifier: BSD-2-Clause */
/* dwarf_cfi.h - the numbers of DWARF call frame information, as far as .eh_frame has them. */
#ifndef GECKOBPF_UNWIND_DWARF_CFI_H
#define GECKOBPF_UNWIND_DWARF_CFI_H

/* Call frame instructions. The first three have an operand in their low six bits. */
enum dwarf_cfa {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

#define CFA_OPERAND_MASK 0x3f

/* Pointer encodings: a format, what the value is relative to, and whether it is the address of the pointer. */
enum dwarf_pointer {
	PTR_ABSPTR = 0x00,
	PTR_ULEB128 = 0x01,
	PTR_UDATA2 = 0x02,
	PTR_UDATA4 = 0x03,
	PTR_UDATA8 = 0x04,
	PTR_SIGNED = 0x08,
	PTR_SLEB128 = 0x09,
	PTR_SDATA2 = 0x0a,
	PTR_SDATA4 = 0x0b,
	PTR_SDATA8 = 0x0c,
	PTR_FORMAT_MASK = 0x0f,
	PTR_PCREL = 0x10,
	PTR_ALIGNED = 0x50,
	PTR_BASE_MASK = 0x70,
	PTR_INDIRECT = 0x80,
	PTR_OMIT = 0xff,
};

/* Operations of location expressions. */
enum dwarf_op {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

#endif
