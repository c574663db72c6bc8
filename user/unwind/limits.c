/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.c - see limits.h. */
#include "unwind/limits.h"

const char *unwind_limit_text(enum unwind_limit limit)
{
	static const char *const texts[UNWIND_LIMIT_COUNT] = {
		[UNWIND_LIMIT_CODE] = "more than 32 MiB of code without unwind information",
		[UNWIND_LIMIT_EH_FRAME] = "an .eh_frame of more than 32 MiB, or with holes",
		[UNWIND_LIMIT_FUNCTIONS] = "more than 524288 functions in .eh_frame",
		[UNWIND_LIMIT_PROGRAM] = "more than 256 KiB of unwind information for one function",
		[UNWIND_LIMIT_GO_TABLE] = "a table of Go of more than 192 MiB",
		[UNWIND_LIMIT_ROWS] =
			"more than 8 million places where the rule of unwinding changes",
		[UNWIND_LIMIT_RULES] = "more than 8192 rules of unwinding",
		[UNWIND_LIMIT_PAGES] = "more than 512 MiB of code",
		[UNWIND_LIMIT_TIME] = "unwind information that takes more than 3 s to read",
	};
	const char *text = (unsigned int)limit < UNWIND_LIMIT_COUNT ? texts[limit] : 0;

	return text ? text : "?";
}
