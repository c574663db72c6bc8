/* SPDX-License-Identifier: BSD-2-Clause */
/* compile_pool.h - compiles the tables of many files at once, on several CPUs, the largest file first. */
#ifndef GECKOBPF_UNWIND_COMPILE_POOL_H
#define GECKOBPF_UNWIND_COMPILE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

struct compile_job {
	struct unwind_source source;
	uint32_t tag; /* the caller's, to know the job by */
	uint64_t bytes; /* size of the file: larger ones start first */
	struct unwind_table *table; /* out: the caller's to close; NULL: see error */
	int error; /* out: as unwind_table_compile() */
};

/* Does all jobs; their order may change. Threads that cannot be started only make it slower. */
void compile_pool_run(struct compile_job *jobs, size_t count);

#endif
