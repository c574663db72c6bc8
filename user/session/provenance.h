/* SPDX-License-Identifier: BSD-2-Clause */
/* provenance.h - how the recording was made, for the profilingLog: options, kernel, and what had to be done without. */
#ifndef GECKOBPF_SESSION_PROVENANCE_H
#define GECKOBPF_SESSION_PROVENANCE_H

#include <sys/utsname.h>

struct numbers;
struct session;

struct provenance {
	char options
		[512]; /* those that matter, as a command line; no paths, no arguments of the command */
	char mappings[160], build_ids[64], kernel_symbols[160], stream[160]; /* fallbacks */
	struct utsname system;
};

/*
 * Adds to `numbers` texts that live in `out`. `symbols_error`: why kernel frames have no names, -errno; 0: they have, or need
 * none.
 */
void provenance_add(const struct session *session, int symbols_error, struct provenance *out,
		    struct numbers *numbers);

#endif
