/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_text.c - see shared_text.h. */
#include "base/shared_text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct shared_text {
	atomic_uint owners;
	char text[];
};

static struct shared_text *shared_of(const char *text)
{
	return (struct shared_text *)(text - offsetof(struct shared_text, text));
}

char *shared_text_new(const char *text, size_t length)
{
	struct shared_text *shared = malloc(sizeof(*shared) + length + 1);

	if (!shared)
		return NULL;
	atomic_init(&shared->owners, 1);
	memcpy(shared->text, text, length);
	shared->text[length] = '\0';
	return shared->text;
}

char *shared_text_again(char *text)
{
	if (text)
		atomic_fetch_add(&shared_of(text)->owners, 1);
	return text;
}

void shared_text_drop(char *text)
{
	if (text && atomic_fetch_sub(&shared_of(text)->owners, 1) == 1)
		free(shared_of(text));
}

size_t shared_text_bytes(const char *text)
{
	return (sizeof(struct shared_text) + strlen(text) + 1) /
	       atomic_load(&shared_of(text)->owners);
}
