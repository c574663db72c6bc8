/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_returns.h - whether functions that .eh_frame describes return to their callers: exit and the like have, in all the
 * code that is theirs, neither a return nor a jump to other code.
 */
#ifndef GECKOBPF_UNWIND_CODE_RETURNS_H
#define GECKOBPF_UNWIND_CODE_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/u64_map.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_code.h"

struct code_returns {
	const struct elf_code *code; /* these three are borrowed */
	const struct eh_frame *frame;
	const uint64_t *order; /* of its functions, by address */
	struct u64_map known; /* address -> whether it may return */
};

/* At an address of the file; true also where nothing is known of it. `context`: struct code_returns. */
bool code_returns_from(void *context, uint64_t address);
void code_returns_close(struct code_returns *returns);

#endif
