/* SPDX-License-Identifier: BSD-2-Clause */
/* nearest.c - see nearest.h. */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Rows of the usual table of distances between beginnings: this one, and the two before. */
unsigned int nearest_distance(const char *a, const char *b)
{
	unsigned int rows[3][NEAREST_BYTES];
	const size_t a_length = strnlen(a, NEAREST_BYTES - 1),
		     b_length = strnlen(b, NEAREST_BYTES - 1);
	size_t i, j;

	for (j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned int)j;
	for (i = 1; i <= a_length; i++) {
		unsigned int *row = rows[i % 3], *before = rows[(i + 2) % 3];
		const unsigned int *second = rows[(i + 1) % 3];

		row[0] = (unsigned int)i;
		for (j = 1; j <= b_length; j++) {
			row[j] = smaller(before[j - 1] + (a[i - 1] != b[j - 1]),
					 smaller(before[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *known)
{
	const unsigned int distance = nearest_distance(nearest->word, known);

	if (distance * 3 > strlen(nearest->word) || strlen(known) >= NEAREST_BYTES ||
	    (nearest->best[0] && distance >= nearest->distance))
		return;
	nearest->distance = distance;
	snprintf(nearest->best, sizeof(nearest->best), "%s", known);
}
