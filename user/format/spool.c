/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.c - chunks double from 1 KiB to 64 KiB, so that many small spools take little and a large
 * one few chunks.
 *
 * A spill empties all spools of the pool, also their half-full chunks: then the bound holds
 * however many there are.
 */
#include "format/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "format/json.h"
#include "base/deflater.h"

#define CHUNK_MIN_BYTES 1024
#define CHUNK_MAX_BYTES DEFLATER_PIECE_BYTES
#define PACK_MIN_BYTES 1024

struct spool_chunk {
	struct deflater_job job; /* the first member: what the deflater gives back is this */
	struct spool_chunk *next;
	uint32_t capacity; /* of job.piece.bytes */
};

/* A piece that lies in the file. */
struct spool_segment {
	uint64_t offset;
	struct piece piece; /* bytes: NULL */
};

struct spool_segments {
	struct spool_segment *items;
	size_t count, capacity;
};

struct spool {
	struct spool_pool *pool;
	struct spool *previous, *next; /* in the pool */
	struct spool_chunk *first, *last;
	struct spool_segments segments;
	uint64_t bytes;
};

struct spool_pool {
	struct spool *spools;
	struct deflater *deflater;
	size_t bound_bytes, memory_bytes; /* capacities of all chunks */
	int fd; /* the temporary file, -1 until it is needed */
	int error;
	uint64_t file_end, spilled;
};

int spool_pool_open(struct spool_pool **out, size_t bound_bytes, struct deflater *deflater)
{
	struct spool_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->bound_bytes = bound_bytes ? bound_bytes : SPOOL_MEMORY_BYTES;
	pool->deflater = deflater;
	pool->fd = -1;
	*out = pool;
	return 0;
}

void spool_pool_close(struct spool_pool *pool)
{
	if (!pool)
		return;
	fd_close(&pool->fd);
	free(pool);
}

uint64_t spool_pool_spilled(const struct spool_pool *pool)
{
	return pool->spilled;
}

int spool_open(struct spool **out, struct spool_pool *pool)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return -ENOMEM;
	spool->pool = pool;
	spool->next = pool->spools;
	if (spool->next)
		spool->next->previous = spool;
	pool->spools = spool;
	*out = spool;
	return 0;
}

/* ---- packing ------------------------------------------------------------------- */

/*
 * A packed piece moves to memory of its size; cutting it off would leave holes between such pieces that hold no chunk.
 */
static void take_back(struct spool_pool *pool, struct deflater_job *job)
{
	struct spool_chunk *chunk = (struct spool_chunk *)job;
	struct piece *piece = &job->piece;
	char *bytes = piece->is_packed ? malloc(piece->size) : NULL;

	if (!bytes)
		return;
	memcpy(bytes, piece->bytes, piece->size);
	free(piece->bytes);
	piece->bytes = bytes;
	pool->memory_bytes -= chunk->capacity - piece->size;
	chunk->capacity = piece->size;
}

/* Nothing is put into it any more. */
static void pack(struct spool_pool *pool, struct spool_chunk *chunk)
{
	struct deflater_job *job;

	if (!pool->deflater || chunk->job.piece.is_packed)
		return;
	deflater_give(pool->deflater, &chunk->job);
	while ((job = deflater_take(pool->deflater)))
		take_back(pool, job);
}

/* All chunks are the pool's own. */
static void settle(struct spool_pool *pool)
{
	struct deflater_job *job;

	while (pool->deflater && (job = deflater_wait(pool->deflater)))
		take_back(pool, job);
}

static void drop_chunks(struct spool *spool)
{
	struct spool_chunk *chunk, *next;

	for (chunk = spool->first; chunk; chunk = next) {
		next = chunk->next;
		spool->pool->memory_bytes -= chunk->capacity;
		free(chunk->job.piece.bytes);
		free(chunk);
	}
	spool->first = NULL;
	spool->last = NULL;
}

/*
 * What is in the file is not needed any more: it starts over, so that it does not grow with the number of
 * processes.
 */
static void rewind_file(struct spool_pool *pool)
{
	if (pool->fd < 0 || !pool->file_end)
		return;
	if (!ftruncate(pool->fd, 0) && !lseek(pool->fd, 0, SEEK_SET))
		pool->file_end = 0;
}

void spool_close(struct spool *spool)
{
	struct spool_pool *pool;

	if (!spool)
		return;
	pool = spool->pool;
	settle(pool);
	drop_chunks(spool);
	free(spool->segments.items);
	if (spool->next)
		spool->next->previous = spool->previous;
	if (spool->previous)
		spool->previous->next = spool->next;
	else
		pool->spools = spool->next;
	free(spool);
	if (!pool->spools)
		rewind_file(pool);
}

/* ---- to the file --------------------------------------------------------------- */

const char *spool_directory(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

/* A file without a name. */
static int open_file(struct spool_pool *pool)
{
	const char *directory = spool_directory();
	char path[PATH_MAX];
	int length;

	if (pool->fd >= 0)
		return 0;
	pool->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (pool->fd >= 0)
		return 0;
	length = snprintf(path, sizeof(path), "%s/geckobpf-XXXXXX", directory);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	pool->fd = mkostemp(path, O_CLOEXEC);
	if (pool->fd < 0)
		return -errno;
	unlink(path);
	return 0;
}

static int spill_piece(struct spool *spool, const struct piece *piece)
{
	struct spool_pool *pool = spool->pool;
	struct spool_segment segment = {.offset = pool->file_end, .piece = *piece};
	int err = ARRAY_ROOM(&spool->segments);

	if (!err)
		err = fd_write_all(pool->fd, piece->bytes, piece->size);
	if (err)
		return err;
	segment.piece.bytes = NULL;
	spool->segments.items[spool->segments.count++] = segment;
	pool->file_end += piece->size;
	pool->spilled += piece->size;
	return 0;
}

static int spill_one(struct spool *spool)
{
	const struct spool_chunk *chunk;
	int err = 0;

	for (chunk = spool->first; chunk && !err; chunk = chunk->next)
		if (chunk->job.piece.size)
			err = spill_piece(spool, &chunk->job.piece);
	if (!err)
		drop_chunks(spool);
	return err;
}

/* What goes to the file is packed, if it is worth a few microseconds. */
static void pack_all(struct spool_pool *pool)
{
	struct spool_chunk *chunk;
	struct spool *spool;

	settle(pool);
	for (spool = pool->spools; spool; spool = spool->next)
		for (chunk = spool->first; chunk; chunk = chunk->next)
			if (chunk->job.piece.size >= PACK_MIN_BYTES)
				pack(pool, chunk);
	settle(pool);
}

static int spill_all(struct spool_pool *pool)
{
	struct spool *spool;
	int err = open_file(pool);

	pack_all(pool);
	for (spool = pool->spools; spool && !err; spool = spool->next) {
		if (spool->first)
			err = spill_one(spool);
	}
	return err;
}

/* ---- growing ------------------------------------------------------------------- */

static size_t next_capacity(const struct spool *spool)
{
	size_t capacity = spool->last ? (size_t)spool->last->capacity * 2 : CHUNK_MIN_BYTES;

	return capacity > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES : capacity;
}

static struct spool_chunk *make_chunk(size_t capacity)
{
	struct spool_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->capacity = (uint32_t)capacity;
	chunk->job.piece.bytes = malloc(capacity);
	if (chunk->job.piece.bytes)
		return chunk;
	free(chunk);
	return NULL;
}

static int add_chunk(struct spool *spool)
{
	struct spool_pool *pool = spool->pool;
	size_t capacity = next_capacity(spool);
	struct spool_chunk *chunk;
	int err;

	/* Smaller ones are few, unless they are to be spilled, and compress better with what comes after them. */
	if (spool->last && spool->last->capacity == CHUNK_MAX_BYTES)
		pack(pool, spool->last);
	if (pool->memory_bytes && pool->memory_bytes + capacity > pool->bound_bytes) {
		err = spill_all(pool);
		if (err)
			return err;
		capacity = next_capacity(spool);
	}
	chunk = make_chunk(capacity);
	if (!chunk)
		return -ENOMEM;
	if (spool->last)
		spool->last->next = chunk;
	else
		spool->first = chunk;
	spool->last = chunk;
	pool->memory_bytes += capacity;
	return 0;
}

static size_t room_left(const struct spool *spool)
{
	return spool->last ? spool->last->capacity - spool->last->job.piece.size : 0;
}

char *spool_room(struct spool *spool, size_t size)
{
	struct spool_pool *pool = spool->pool;

	if (room_left(spool) < size && !pool->error)
		pool->error = size > CHUNK_MIN_BYTES ? -E2BIG : add_chunk(spool);
	if (pool->error)
		return NULL;
	return spool->last->job.piece.bytes + spool->last->job.piece.size;
}

void spool_advance(struct spool *spool, size_t size)
{
	spool->last->job.piece.size += (uint32_t)size;
	spool->bytes += size;
}

int spool_error(const struct spool *spool)
{
	return spool->pool->error;
}

uint64_t spool_bytes(const struct spool *spool)
{
	return spool->bytes;
}

/* ---- reading ------------------------------------------------------------------- */

static int splice_segment(const struct spool *spool, const struct spool_segment *segment,
			  char *buffer, struct json *json)
{
	struct piece piece = segment->piece;
	int err = fd_pread_all(spool->pool->fd, buffer, piece.size, (off_t)segment->offset);

	if (err)
		return err;
	piece.bytes = buffer;
	json_piece(json, &piece);
	return json_error(json);
}

static int splice_file(const struct spool *spool, struct json *json)
{
	char *buffer;
	size_t i;
	int err = 0;

	if (!spool->segments.count)
		return 0;
	buffer = malloc(CHUNK_MAX_BYTES);
	if (!buffer)
		return -ENOMEM;
	for (i = 0; i < spool->segments.count && !err; i++)
		err = splice_segment(spool, &spool->segments.items[i], buffer, json);
	free(buffer);
	return err;
}

int spool_splice(struct spool *spool, struct json *json)
{
	const struct spool_chunk *chunk;
	int err = spool->pool->error;

	settle(spool->pool);
	if (!err)
		err = splice_file(spool, json);
	if (err)
		return err;
	for (chunk = spool->first; chunk; chunk = chunk->next)
		json_piece(json, &chunk->job.piece);
	return json_error(json);
}
