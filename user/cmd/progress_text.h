/* SPDX-License-Identifier: BSD-2-Clause */
/* progress_text.h - how far a piece of work is, as text: a line on the terminal, or lines of JSON for programs. */
#ifndef GECKOBPF_CMD_PROGRESS_TEXT_H
#define GECKOBPF_CMD_PROGRESS_TEXT_H

#include "base/progress.h"

/* A status line (base/log.h), which is removed at the end; nothing if stderr is not a terminal. */
extern const struct progress_style progress_bar;

/* {"progress":0.4213,"task":"writing","eta_s":1.2} on stderr; eta_s is null while it is not known. */
extern const struct progress_style progress_json;

#define PROGRESS_BAR_BYTES 16

/* "[=====>      ] " of `part`, 0 to 1, into PROGRESS_BAR_BYTES bytes. */
void progress_draw_bar(char *bar, double part);

#endif
