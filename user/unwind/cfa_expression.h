/* SPDX-License-Identifier: BSD-2-Clause */
/* cfa_expression.h - the DWARF expressions that a rule can say: register (+ 8 * register) + offset, or what is found there + number. */
#ifndef GECKOBPF_UNWIND_CFA_EXPRESSION_H
#define GECKOBPF_UNWIND_CFA_EXPRESSION_H

#include "unwind/cursor.h"

struct cfa_expression {
	uint64_t reg; /* DWARF register */
	int64_t offset; /* bytes */
	bool is_deref; /* false: reg + offset; true: *(reg + offset) + add */
	bool is_indexed; /* with is_deref: *(reg + 8 * index + offset) + add */
	uint64_t index; /* DWARF register */
	int64_t add;
};

/* Recognises all of `bytes`. False: it is another kind of expression. */
bool cfa_expression_parse(struct cfa_expression *expression, struct cursor bytes);

#endif
