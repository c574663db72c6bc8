/* SPDX-License-Identifier: BSD-2-Clause */
/* cfa_step.h - one call frame instruction of any kind. Only for cfa_program.c. */
#ifndef GECKOBPF_UNWIND_CFA_STEP_H
#define GECKOBPF_UNWIND_CFA_STEP_H

#include "unwind/cfa_program.h"

#define CFA_STACK_MAX 32 /* remembered states; compilers nest them two or three deep */

/* What is true before any instruction. */
extern const struct cfa_state cfa_state_unknown;

struct cfa_run {
	struct cfa_machine *machine;
	const struct cie *cie;
	const struct cfa_state *initial; /* what DW_CFA_restore goes back to */
	struct cursor in;
	struct cfa_state state;
	uint32_t start; /* of the function, an offset in the text */
	uint32_t size; /* of the function */
	uint64_t pc; /* from its start; < size */
	uint64_t slow_regs; /* by bit: run_program() leaves saving them to cfa_step() */
	uint32_t code_align; /* the CIE's */
	int32_t data_align; /* the CIE's, where it fits */
	unsigned int depth;
	struct cfa_key stack[CFA_STACK_MAX];
};

/* Executes the next instruction; *advance: bytes that it moves the pc, or 0. False: it makes no sense. */
bool cfa_step(struct cfa_run *run, uint64_t *advance);

#endif
