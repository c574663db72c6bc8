/* SPDX-License-Identifier: BSD-2-Clause */
/* utf8.h - text that may be any bytes becomes UTF-8: a broken sequence, as far as it goes, is one U+FFFD. */
#ifndef GECKOBPF_FORMAT_UTF8_H
#define GECKOBPF_FORMAT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* The bytes, at least 1, of the sequence that the text begins with; *is_whole: it is a character. `length`: not 0. */
size_t utf8_sequence(const char *text, size_t length, bool *is_whole);

#endif
