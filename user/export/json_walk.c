/* SPDX-License-Identifier: BSD-2-Clause */
/* json_walk.c - see json_walk.h. Brackets and commas of the outer levels are read here, all else by jansson. */
#include "export/json_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "export/fault.h"

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
		return fault_set(
			walk->fault, -EBADMSG, "byte %zu: %s, where '%c' should be", walk->at,
			walk->at < walk->size ? "something else" : "the text ends", character);
	walk->at++;
	return 0;
}

static int syntax_error(const struct json_walk *walk, const json_error_t *error)
{
	/* Without memory jansson gives up without a word. */
	if (!error->text[0] || json_error_code(error) == json_error_out_of_memory)
		return -ENOMEM;
	return fault_set(walk->fault, -EBADMSG, "byte %zu: %s",
			 walk->at + (size_t)(error->position > 0 ? error->position : 0),
			 error->text);
}

int json_walk_value(struct json_walk *walk, json_t **out)
{
	size_t left;
	json_error_t error;
	json_t *value;

	peek(walk);
	left = walk->size - walk->at;
	if (left > JSON_WALK_MAX_BYTES)
		left = JSON_WALK_MAX_BYTES;
	value = json_loadb(walk->text + walk->at, left, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY,
			   &error);
	if (!value)
		return syntax_error(walk, &error);
	walk->at += (size_t)error.position;
	if (out)
		*out = value;
	else
		json_decref(value);
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
	json_t *key = NULL;
	int err;

	if (peek(walk) != '"')
		return expect(walk, '"');
	err = json_walk_value(walk, &key);
	if (!err)
		err = expect(walk, ':');
	if (!err)
		err = on_member(context, json_string_value(key));
	json_decref(key);
	return err;
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
		return fault_set(walk->fault, -EBADMSG,
				 "byte %zu: more after the end of the profile", walk->at);
	return 0;
}
