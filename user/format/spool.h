/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.h - a byte sequence that grows until it is read once, in memory as long as there is room.
 *
 * Spools of one pool share a bound. When they grow past it, what all of them hold goes to one unlinked
 * temporary file:
 *
 *   spool A  [file 0..4k)[file 9k..12k) | chunk chunk    each: its pieces in the file, oldest first,
 *   spool B  [file 4k..9k)              | chunk          then its chunks in memory
 *
 * With a deflater, the largest chunks (64 KiB) are packed when they are full, while the next ones are being filled, and
 * all when they are spilled.
 *
 * Errors stick to the pool: after one, every call on its spools returns it.
 */
#ifndef GECKOBPF_FORMAT_SPOOL_H
#define GECKOBPF_FORMAT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_MEMORY_BYTES (20UL << 20)

struct json;
struct deflater;
struct spool;
struct spool_pool;

/* Where the file is: $TMPDIR or /tmp. */
const char *spool_directory(void);

/*
 * `bound_bytes`: how much memory the bytes of all spools may take; 0: SPOOL_MEMORY_BYTES. `deflater`: borrowed, and for
 * this pool alone; NULL: nothing is packed. 0 or -ENOMEM.
 */
int spool_pool_open(struct spool_pool **out, size_t bound_bytes, struct deflater *deflater);
/* All its spools are closed before. NULL is fine. */
void spool_pool_close(struct spool_pool *pool);
/* Bytes that went to the file so far. */
uint64_t spool_pool_spilled(const struct spool_pool *pool);

/* 0 or -ENOMEM. */
int spool_open(struct spool **out, struct spool_pool *pool);
void spool_close(struct spool *spool);

/*
 * Room for `size` bytes (at most 1024) at the end, NULL on error. What was written there becomes
 * part of the sequence with spool_advance(), of which `size` is the upper limit.
 */
char *spool_room(struct spool *spool, size_t size);
void spool_advance(struct spool *spool, size_t size);

/* Why spool_room() returned NULL; 0: it did not. */
int spool_error(const struct spool *spool);

/* Before they are packed. */
uint64_t spool_bytes(const struct spool *spool);

/* Sends the whole sequence through json_piece(). 0, -errno of reading the file, or json's error. */
int spool_splice(struct spool *spool, struct json *json);

#endif
