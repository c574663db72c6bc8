/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_question.h - what is asked about a file with code (named_files.h), of whoever parses it: this process (answering.h), or
 * another one that stands behind the door.
 */
#ifndef GECKOBPF_SYMBOL_NAME_QUESTION_H
#define GECKOBPF_SYMBOL_NAME_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_files.h"

struct cancel;
struct name_answer;

/* All is borrowed. It says everything, so that who answers needs to have heard of nothing before. */
struct name_question {
	/* Who asks, and about which of its files: where both are the same, so is all that is said of them. */
	uint64_t asker;
	uint32_t number; /* small */
	bool wants_layout;
	struct symbol_source source;
	const char *debug_dir;
	const struct file_search *search;
	struct cancel *cancel; /* NULL: never */
	const uint64_t *offsets; /* in the file, of which names are wanted, rising */
	size_t count;
};

/* ->ask: 0: *out is the caller's to free; -ENOMEM; -EINTR: cancelled; -ETIMEDOUT, -E2BIG, others: this file cannot be had. */
struct name_door {
	int (*ask)(void *context, const struct name_question *question, struct name_answer *out);
	void *context;
};

/* Who parses for this process from now on. Borrowed; NULL: itself. */
void names_ask_through(const struct name_door *door);
/* NULL: itself. */
const struct name_door *name_door(void);

#endif
