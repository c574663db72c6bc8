/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - the hottest functions, threads or processes as text for terminals.
 *
 *   file:      demo.json.gz                 what was profiled, one such block a file
 *   ...
 *                                           then a table, or one for each thread or process
 *   self  self%  wall ms  CPU ms  total  total%  wall ms  CPU ms  function
 *   1850   61.2   1850.0  1849.2   1850    61.2   1850.0  1849.2  mandelbrot_depth (in demo)
 */
#ifndef GECKOBPF_FORMAT_REPORT_H
#define GECKOBPF_FORMAT_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "format/hot_list.h"

struct stack_profile;

enum report_part { REPORT_WHOLE, REPORT_EACH_PROCESS, REPORT_EACH_THREAD };

struct report_options {
	enum hot_key by; /* what a row is */
	enum report_part part; /* what a table is of */
	size_t top; /* rows of a table; 0: all */
};

/* 0, -ENOMEM, or the error of the stream as -errno. */
int report_write(const struct stack_profile *profile, const struct report_options *options,
		 FILE *out);

#endif
