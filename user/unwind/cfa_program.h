/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfa_program.h - runs call frame programs: a function's instructions -> (offset in the function, rule number), ...
 *
 *   CIE's program ──> initial state ──> FDE's program: advance_loc 1, def_cfa_offset 16, offset rbp, advance_loc 3, ...
 *                                             rows:    0: CFA = rsp + 8 | 1: CFA = rsp + 16, rbp saved | 4: ...
 *
 * A state holds from where it was made to where the program next advances. Only what a rule can say
 * is followed: the CFA, the frame pointer, the return address and, on demand, GB_REG_TRACKED.
 */
#ifndef GECKOBPF_UNWIND_CFA_PROGRAM_H
#define GECKOBPF_UNWIND_CFA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame.h"
#include "unwind/rule_set.h"

struct cfa_row {
	uint32_t offset; /* from the start of the function */
	uint32_t rule;
};

struct cfa_machine {
	const struct eh_frame *frame; /* borrowed */
	struct rule_set *rules; /* borrowed */
	struct cfa_state *initial; /* by CIE; how == 0: its program makes no sense */
	bool tracks_reg; /* tracked_off is filled in */

	/* What the last run made: rows of different neighbours, the first at offset 0. */
	struct cfa_row *rows;
	size_t row_count, row_capacity;

	uint64_t rows_in; /* over all runs, equal neighbours included */
	uint64_t unsupported; /* of those, RULE_INVALID */
	uint64_t too_long; /* programs that were not run */
	uint64_t bad; /* programs that make no sense from somewhere on: RULE_INVALID from there */
};

/* Runs the programs of all CIEs. 0 or -ENOMEM. cfa_machine_close() also where this failed. */
int cfa_machine_open(struct cfa_machine *machine, const struct eh_frame *frame,
		     struct rule_set *rules, bool tracks_reg);
void cfa_machine_close(struct cfa_machine *machine);

/* Runs a function of the frame. 0; -ENOMEM; -EFBIG of rule_set.h. No rows where its CIE's program makes no sense, or its own is too long. */
int cfa_machine_run(struct cfa_machine *machine, const struct fde *fde);

#endif
