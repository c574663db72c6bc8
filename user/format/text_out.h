/* SPDX-License-Identifier: BSD-2-Clause */
/* text_out.h - prints names from a profile, which may have any bytes, on terminals and into text files. */
#ifndef GECKOBPF_FORMAT_TEXT_OUT_H
#define GECKOBPF_FORMAT_TEXT_OUT_H

#include <stdint.h>
#include <stdio.h>

struct stack_profile;

/* What is not to be shown (base/printable.h) becomes '?', `avoid` (unless '\0') becomes ':'. Errors stay in the stream. */
void text_out(FILE *out, const char *text, char avoid);

/* "name (in lib)", or the name. */
void text_out_function(FILE *out, const struct stack_profile *profile, uint32_t function,
		       char avoid);

/* What went wrong with the stream so far, with all of it written out: 0 or -errno. */
int text_out_flush(FILE *out);

#endif
