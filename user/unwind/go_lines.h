/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * go_lines.h - which line of the source Go's code was made from, as its table says.
 *
 *   description ──offsets──> values: file, line, number of inlined call, each by bytes of code
 *   number of file ──list of its unit──> where the file's name is
 */
#ifndef GECKOBPF_UNWIND_GO_LINES_H
#define GECKOBPF_UNWIND_GO_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct go_code;

struct go_line {
	const char *file; /* that the function is in, in go->bytes */
	uint32_t
		line; /* 0: not known, as of code that was inlined: its line is another function's */
};

/* Of the code at an offset in the text, as of go_code_find(). False: the table does not say. */
bool go_line_find(const struct go_code *go, uint64_t offset, struct go_line *out);

#endif
