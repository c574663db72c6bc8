/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * number.h - numbers as text, by hand: the rows of a profile are mostly numbers.
 *
 * Each function writes without a NUL and returns the first byte after what it wrote.
 */
#ifndef GECKOBPF_BASE_NUMBER_H
#define GECKOBPF_BASE_NUMBER_H

#include <stdint.h>

#define NUMBER_MAX_BYTES 20 /* of a u64, or of an i64 with its sign */
#define NUMBER_TIME_MAX_BYTES 24 /* of a time in ms: sign, 14 digits, point, 6 digits, and some */

char *number_put_u64(char *out, uint64_t value);
char *number_put_i64(char *out, int64_t value);

/* "0x" and lower-case digits without leading zeros; 0 is "0x0". */
char *number_put_hex(char *out, uint64_t value);

/* Nanoseconds as milliseconds, exact: 1 -> 0.000001, 1500000 -> 1.5, 0 -> 0 (there is no -0). */
char *number_put_time_ms(char *out, int64_t ns);

#endif
