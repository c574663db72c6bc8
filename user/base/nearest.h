/* SPDX-License-Identifier: BSD-2-Clause */
/* nearest.h - the known word that a mistyped one is nearest to, by how many letters have to be changed. */
#ifndef GECKOBPF_BASE_NEAREST_H
#define GECKOBPF_BASE_NEAREST_H

#define NEAREST_BYTES 64

/* Zero-initialised but for the word. */
struct nearest {
	char word[NEAREST_BYTES]; /* as it was typed */
	char best[NEAREST_BYTES]; /* of those that were offered; "": none is near */
	unsigned int distance; /* of the best */
};

/*
 * Letters to insert, remove, change or swap with the next to make the one of the other. Of the first NEAREST_BYTES - 1
 * letters.
 */
unsigned int nearest_distance(const char *a, const char *b);

/* Remembers `known` if it is nearer than all before: a third of the letters may be wrong. */
void nearest_offer(struct nearest *nearest, const char *known);

#endif
