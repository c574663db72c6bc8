/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.c - see tally.h. Sorted once, at the end. */
#include "format/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "format/profile.h"

struct tally {
	struct intern *names;
	uint64_t *samples; /* by number of the name */
	size_t count, capacity;
};

int tally_open(struct tally **out)
{
	struct tally *tally = calloc(1, sizeof(*tally));
	int err;

	if (!tally)
		return -ENOMEM;
	err = intern_open(&tally->names);
	if (err) {
		free(tally);
		return err;
	}
	*out = tally;
	return 0;
}

void tally_close(struct tally *tally)
{
	if (!tally)
		return;
	intern_close(tally->names);
	free(tally->samples);
	free(tally);
}

int tally_add(struct tally *tally, const char *name, size_t length, uint64_t samples)
{
	uint32_t number;
	int err = array_reserve((void **)&tally->samples, &tally->capacity, tally->count + 1,
				sizeof(*tally->samples));

	if (!err)
		err = intern_add(tally->names, name, length, &number);
	if (err)
		return err;
	if (number == tally->count)
		tally->samples[tally->count++] = 0;
	tally->samples[number] += samples;
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct profile_function *left = a, *right = b;

	if (left->self_samples != right->self_samples)
		return left->self_samples > right->self_samples ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Gives the first `count` functions names of their own. */
static int copy_names(struct profile_function *top, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		size_t size = strlen(top[i].name) + 1;
		char *name = malloc(size);

		if (!name) {
			while (i--)
				free((char *)top[i].name);
			return -ENOMEM;
		}
		top[i].name = memcpy(name, top[i].name, size);
	}
	return 0;
}

int tally_top(const struct tally *tally, struct profile_function **out, size_t *count)
{
	size_t taken = *count < tally->count ? *count : tally->count, i;
	struct profile_function *top = NULL;

	if (taken) {
		top = malloc(tally->count * sizeof(*top));
		if (!top)
			return -ENOMEM;
		for (i = 0; i < tally->count; i++)
			top[i] = (struct profile_function){
				intern_text(tally->names, (uint32_t)i, NULL), tally->samples[i]};
		qsort(top, tally->count, sizeof(*top), compare_functions);
		if (copy_names(top, taken)) {
			free(top);
			return -ENOMEM;
		}
	}
	*out = top;
	*count = taken;
	return 0;
}

void tally_free_top(struct profile_function *top, size_t count)
{
	size_t i;

	for (i = 0; top && i < count; i++)
		free((char *)top[i].name);
	free(top);
}
