/* SPDX-License-Identifier: BSD-2-Clause */
/* pack.c - see pack.h. */
#include "base/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/leb128.h"

void packer_clear(struct packer *packer)
{
	free(packer->items);
	*packer = (struct packer){0};
}

static uint8_t *make_room(struct packer *packer, size_t size)
{
	if (!packer->error && size > SIZE_MAX - packer->count)
		packer->error = -ENOMEM;
	if (!packer->error)
		packer->error = array_reserve((void **)&packer->items, &packer->capacity,
					      packer->count + size, 1);
	return packer->error ? NULL : packer->items + packer->count;
}

void pack_number(struct packer *packer, uint64_t value)
{
	uint8_t *at = make_room(packer, LEB128_MAX_BYTES_U64);

	if (at)
		packer->count = (size_t)(leb128_put(at, value) - packer->items);
}

void pack_bytes(struct packer *packer, const void *bytes, size_t size)
{
	uint8_t *at = make_room(packer, size);

	if (!at || !size)
		return;
	memcpy(at, bytes, size);
	packer->count += size;
}

void pack_string(struct packer *packer, const char *text)
{
	if (!text) {
		pack_number(packer, 0);
		return;
	}
	pack_number(packer, (uint64_t)strlen(text) + 1);
	pack_bytes(packer, text, strlen(text));
}

uint64_t unpack_number(struct unpacker *unpacker, uint64_t max)
{
	const uint8_t *after = NULL;
	uint64_t value = 0;

	if (!unpacker->error)
		after = leb128_get(unpacker->at, unpacker->end, &value);
	if (!after || value > max) {
		if (!unpacker->error)
			unpacker->error = -EBADMSG;
		return 0;
	}
	unpacker->at = after;
	return value;
}

const uint8_t *unpack_bytes(struct unpacker *unpacker, size_t size)
{
	const uint8_t *bytes = unpacker->at;

	if (!unpacker->error && size > (size_t)(unpacker->end - unpacker->at))
		unpacker->error = -EBADMSG;
	if (unpacker->error)
		return NULL;
	unpacker->at += size;
	return bytes;
}

/* The bytes of a string, *size of them; NULL: none, or an error. */
static const uint8_t *unpack_chars(struct unpacker *unpacker, size_t *size)
{
	uint64_t length = unpack_number(unpacker, SIZE_MAX);

	if (!length)
		return NULL;
	*size = (size_t)length - 1;
	return unpack_bytes(unpacker, *size);
}

char *unpack_string(struct unpacker *unpacker)
{
	size_t size;
	const uint8_t *chars = unpack_chars(unpacker, &size);
	char *text;

	if (!chars)
		return NULL;
	text = malloc(size + 1);
	if (!text) {
		unpacker->error = -ENOMEM;
		return NULL;
	}
	memcpy(text, chars, size);
	text[size] = '\0';
	return text;
}

void unpack_text(struct unpacker *unpacker, char *out, size_t out_bytes)
{
	size_t size = 0;
	const uint8_t *chars = unpack_chars(unpacker, &size);

	if (!chars)
		size = 0;
	if (size >= out_bytes)
		size = out_bytes - 1;
	if (size)
		memcpy(out, chars, size);
	out[size] = '\0';
}
