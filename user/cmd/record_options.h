/* SPDX-License-Identifier: BSD-2-Clause */
/* record_options.h - the command line of `geckobpf record`, with what GECKOBPF_OPTIONS adds to it. */
#ifndef GECKOBPF_CMD_RECORD_OPTIONS_H
#define GECKOBPF_CMD_RECORD_OPTIONS_H

#include "cmd/output_choice.h"
#include "cmd/usage.h"
#include "session/pid_names.h"
#include "session/session.h"

struct progress_style;

struct record_options {
	struct usage usage;
	struct output_choice output;
	struct session_config config; /* points into the rest, so that it stays where it is */
	const struct progress_style
		*progress; /* what is shown while it records and saves; NULL: nothing */
	bool is_strict; /* it fails if anything was lost */
	bool keeps_priority; /* it records at the priority that it was started with */
	int control_in, control_out; /* descriptors of --control; -1: it was not given */

	/* What the parser needs. */
	struct pid_list pids;
	bool is_record; /* `geckobpf record`, so that a bare word is a command */
	char *words; /* a copy of GECKOBPF_OPTIONS, cut up */
	char **argv; /* its words, then what the user gave */
};

/* 0: record; -1: exit with *status: help was printed, or an error logged. In either case it is to be cleared. */
int record_options_parse(struct record_options *out, int argc, char **argv, int *status);
void record_options_clear(struct record_options *options);

#endif
