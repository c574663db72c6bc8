/* SPDX-License-Identifier: BSD-2-Clause */
/* text_out.c - see text_out.h. */
#include "format/text_out.h"

#include <errno.h>
#include <string.h>

#include "base/printable.h"
#include "format/stack_profile.h"

void text_out(FILE *out, const char *text, char avoid)
{
	size_t left = strlen(text), count;

	for (; left; text += count, left -= count) {
		count = printable_character(text, left);
		if (!count || *text == avoid) {
			putc_unlocked(count ? ':' : '?', out);
			count = 1;
		} else {
			fwrite_unlocked(text, 1, count, out);
		}
	}
}

void text_out_function(FILE *out, const struct stack_profile *profile, uint32_t function,
		       char avoid)
{
	struct stack_function names = stack_profile_function(profile, function);

	text_out(out, stack_profile_text(profile, names.name), avoid);
	if (names.lib == STACK_NONE)
		return;
	fputs(" (in ", out);
	text_out(out, stack_profile_text(profile, names.lib), avoid);
	putc_unlocked(')', out);
}

int text_out_flush(FILE *out)
{
	errno = 0;
	if (fflush(out))
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}
