/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intern.c - see intern.h.
 *
 * `slots` is an open-addressing table of id + 1 (0: free), at most half full; `strings[id]` points
 * into the blocks. The hash of each string is kept, so growing does not read the strings again and
 * most probes compare no bytes.
 */
#include "base/intern.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64 * 1024)

struct block {
	struct block *next;
	size_t used, size;
	char bytes[];
};

struct string {
	const char *text;
	uint32_t length;
	uint32_t hash;
};

struct strings {
	struct string *items;
	size_t count, capacity;
};

struct intern {
	struct block *blocks; /* newest first */
	struct strings strings;
	uint32_t *slots;
	size_t slot_count; /* a power of two */
};

static uint32_t hash_bytes(const char *text, size_t length)
{
	uint64_t hash = 0x9e3779b97f4a7c15ULL ^ length;

	while (length >= 8) {
		uint64_t word;

		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
		hash ^= hash >> 32;
		text += 8;
		length -= 8;
	}
	if (length) {
		uint64_t word = 0;

		memcpy(&word, text, length);
		hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
		hash ^= hash >> 32;
	}
	return (uint32_t)(hash ^ (hash >> 29));
}

int intern_open(struct intern **out)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	intern->slot_count = 64;
	intern->slots = calloc(intern->slot_count, sizeof(*intern->slots));
	if (!intern->slots) {
		free(intern);
		return -ENOMEM;
	}
	*out = intern;
	return 0;
}

void intern_close(struct intern *intern)
{
	if (!intern)
		return;
	while (intern->blocks) {
		struct block *next = intern->blocks->next;

		free(intern->blocks);
		intern->blocks = next;
	}
	free(intern->strings.items);
	free(intern->slots);
	free(intern);
}

/* The slot that holds the string, or the free one where it belongs. */
static uint32_t *find_slot(const struct intern *intern, const char *text, size_t length,
			   uint32_t hash)
{
	size_t mask = intern->slot_count - 1, i;

	for (i = hash & mask; intern->slots[i]; i = (i + 1) & mask) {
		const struct string *string = &intern->strings.items[intern->slots[i] - 1];

		if (string->hash == hash && string->length == length &&
		    !memcmp(string->text, text, length))
			break;
	}
	return &intern->slots[i];
}

static int grow_slots(struct intern *intern)
{
	size_t count = intern->slot_count * 2, id;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (id = 0; id < intern->strings.count; id++) {
		size_t i = intern->strings.items[id].hash & (count - 1);

		while (slots[i])
			i = (i + 1) & (count - 1);
		slots[i] = (uint32_t)id + 1;
	}
	free(intern->slots);
	intern->slots = slots;
	intern->slot_count = count;
	return 0;
}

/* A NUL-terminated copy that stays where it is. NULL when memory is out. */
static const char *keep_text(struct intern *intern, const char *text, size_t length)
{
	struct block *block = intern->blocks;
	char *copy;

	if (!block || block->size - block->used < length + 1) {
		size_t size = length + 1 > BLOCK_BYTES ? length + 1 : BLOCK_BYTES;

		block = malloc(sizeof(*block) + size);
		if (!block)
			return NULL;
		block->used = 0;
		block->size = size;
		block->next = intern->blocks;
		intern->blocks = block;
	}
	copy = block->bytes + block->used;
	memcpy(copy, text, length);
	copy[length] = '\0';
	block->used += length + 1;
	return copy;
}

int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *id)
{
	uint32_t hash = hash_bytes(text, length);
	uint32_t *slot = find_slot(intern, text, length, hash);
	struct strings *strings = &intern->strings;
	const char *kept;

	if (*slot) {
		*id = *slot - 1;
		return 0;
	}
	if (length >= UINT32_MAX || strings->count >= UINT32_MAX - 1 || ARRAY_ROOM(strings))
		return -ENOMEM;
	if (strings->count * 2 >= intern->slot_count) {
		if (grow_slots(intern))
			return -ENOMEM;
		slot = find_slot(intern, text, length, hash);
	}
	kept = keep_text(intern, text, length);
	if (!kept)
		return -ENOMEM;
	strings->items[strings->count++] =
		(struct string){.text = kept, .length = (uint32_t)length, .hash = hash};
	*slot = (uint32_t)strings->count;
	*id = *slot - 1;
	return 0;
}

uint32_t intern_count(const struct intern *intern)
{
	return (uint32_t)intern->strings.count;
}

const char *intern_text(const struct intern *intern, uint32_t id, size_t *length)
{
	const struct string *string = &intern->strings.items[id];

	if (length)
		*length = string->length;
	return string->text;
}
