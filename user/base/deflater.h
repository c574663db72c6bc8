/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflater.h - deflates pieces of text in a thread beside the one that makes them, so that a large
 * profile keeps two CPUs busy.
 *
 *   plain piece ── deflater_give() ──> the deflater's thread ── deflater_take() ──> packed piece
 *                        '──────────> the caller, if the thread has enough to do ──────^
 *
 * A packed piece is blocks of raw deflate that refer to nothing before them and end at a byte:
 * wherever it is put between others, it may be the middle of a gzip member (output_splice()). What
 * does not get smaller stays plain; so does all if memory is short.
 */
#ifndef GECKOBPF_BASE_DEFLATER_H
#define GECKOBPF_BASE_DEFLATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Level 1 takes half the time of level 3 and a fifth of that of 6, the default; a file of rows of
 * numbers gets a tenth larger.
 */
#define DEFLATER_LEVEL 1
/* Size of the largest piece. Smaller ones compress worse: by 1 % at half of it. */
#define DEFLATER_PIECE_BYTES (64 * 1024)

struct deflater;

struct piece {
	char *bytes;
	uint32_t size; /* of `bytes` */
	uint32_t plain_size;
	uint32_t crc; /* of the plain bytes, zlib's; if packed */
	bool is_packed;
};

/* A member of the caller's struct for a piece. */
struct deflater_job {
	struct deflater_job *next; /* the deflater's */
	struct piece piece;
};

/* Its thread starts with the first piece, and only if two CPUs are online. 0 or -ENOMEM. */
int deflater_open(struct deflater **out);
/* To be called when no job is left. NULL is fine. */
void deflater_close(struct deflater *deflater);

/* Lends a plain piece, with at most DEFLATER_PIECE_BYTES, until deflater_take() or deflater_wait() gives it back. */
void deflater_give(struct deflater *deflater, struct deflater_job *job);
/* Takes back a job that is done; NULL: none is. */
struct deflater_job *deflater_take(struct deflater *deflater);
/* The same, but waits for one, and packs meanwhile; NULL: none is left. */
struct deflater_job *deflater_wait(struct deflater *deflater);

#endif
