/* SPDX-License-Identifier: BSD-2-Clause */
/* slice.h - the options that choose a part of raw captures (profile/filter.h), which several commands have. */
#ifndef GECKOBPF_CMD_SLICE_H
#define GECKOBPF_CMD_SLICE_H

#include <argp.h>

struct usage;
struct profile_filter;

#define SLICE_KEY_FROM 0x200
#define SLICE_KEY_TO 0x201
#define SLICE_KEY_PROCESS 0x202
#define SLICE_KEY_THREAD 0x203

/* In a command's options, for slice_option(). */
#define SLICE_OPTIONS                                                                              \
	{"from",                                                                                   \
	 SLICE_KEY_FROM,                                                                           \
	 "SECONDS",                                                                                \
	 0,                                                                                        \
	 "Of raw captures: samples from then on, since the start of the recording",                \
	 0},                                                                                       \
		{"to", SLICE_KEY_TO, "SECONDS", 0, "Of raw captures: samples before then", 0},     \
		{"process",                                                                        \
		 SLICE_KEY_PROCESS,                                                                \
		 "PID|NAME",                                                                       \
		 0,                                                                                \
		 "Of raw captures: these processes only; NAME may have wildcards",                 \
		 0},                                                                               \
	{                                                                                          \
		"thread", SLICE_KEY_THREAD, "TID|NAME", 0,                                         \
			"Of raw captures: these threads only; NAME may have wildcards", 0          \
	}

/* For a parser, before arguments_option(). 0; EINVAL: which has been logged; ARGP_ERR_UNKNOWN: another option. */
error_t slice_option(struct profile_filter *filter, struct usage *usage, int key,
		     const char *value);

#endif
