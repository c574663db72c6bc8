/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.h - what is said on the terminal when a file of a recording was written: what is in it, and what is not, and why. */
#ifndef GECKOBPF_SESSION_SUMMARY_H
#define GECKOBPF_SESSION_SUMMARY_H

#include <stdint.h>

struct counters;
struct profile_summary;

/* `path` ("-": stdout) has a profile now, `bytes` long. */
void summary_print(const struct counters *counters, const char *path, uint64_t bytes,
		   const struct profile_summary *profile);

/* The same of a raw capture. `damaged`: samples that the buffer had, but could not be read. */
void summary_print_raw(const struct counters *counters, const char *path, uint64_t bytes,
		       uint64_t damaged);

/* The same of a stream with so many samples; `missed` were overwritten before they could be written. */
void summary_print_stream(const struct counters *counters, const char *path, uint64_t bytes,
			  uint64_t samples, uint64_t missed);

/* The hottest functions, on stdout, unless the profile is there. */
void summary_print_top(const char *path, const struct profile_summary *profile);

#endif
