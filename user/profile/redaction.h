/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redaction.h - what a profile that is shown to others does not say, and how much of it there was.
 *
 *   arguments of command lines          session/redacted_facts.h: no process is shown with any
 *   directories of files and sources    libs.h, frames.h: the last part of a path is left
 *   addresses, of programs and kernel   a place in a file is left, or a name
 *   what tells machines apart           session/redacted_facts.h
 *
 * Names stay: of programs, threads, functions, files; and build ids, process ids and times.
 */
#ifndef GECKOBPF_PROFILE_REDACTION_H
#define GECKOBPF_PROFILE_REDACTION_H

#include <stdint.h>

enum redacted {
	REDACTED_ARGUMENTS,
	REDACTED_DIRECTORIES,
	REDACTED_SOURCES,
	REDACTED_ADDRESSES,
	REDACTED_KERNEL_ADDRESSES,
	REDACTED_MACHINE,
	REDACTED_COUNT
};

/* Zero-initialised is empty. Where it is NULL nothing is left out. */
struct redaction {
	uint64_t counts[REDACTED_COUNT];
};

/* What is counted, in words behind a number. */
const char *redaction_words(enum redacted kind);

void redaction_add(struct redaction *redaction, enum redacted kind);

/* A path as the profile says it: part of `path`. NULL stays NULL. Counts nothing. */
const char *redaction_path(const struct redaction *redaction, const char *path);

#endif
