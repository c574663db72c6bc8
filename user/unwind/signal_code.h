/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_code.h - finds the code that signal handlers return to.
 *
 * A handler "returns" to an instruction that nothing before it calls, so an unwinder that looks up the return address
 * minus one (as it must after a call) would miss the code by one byte: it is taken to begin one byte early, unless, as
 * in glibc, its description says so already.
 */
#ifndef GECKOBPF_UNWIND_SIGNAL_CODE_H
#define GECKOBPF_UNWIND_SIGNAL_CODE_H

#include "unwind/eh_frame.h"
#include "unwind/elf_code.h"

/*
 * Sets is_signal of the functions that are such code, by their augmentation or by their looks, and
 * moves their start.
 */
void signal_code_mark(struct eh_frame *frame, const struct elf_code *code);

/*
 * Code without a description, [start, end) in the text, is looked through for more of it, as far as
 * sections with code reach.
 */
struct signal_code_search {
	const struct elf_code *code;
	uint64_t text; /* address */
	uint64_t budget; /* bytes still to be looked at, over all searches */
	uint64_t kept; /* of those, for the code behind that which is searched now */
};

/* What is known of code without a description. */
struct known_code {
	uint32_t start, stop;
	bool is_outermost; /* it calls main or a thread's function: see machine_find_outermost_call(); otherwise signal handlers return to it */
};

/* Finds the next such code in [start, end). False: there is none. */
bool signal_code_find(struct signal_code_search *search, uint32_t start, uint32_t end,
		      struct known_code *out);

#endif
