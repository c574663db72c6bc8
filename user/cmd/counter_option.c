/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_option.c - see counter_option.h. */
#include "cmd/counter_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cmd/usage.h"
#include "session/counter_words.h"

#define BETWEEN ", \n"

static bool is_word(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !strncmp(name, text, length);
}

static bool find(const char *text, size_t length, uint32_t *counters)
{
	const struct counter_word *word;

	if (is_word("all", text, length)) {
		*counters = (1U << GB_COUNTER_COUNT) - 1;
		return true;
	}
	for (word = counter_words; word->name; word++)
		if (is_word(word->name, text, length)) {
			*counters |= word->counters;
			return true;
		}
	return is_word("none", text, length);
}

error_t counter_option_parse(struct usage *usage, const char *text, uint32_t *out)
{
	const char *at = text + strspn(text, BETWEEN);
	uint32_t counters = 0;

	while (*at) {
		size_t length = strcspn(at, BETWEEN);

		if (!find(at, length, &counters))
			break;
		at += length;
		at += strspn(at, BETWEEN);
	}
	if (*at || !*text)
		return usage_reject(usage,
				    "--counters=%s: not known; give memory, faults, switches, "
				    "disk, network, all or none",
				    text);
	*out = counters;
	return 0;
}
