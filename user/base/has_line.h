/* SPDX-License-Identifier: BSD-2-Clause */
/* has_line.h - whether a text has a certain line, the last of which may lack its newline. */
#ifndef GECKOBPF_BASE_HAS_LINE_H
#define GECKOBPF_BASE_HAS_LINE_H

#include <stdbool.h>

/* `line`: not "", without a newline. */
bool has_line(const char *text, const char *line);

#endif
