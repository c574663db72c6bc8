/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writes JSON as it goes: commas and escapes are its business, the order of calls is the
 * caller's.
 *
 * What comes out is valid UTF-8 whatever bytes go in. The first error of the sink sticks: later
 * calls do nothing.
 */
#ifndef GECKOBPF_FORMAT_JSON_H
#define GECKOBPF_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct piece;

/* Where the text goes. Each takes all of it or returns -errno. */
struct json_sink {
	int (*write)(void *context, const void *data, size_t size);
	void *context;
	int (*splice)(void *context, const struct piece *piece); /* if pieces can be packed */
};

/* 0 or -ENOMEM. */
int json_open(struct json **out, const struct json_sink *sink);
/* Frees; what was not flushed is lost. NULL is fine. */
void json_close(struct json *json);
/* Hands all text to the sink. 0 or the error that stuck. */
int json_flush(struct json *json);
int json_error(const struct json *json);
/* What comes next follows nothing: after json_flush(), to write into something else. */
void json_restart(struct json *json);

void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);

/*
 * Values. Text is any bytes: what is not UTF-8 becomes U+FFFD, one for each maximal part of a
 * broken sequence.
 */
/* (json_string() and json_null() would be functions of libjansson.) */
void json_text(struct json *json, const char *text);
void json_text_bytes(struct json *json, const char *text, size_t length);
/* INT64_MAX at most: readers of JSON refuse the whole file that has more. Only a damaged capture has. */
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_none(struct json *json);
/* Nanoseconds as milliseconds with at most 6 decimals, exact. */
void json_time_ms(struct json *json, int64_t ns);
/* With 3 decimals at most; null if it is not a number, or not below 9e12. */
void json_double(struct json *json, double value);
/* A value that is JSON already. */
void json_literal(struct json *json, const char *text);

/* Text that goes out as it is, packed or not, in place of items of an array that has just begun. */
void json_piece(struct json *json, const struct piece *piece);

/* A key and its value. */
void json_key_string(struct json *json, const char *key, const char *text);
void json_key_u64(struct json *json, const char *key, uint64_t value);
void json_key_time_ms(struct json *json, const char *key, int64_t ns);
void json_key_literal(struct json *json, const char *key, const char *text);

#endif
