/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.h - what one file may cost whoever compiles its table. Files are hostile, and what they say costs nothing to say.
 *
 * What is beyond a limit is left to frame pointers, and counted (unwind_table_stats). The largest of some 200 large
 * programs and libraries of Debian, Rust, Chromium and Google's tools: .eh_frame 8.8 MB, 180,000 functions, programs of
 * 34 kB, 1.6 million rows (6 million in a Go program of 600 MB), 98,000 pages, 950 rules, 0.9 s.
 */
#ifndef GECKOBPF_UNWIND_LIMITS_H
#define GECKOBPF_UNWIND_LIMITS_H

#define UNWIND_EH_FRAME_MAX_BYTES (32u << 20)
/* Of .eh_frame, with what is made of it, and Go's table. */
#define UNWIND_READ_MAX_BYTES (192u << 20)
#define UNWIND_SEGMENTS_MAX 256
#define UNWIND_FUNCTIONS_MAX (1u << 19)
#define UNWIND_CIES_MAX (1u << 16)
#define UNWIND_PROGRAM_MAX_BYTES (1u << 18) /* of one function */
#define UNWIND_ROWS_MAX (8u << 20)
#define UNWIND_CODE_ROWS_MAX (1u << 20) /* made of code that nobody has described */
#define UNWIND_PAGES_MAX (1u << 17) /* 512 MiB of text */
#define UNWIND_STATES_MAX (1u << 16) /* distinct, of all programs */
#define UNWIND_RULES_MAX (1u << 13) /* an eighth of what all files share */
#define UNWIND_CPU_MAX_NS 3000000000ULL

/* With all of that, compiling a file takes no more memory than this. */
#define UNWIND_MEMORY_MAX_BYTES (320u << 20)

/* Which limit a file met first. */
enum unwind_limit {
	UNWIND_LIMIT_NONE,
	UNWIND_LIMIT_CODE, /* too much code without a description: no warning, since large programs have it */
	UNWIND_LIMIT_EH_FRAME,
	UNWIND_LIMIT_FUNCTIONS,
	UNWIND_LIMIT_PROGRAM,
	UNWIND_LIMIT_GO_TABLE,
	UNWIND_LIMIT_ROWS,
	UNWIND_LIMIT_RULES,
	UNWIND_LIMIT_PAGES,
	UNWIND_LIMIT_TIME,
	UNWIND_LIMIT_COUNT
};

/* "more than 8192 unwind rules" */
const char *unwind_limit_text(enum unwind_limit limit);

#endif
