/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_budget.h - what names of code may cost, for all files of a recording together.
 *
 * A file gets at most half of what is left, so that none takes what others need: the first may have the most, and there
 * is always something for the next. What a file has beyond its share is not used, and said so.
 */
#ifndef GECKOBPF_ELF_NAME_BUDGET_H
#define GECKOBPF_ELF_NAME_BUDGET_H

#include <stdint.h>

/* What is left. The first two are given back with the files. */
struct name_budget {
	uint64_t functions; /* in memory, 24 bytes each */
	uint64_t
		string_bytes; /* in memory: names as the files have them; what has no room there is read when it is needed */
	uint64_t answer_bytes; /* names that were answered */
	uint64_t
		list_bytes; /* in memory: where functions are without symbols, and Go's names and lines */
	uint64_t table_bytes; /* of symbol tables that were read, but for holes in the files */
	uint64_t checksum_bytes; /* of files that were summed up, for want of a build id */
	uint64_t unpacked_bytes; /* of .gnu_debugdata */
};

#define NAME_BUDGET_START                                                                          \
	{                                                                                          \
		.functions = 6 << 20, .string_bytes = 96 << 20, .answer_bytes = 64 << 20,          \
		.list_bytes = 192 << 20, .table_bytes = 4ULL << 30, .checksum_bytes = 2ULL << 30,  \
		.unpacked_bytes = 256 << 20                                                        \
	}

/* At most these for one file, whatever is left. */
#define NAME_TABLE_MAX_BYTES (256ULL << 20)
#define NAME_CHECKSUM_MAX_BYTES (512ULL << 20)
#define NAME_UNPACKED_MAX_BYTES (64ULL << 20)

/* What a file may have of something, of which it may have `most`. */
static inline uint64_t name_budget_share(uint64_t left, uint64_t most)
{
	return left / 2 < most ? left / 2 : most;
}

/* It had `spent`, which may be more than is left. */
static inline void name_budget_spend(uint64_t *left, uint64_t spent)
{
	*left -= spent < *left ? spent : *left;
}

#endif
