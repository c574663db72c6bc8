/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slice.h - the options that choose a part of raw captures (profile/filter.h): those that convert and report share, as a
 * child of argp.
 */
#ifndef GECKOBPF_CMD_SLICE_H
#define GECKOBPF_CMD_SLICE_H

#include <argp.h>

struct profile_filter;
struct usage;

/* What the child takes as its input. */
struct slice {
	struct usage *usage;
	struct profile_filter *filter;
};

extern const struct argp slice_argp;

#endif
