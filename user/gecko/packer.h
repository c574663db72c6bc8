/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packer.h - deflates pieces of text beside who makes them, so that a large profile keeps two CPUs busy.
 *
 *   plain piece  -- packer_give() -->  the packer's thread, or the caller if that has enough to do  -- packer_take() -->  packed
 *
 * A packed piece is blocks of raw deflate that refer to nothing before them and end at a byte: wherever it is put between others,
 * it may be the middle of a gzip member (output_splice()). What does not get smaller stays plain; so does all if memory is short.
 */
#ifndef GECKOBPF_GECKO_PACKER_H
#define GECKOBPF_GECKO_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Level 1 takes half the time of 3 and a fifth of that of the default, 6, for a file of such rows that is a tenth larger. */
#define PACKER_LEVEL 1
/* Of the largest piece. Smaller ones compress worse: by 1 % at half of it. */
#define PACKER_PIECE_BYTES (64 * 1024)

struct packer;

struct piece {
	char *bytes;
	uint32_t size; /* of `bytes` */
	uint32_t plain_size;
	uint32_t crc; /* of the plain bytes, zlib's; if packed */
	bool is_packed;
};

/* Part of what it belongs to. */
struct packer_job {
	struct packer_job *next; /* the packer's */
	struct piece piece;
};

/* Its thread starts with the first piece, and only if two CPUs are online. 0 or -ENOMEM. */
int packer_open(struct packer **out);
/* No job is left. NULL is fine. */
void packer_close(struct packer *packer);

/* Lends a plain piece, with at most PACKER_PIECE_BYTES, until packer_take() or packer_wait() gives it back. */
void packer_give(struct packer *packer, struct packer_job *job);
/* One that is done; NULL: none is. */
struct packer_job *packer_take(struct packer *packer);
/* The same, but waits for one, and packs meanwhile; NULL: none is left. */
struct packer_job *packer_wait(struct packer *packer);

#endif
