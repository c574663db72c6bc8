/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_oracle.h - the rule that libdw (elfutils) has for an address of an ELF file, in the words of our own rules.
 *
 * elfutils 0.188 can be wrong about where a row starts (after DW_CFA_restore_state); only the address that was asked for
 * and the end of its row are used.
 */
#ifndef GECKOBPF_TESTS_CFI_ORACLE_H
#define GECKOBPF_TESTS_CFI_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct oracle;

struct oracle_answer {
	bool is_covered; /* false: libdw has no row here, and the rest is unset */
	bool is_signal;
	uint64_t end; /* of the row */
	/* GB_CFA_INVALID where no rule can say it; tracked_off is GB_TRACKED_LOST where it cannot be said. */
	struct gb_unwind_rule rule;
	bool sp_is_cfa; /* the caller's RSP is the CFA, as rules take for granted */
};

/* One stretch of code that a description covers. */
struct oracle_function {
	uint64_t start, end;
};

/* NULL: libdw finds no .eh_frame, or nothing that it can read. */
struct oracle *oracle_open(int fd);
void oracle_close(struct oracle *oracle);

/* Sorted by start; the oracle's. */
const struct oracle_function *oracle_functions(const struct oracle *oracle, size_t *count);

/* Whether mov $15, %eax (or %rax) and syscall are in the code, around `address` or one byte after it. */
bool oracle_is_sigreturn(const struct oracle *oracle, uint64_t address);

/* The CFA of _init and _fini from RSP, by their code before `address`; -1: it is in neither. */
int oracle_init_depth(const struct oracle *oracle, uint64_t address);

/* Whether the code at `address` may be Go's, which has a table of its own. */
bool oracle_is_go(const struct oracle *oracle, uint64_t address);

/* Whether the bytes around `address` call through a register, then do something with what that returned. */
bool oracle_is_outermost_call(const struct oracle *oracle, uint64_t address);

/* Whether the file begins to run at `address`, or shortly before it. */
bool oracle_is_entry(const struct oracle *oracle, uint64_t address);

/* Whether `address` is in a function that begins with mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi: makecontext(3) makes
 * functions return there. */
bool oracle_is_start_context(const struct oracle *oracle, uint64_t address);

void oracle_ask(struct oracle *oracle, uint64_t address, struct oracle_answer *answer);

#endif
