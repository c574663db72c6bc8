/* SPDX-License-Identifier: BSD-2-Clause */
/* address_sort.c - see address_sort.h. */
#include "symbol/address_sort.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t address_of(const char *item)
{
	uint64_t address;

	memcpy(&address, item, sizeof(address));
	return address;
}

/*
 * The bits in which any two addresses differ; 0 if the items are in order, so that there is nothing
 * to do.
 */
static uint64_t bits_to_sort(const char *items, size_t count, size_t item_bytes)
{
	uint64_t first = address_of(items), previous = first, differ = 0;
	int unsorted = 0;
	size_t i;

	for (i = 1; i < count; i++) {
		uint64_t address = address_of(items + i * item_bytes);

		unsorted |= address < previous;
		differ |= address ^ first;
		previous = address;
	}
	return unsorted ? differ : 0;
}

/* One stable pass: `from` into `to`, ordered by the byte of the address that is `shift` bits up. */
static void sort_pass(const char *from, char *to, size_t count, size_t item_bytes, int shift)
{
	size_t place[256] = {0}, start = 0, i;

	for (i = 0; i < count; i++)
		place[address_of(from + i * item_bytes) >> shift & 0xff]++;
	for (i = 0; i < 256; i++) {
		size_t items = place[i];

		place[i] = start;
		start += items;
	}
	for (i = 0; i < count; i++) {
		const char *item = from + i * item_bytes;
		size_t slot = place[address_of(item) >> shift & 0xff]++;

		memcpy(to + slot * item_bytes, item, item_bytes);
	}
}

int address_sort(void *items, size_t count, size_t item_bytes)
{
	uint64_t differ = count < 2 ? 0 : bits_to_sort(items, count, item_bytes);
	char *from = items, *to, *scratch;
	int shift;

	if (!differ)
		return 0;
	scratch = malloc(count * item_bytes);
	if (!scratch)
		return -ENOMEM;
	to = scratch;
	for (shift = 0; shift < 64; shift += 8) {
		char *done = to;

		if (!(differ >> shift & 0xff))
			continue;
		sort_pass(from, to, count, item_bytes, shift);
		to = from;
		from = done;
	}
	if (from != items)
		memcpy(items, from, count * item_bytes);
	free(scratch);
	return 0;
}
