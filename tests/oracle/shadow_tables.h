/* SPDX-License-Identifier: BSD-2-Clause */
/* shadow_tables.h - the unwind tables of one process's files, and what of them is where in its memory. */
#ifndef GECKOBPF_TESTS_SHADOW_TABLES_H
#define GECKOBPF_TESTS_SHADOW_TABLES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/table_store.h"

#define SHADOW_MAPPINGS_MAX 1024

struct shadow_tables {
	struct gb_mapping mappings[SHADOW_MAPPINGS_MAX]; /* of code */
	char names[SHADOW_MAPPINGS_MAX][128]; /* of their files */
	size_t mapping_count;
	uint64_t stack_end;
	struct table_store *store;
};

extern struct shadow_tables tables;

/* The program says what failed, and ends. */
void shadow_fail(const char *what);

void shadow_tables_open(void);

/* Reads what is mapped now, and makes the tables of files that are new. */
void shadow_tables_read(pid_t pid);

/* NULL: no code is mapped there. */
const struct gb_mapping *shadow_mapping_of(uint64_t address);

/* "file+0xaddress", as objdump shows it, until the fourth call from now. */
const char *shadow_place(uint64_t address);

#endif
