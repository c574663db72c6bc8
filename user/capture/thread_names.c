/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_names.c - see thread_names.h; what the bits mean is in geckobpf_names.h. */
#include "capture/thread_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PLACES 64

static void add_character(struct gb_names *names, unsigned int place, unsigned char wanted)
{
	const __u64 bit = 1ULL << place;
	unsigned int c;

	for (c = 1; c < 256; c++)
		if (wanted == '?' || wanted == c)
			names->match[c] |= bit;
}

/* One pattern from `place` on; returns where the next one may begin, or -errno. */
static int add_pattern(struct gb_names *names, unsigned int place, const char *text, size_t length)
{
	size_t wanted = 0, i;

	names->start |= 1ULL << place;
	for (i = 0; i < length; i++) {
		bool is_star = text[i] == '*';

		if (is_star && i && text[i - 1] == '*')
			continue;
		if (place + 1 >= PLACES)
			return -E2BIG;
		if (is_star)
			names->stay |= 1ULL << place;
		else
			add_character(names, place, (unsigned char)text[i]);
		wanted += !is_star;
		place++;
	}
	names->end |= 1ULL << place;
	return wanted < GB_NAME_BYTES ? (int)place + 1 : -ENAMETOOLONG;
}

int thread_names_compile(struct gb_names *out, const char *list)
{
	int place = 0;

	memset(out, 0, sizeof(*out));
	while (*list) {
		size_t length = strcspn(list, ",");

		if (length && place >= PLACES)
			return -E2BIG;
		if (length)
			place = add_pattern(out, (unsigned int)place, list, length);
		if (place < 0)
			return place;
		list += length;
		list += *list == ',';
	}
	out->start |= (out->start & out->stay) << 1;
	return place ? 0 : -EINVAL;
}
