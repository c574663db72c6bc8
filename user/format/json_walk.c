/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_walk.c - see json_walk.h. Brackets and commas of the outer levels are read here, all else by jansson.
 *
 * jansson does not survive a failed allocation in the middle of a text: it goes on with half a token and writes past
 * its memory. So none fails: its allocator leaves the parser instead, and what was allocated goes all at once, with the
 * blocks it is in. That is also less work than freeing each number of a table.
 */
#include "format/json_walk.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define BLOCK_BYTES (64 * 1024)
#define ALIGNMENT 16
/*
 * The tree of a value takes at most so many bytes, and so many for each of the whole text. Rows of numbers take ten;
 * but "{}" takes three hundred.
 */
#define TREE_BYTES ((size_t)24 << 20)
#define TREE_FACTOR 14

/* ---- the parser's memory -------------------------------------------------------------- */

struct json_block {
	struct json_block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) char bytes[];
};

static _Thread_local struct {
	struct json_walk *walk;
	jmp_buf no_memory;
} parser;

static size_t max_tree_bytes(const struct json_walk *walk)
{
	return TREE_BYTES + TREE_FACTOR * walk->size;
}

static struct json_block *add_block(struct json_walk *walk, size_t need)
{
	size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
	struct json_block *block = NULL;

	walk->is_too_large = size > max_tree_bytes(walk) - walk->tree_bytes;
	if (!walk->is_too_large)
		block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	walk->tree_bytes += size;
	block->used = 0;
	block->size = size;
	block->next = walk->blocks;
	walk->blocks = block;
	return block;
}

static void *allocate(size_t size)
{
	struct json_block *block = parser.walk->blocks;
	size_t need = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *memory;

	if (!block || block->size - block->used < need)
		block = need >= size ? add_block(parser.walk, need) : NULL;
	if (!block)
		longjmp(parser.no_memory, 1);
	memory = block->bytes + block->used;
	block->used += need;
	return memory;
}

/* Goes with its block. */
static void release(void *memory)
{
}

void json_walk_close(struct json_walk *walk)
{
	while (walk->blocks) {
		struct json_block *next = walk->blocks->next;

		free(walk->blocks);
		walk->blocks = next;
	}
	walk->tree_bytes = 0;
}

/* NULL: a syntax error, or (-ENOMEM in *err) no memory. */
static const json_t *parse(struct json_walk *walk, size_t size, json_error_t *error, int *err)
{
	const json_t *volatile value = NULL; /* it has to outlast longjmp() */

	json_walk_close(walk);
	parser.walk = walk;
	*err = -ENOMEM;
	json_set_alloc_funcs(allocate, release);
	if (!setjmp(parser.no_memory)) {
		value = json_loadb(walk->text + walk->at, size,
				   JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, error);
		*err = 0;
	}
	json_set_alloc_funcs(malloc, free);
	return value;
}

/* ---- the text --------------------------------------------------------------------------- */

/* The next character that is no blank; '\0' at the end. */
static char peek(struct json_walk *walk)
{
	while (walk->at < walk->size && memchr(" \t\n\r", walk->text[walk->at], 4))
		walk->at++;
	return walk->at < walk->size ? walk->text[walk->at] : '\0';
}

static int expect(struct json_walk *walk, char character)
{
	if (peek(walk) != character)
		return error_set(
			walk->error, -EBADMSG, NULL, "byte %zu: %s, where '%c' should be", walk->at,
			walk->at < walk->size ? "something else" : "the text ends", character);
	walk->at++;
	return 0;
}

int json_walk_value(struct json_walk *walk, const json_t **out)
{
	const json_t *value;
	json_error_t error;
	size_t left;
	int err;

	peek(walk);
	left = walk->size - walk->at;
	if (left > JSON_WALK_MAX_BYTES)
		left = JSON_WALK_MAX_BYTES;
	value = parse(walk, left, &error, &err);
	if (err && walk->is_too_large)
		return error_set(
			walk->error, -EFBIG, NULL,
			"byte %zu: what begins there would take more than %zu MB of memory",
			walk->at, max_tree_bytes(walk) >> 20);
	if (err)
		return err;
	if (!value)
		return error_set(walk->error, -EBADMSG, NULL, "byte %zu: %s",
				 walk->at + (size_t)(error.position > 0 ? error.position : 0),
				 error.text);
	walk->at += (size_t)error.position;
	*out = value;
	return 0;
}

/* 1: at another item; 0: past the end; -EBADMSG. */
static int next_item(struct json_walk *walk, char close, bool is_first)
{
	int err;

	if (peek(walk) == close) {
		walk->at++;
		return 0;
	}
	err = is_first ? 0 : expect(walk, ',');
	return err ? err : 1;
}

static int read_member(struct json_walk *walk, int (*on_member)(void *context, const char *key),
		       void *context)
{
	char key[JSON_WALK_KEY_BYTES] = "";
	const json_t *text;
	int err;

	if (peek(walk) != '"')
		return expect(walk, '"');
	err = json_walk_value(walk, &text);
	if (err)
		return err;
	/* The tree goes when the callback asks for another one. */
	strncpy(key, json_string_value(text), sizeof(key) - 1);
	err = expect(walk, ':');
	return err ? err : on_member(context, key);
}

int json_walk_object(struct json_walk *walk, int (*on_member)(void *context, const char *key),
		     void *context)
{
	bool is_first = true;
	int err = expect(walk, '{'), more = 1;

	while (!err && more) {
		more = next_item(walk, '}', is_first);
		if (more < 0)
			err = more;
		else if (more)
			err = read_member(walk, on_member, context);
		is_first = false;
	}
	return err;
}

int json_walk_array(struct json_walk *walk, int (*on_item)(void *context, size_t index),
		    void *context)
{
	size_t index = 0;
	int err = expect(walk, '['), more = 1;

	while (!err && more) {
		more = next_item(walk, ']', !index);
		if (more < 0)
			err = more;
		else if (more)
			err = on_item(context, index++);
	}
	return err;
}

int json_walk_end(struct json_walk *walk)
{
	peek(walk);
	if (walk->at < walk->size)
		return error_set(walk->error, -EBADMSG, NULL,
				 "byte %zu: more after the end of the profile", walk->at);
	return 0;
}
