/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.h - a profile for pprof: the message Profile of its profile.proto, gzip.
 *
 * A sample is a stack of a thread with the values "samples" (count), "cpu" and "wall" (nanoseconds; "cpu" is what is
 * shown unless told) and the labels "process", "thread", "pid" and "tid". A location is a function of a lib, without an
 * address; libs are mappings.
 */
#ifndef GECKOBPF_FORMAT_PPROF_H
#define GECKOBPF_FORMAT_PPROF_H

#include <stdio.h>

struct stack_profile;

/* At the end of `out`. 0, -ENOMEM, or the error of the file as -errno. */
int pprof_write(const struct stack_profile *profile, FILE *out);

#endif
