/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_names.h - patterns of threads' names, as a user gives them, made ready for the kernel. */
#ifndef GECKOBPF_CAPTURE_THREAD_NAMES_H
#define GECKOBPF_CAPTURE_THREAD_NAMES_H

#include "geckobpf_names.h"

/*
 * `list`: patterns, separated by commas; empty ones do not count. 0; -EINVAL: there is none; -E2BIG: they are longer than
 * 64 characters together, commas and the end included; -ENAMETOOLONG: one wants a name longer than the kernel keeps.
 */
int thread_names_compile(struct gb_names *out, const char *list);

#endif
