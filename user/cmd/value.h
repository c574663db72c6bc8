/* SPDX-License-Identifier: BSD-2-Clause */
/* value.h - the values of options: counts, times and sizes, with or without their units. Wrong ones go to usage_reject(). */
#ifndef GECKOBPF_CMD_VALUE_H
#define GECKOBPF_CMD_VALUE_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct usage;

/* `option`: as the message shall have it, "--top". All return 0 or EINVAL. */

/* Up to `most`. */
error_t value_count(struct usage *usage, const char *option, const char *text, size_t most,
		    size_t *out);

/* "10", "0.5", "500ms", "90s", "2m", "1h": seconds, up to some thirty years. More than 0. */
error_t value_seconds(struct usage *usage, const char *option, const char *text, double *out);
/* The same, and 0 is fine. */
error_t value_seconds_or_0(struct usage *usage, const char *option, const char *text, double *out);

/* "64", "64M", "1G": whole MiB, from `least_mib` to `most_mib`, as bytes. */
error_t value_mib(struct usage *usage, const char *option, const char *text, uint64_t least_mib,
		  uint64_t most_mib, uint64_t *out);

/* "0640", "644": permissions of a file that its owner may read and write, and nobody execute. */
error_t value_mode(struct usage *usage, const char *option, const char *text, mode_t *out);

#endif
