/* SPDX-License-Identifier: BSD-2-Clause */
/* column.h - a column of a table: an array of JSON that is put together in a spool as its rows come. */
#ifndef GECKOBPF_FORMAT_COLUMN_H
#define GECKOBPF_FORMAT_COLUMN_H

#include <stddef.h>
#include <stdint.h>

struct json;
struct spool;

/* Each adds a value. 0 or -errno of the spool. */
int column_put_u64(struct spool *column, uint64_t value);
int column_put_i64(struct spool *column, int64_t value);
/* Nanoseconds as milliseconds. */
int column_put_time_ms(struct spool *column, int64_t ns);
int column_put_null(struct spool *column);

/* Writes the key and the array. 0, or -errno of reading what was spilled. */
int column_write(struct spool *column, struct json *json, const char *key);
/* The same of `count` values that are all the same. */
void column_write_constant(struct json *json, const char *key, const char *value, size_t count);

#endif
