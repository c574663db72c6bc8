/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.c - see tally.h. Functions of different processes are one if their texts are equal. Sorted once, at the end. */
#include "profile/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "profile/profile.h"

/* A function by numbers of its texts; TEXT_NONE: it has none. */
struct tally_key {
	uint32_t kind, name, lib, unused;
	uint64_t value;
};

#define TEXT_NONE UINT32_MAX

struct tally {
	struct intern *texts, *keys;
	struct {
		struct profile_hot *items; /* by number of the key; texts are those of the tally */
		size_t count, capacity;
	} sums;
};

int tally_open(struct tally **out)
{
	struct tally *tally = calloc(1, sizeof(*tally));
	int err;

	if (!tally)
		return -ENOMEM;
	err = intern_open(&tally->texts);
	if (!err)
		err = intern_open(&tally->keys);
	if (err) {
		tally_close(tally);
		return err;
	}
	*out = tally;
	return 0;
}

void tally_close(struct tally *tally)
{
	if (!tally)
		return;
	intern_close(tally->texts);
	intern_close(tally->keys);
	free(tally->sums.items);
	free(tally);
}

static int add_text(struct tally *tally, const char **text, uint32_t *id)
{
	int err;

	*id = TEXT_NONE;
	if (!*text)
		return 0;
	err = intern_add(tally->texts, *text, strlen(*text), id);
	if (!err)
		*text = intern_text(tally->texts, *id, NULL);
	return err;
}

int tally_add(struct tally *tally, const struct profile_function *function, uint64_t samples)
{
	struct profile_hot hot = {.function = *function};
	struct tally_key key = {.kind = function->kind, .value = function->value};
	uint32_t number;
	int err = ARRAY_ROOM(&tally->sums);

	hot.function.object = NULL;
	if (!err)
		err = add_text(tally, &hot.function.name, &key.name);
	if (!err)
		err = add_text(tally, &hot.function.lib, &key.lib);
	if (!err)
		err = intern_add(tally->keys, (const char *)&key, sizeof(key), &number);
	if (err)
		return err;
	if (number == tally->sums.count)
		tally->sums.items[tally->sums.count++] = hot;
	tally->sums.items[number].self_samples += samples;
	return 0;
}

/* ---- the hottest ----------------------------------------------------------------------- */

/* What its name begins with, more or less. */
static const char *first_text(const struct profile_function *function)
{
	if (function->name)
		return function->name;
	return function->lib ? function->lib : "";
}

static int compare_hot(const void *a, const void *b)
{
	const struct profile_hot *left = a, *right = b;
	int order;

	if (left->self_samples != right->self_samples)
		return left->self_samples > right->self_samples ? -1 : 1;
	order = strcmp(first_text(&left->function), first_text(&right->function));
	if (!order)
		order = left->function.value < right->function.value ? -1 : 1;
	return order;
}

/* Its texts become the caller's. */
static int copy_texts(struct profile_hot *hot)
{
	struct profile_function *function = &hot->function;
	char *name = function->name ? strdup(function->name) : NULL;
	char *lib = function->lib ? strdup(function->lib) : NULL;

	if ((function->name && !name) || (function->lib && !lib)) {
		free(name);
		free(lib);
		return -ENOMEM;
	}
	function->name = name;
	function->lib = lib;
	return 0;
}

int tally_top(const struct tally *tally, struct profile_hot **out, size_t *count)
{
	size_t all = tally->sums.count, taken = *count < all ? *count : all, i;
	struct profile_hot *top = NULL;

	if (taken) {
		top = malloc(all * sizeof(*top));
		if (!top)
			return -ENOMEM;
		memcpy(top, tally->sums.items, all * sizeof(*top));
		qsort(top, all, sizeof(*top), compare_hot);
	}
	for (i = 0; i < taken; i++) {
		if (!copy_texts(&top[i]))
			continue;
		tally_free_top(top, i);
		return -ENOMEM;
	}
	*out = top;
	*count = taken;
	return 0;
}

void tally_free_top(struct profile_hot *top, size_t count)
{
	size_t i;

	for (i = 0; top && i < count; i++) {
		free((char *)top[i].function.name);
		free((char *)top[i].function.lib);
	}
	free(top);
}
