/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_programs.h - which of the BPF programs are loaded: what a kernel lacks, or does not allow, is left out; and where
 * they are attached. (Those of sources attach themselves.)
 */
#ifndef GECKOBPF_CAPTURE_KERNEL_PROGRAMS_H
#define GECKOBPF_CAPTURE_KERNEL_PROGRAMS_H

#include <stdbool.h>

#include "geckobpf_abi.h"

struct geckobpf;
struct kernel_side_config;

struct kernel_programs {
	int mappings_error; /* why perf_event_mmap is not traced, -errno; 0: it is */
	int network_error; /* why bytes of sockets are not counted; 0: they are, or are not wanted */
	bool has_sleeps;
	enum gb_sleep_way sleep_way;
};

/* After the skeleton is opened, before it is loaded. 0 or -errno. */
int kernel_programs_choose(struct kernel_programs *out, struct geckobpf *skel,
			   const struct kernel_side_config *config);

/* Those that are loaded. 0 or -errno: some may be attached, then. */
int kernel_programs_attach(struct geckobpf *skel);
/* But for those that are read as files. */
void kernel_programs_detach(struct geckobpf *skel);

#endif
