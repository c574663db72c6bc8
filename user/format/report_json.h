/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_json.h - the hottest functions, threads or processes as one line of JSON for scripts; its fields are in the
 * manual page.
 */
#ifndef GECKOBPF_FORMAT_REPORT_JSON_H
#define GECKOBPF_FORMAT_REPORT_JSON_H

#include <stdio.h>

struct report_options;
struct stack_profile;

/* Of the whole: options->part is not looked at. 0, -ENOMEM, or the error of the stream as -errno. */
int report_json_write(const struct stack_profile *profile, const struct report_options *options,
		      FILE *out);

#endif
