/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intern.h - each distinct string gets a dense number, 0, 1, 2, ... in order of first use.
 *
 * Strings are bytes of any kind, kept NUL-terminated in blocks that never move.
 */
#ifndef GECKOBPF_BASE_INTERN_H
#define GECKOBPF_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

/* 0 or -ENOMEM. */
int intern_open(struct intern **out);
void intern_close(struct intern *intern);

/* Puts the number of `text` into *id. 0, or -ENOMEM with nothing changed. */
int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *id);

uint32_t intern_count(const struct intern *intern);

/* The string numbered `id` (< intern_count()), valid until intern_close(); *length may be NULL. */
const char *intern_text(const struct intern *intern, uint32_t id, size_t *length);

#endif
