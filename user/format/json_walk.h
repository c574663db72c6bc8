/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_walk.h - goes through the outer levels of a JSON text; only what is asked for becomes a tree in memory, one
 * value at a time.
 *
 *   { "meta": VALUE, "processes": [ { "threads": [ VALUE, VALUE, ... ] } ] }
 *
 * A callback is at a value and has to go past it: with one of the three calls below, or with an error.
 */
#ifndef GECKOBPF_FORMAT_JSON_WALK_H
#define GECKOBPF_FORMAT_JSON_WALK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* A value of at most this many bytes: jansson counts them in an int. */
#define JSON_WALK_MAX_BYTES ((size_t)INT32_MAX)
/* Longer keys are cut. */
#define JSON_WALK_KEY_BYTES 64

/* Zero-initialised but for the text and, if wanted, the error, which says what is wrong after -EBADMSG. */
struct json_walk {
	const char *text;
	size_t size, at;
	struct error *error;
	struct json_block *blocks; /* memory of the tree */
	size_t tree_bytes;
	bool is_too_large; /* the tree that was asked for last */
};

/* Frees the tree. */
void json_walk_close(struct json_walk *walk);

/* Each returns 0, -EBADMSG: this is not what is there; -ENOMEM; what a callback returned unless 0. */
int json_walk_object(struct json_walk *walk, int (*on_member)(void *context, const char *key),
		     void *context);
int json_walk_array(struct json_walk *walk, int (*on_item)(void *context, size_t index),
		    void *context);
/* The value as a tree, which stays until the next call and is not to be changed or released. Also -EFBIG: it is too large for the text. */
int json_walk_value(struct json_walk *walk, const json_t **out);

/* Nothing but blanks is left: 0, or -EBADMSG. */
int json_walk_end(struct json_walk *walk);

#endif
