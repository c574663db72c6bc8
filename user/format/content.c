/* SPDX-License-Identifier: BSD-2-Clause */
/* content.c - see content.h. The packed bytes are read whole first: they are few, and a pipe cannot be read twice. */
#include "format/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/error.h"

#define FIRST_BYTES (64 * 1024)
/* zlib counts in unsigned int: hand it pieces. */
#define PIECE_BYTES (1U << 30)
/* windowBits of zlib that ask for a gzip header and trailer. */
#define GZIP_WINDOW (15 + 16)
/* Profiles are unpacked to some five times their size, what was made to be a burden to a thousand times. */
#define UNPACKED_BYTES ((size_t)16 << 20)
#define UNPACKED_FACTOR 32

struct bytes {
	char *items;
	size_t count, capacity;
	size_t max;
};

/* Room for more at the end: some of it, however much is wanted. */
static int make_room(struct bytes *bytes)
{
	size_t need = bytes->count < FIRST_BYTES ? FIRST_BYTES : bytes->count + 1;

	if (bytes->count > bytes->max)
		return -EFBIG;
	return array_reserve((void **)&bytes->items, &bytes->capacity, need, 1);
}

/* ---- reading --------------------------------------------------------------------- */

static int read_fd(int fd, struct bytes *bytes)
{
	ssize_t got = 1;
	int err = 0;

	while (got && !err) {
		err = make_room(bytes);
		if (err)
			break;
		got = read(fd, bytes->items + bytes->count, bytes->capacity - bytes->count);
		if (got < 0 && errno != EINTR)
			err = -errno;
		if (got > 0)
			bytes->count += (size_t)got;
	}
	return err;
}

static int read_path(const char *path, struct bytes *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_fd(fd, bytes);
	close(fd);
	return err;
}

/* ---- unpacking ------------------------------------------------------------------- */

static int inflate_error(int status, struct error *error)
{
	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	return error_set(error, -EBADMSG, NULL, "its gzip data %s",
			 status == Z_BUF_ERROR ? "end early" : "are broken");
}

/* Hands zlib the next piece of input and of room. What it has taken may give more output than there was room for. */
static int inflate_step(z_stream *stream, const char *end, struct bytes *out, struct error *error,
			int *status)
{
	size_t left = (size_t)(end - (const char *)stream->next_in), room;
	int err = make_room(out);

	if (err)
		return err;
	room = out->capacity - out->count;
	stream->avail_in = (uInt)(left < PIECE_BYTES ? left : PIECE_BYTES);
	stream->avail_out = (uInt)(room < PIECE_BYTES ? room : PIECE_BYTES);
	stream->next_out = (Bytef *)out->items + out->count;
	*status = inflate(stream, Z_NO_FLUSH);
	out->count = (size_t)((char *)stream->next_out - out->items);
	if (*status != Z_OK && *status != Z_STREAM_END)
		return inflate_error(*status, error);
	return 0;
}

static int unpack_gzip(const struct bytes *in, struct bytes *out, struct error *error)
{
	z_stream stream = {.next_in = (Bytef *)in->items};
	int status = inflateInit2(&stream, GZIP_WINDOW), err = 0;

	if (status != Z_OK)
		return -ENOMEM;
	while (!err && status != Z_STREAM_END)
		err = inflate_step(&stream, in->items + in->count, out, error, &status);
	inflateEnd(&stream);
	return err;
}

static int zstd_error(size_t code, struct error *error)
{
	return error_set(error, -EBADMSG, NULL, "its zstd data are broken: %s",
			 ZSTD_getErrorName(code));
}

static int unpack_zstd(const struct bytes *in, struct bytes *out, struct error *error)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer from = {.src = in->items, .size = in->count};
	size_t left = 1;
	int err = stream ? 0 : -ENOMEM;

	while (!err && left) {
		ZSTD_outBuffer to;

		err = make_room(out);
		if (err)
			break;
		to = (ZSTD_outBuffer){.dst = out->items, .size = out->capacity, .pos = out->count};
		left = ZSTD_decompressStream(stream, &to, &from);
		if (ZSTD_isError(left))
			err = zstd_error(left, error);
		else if (left && from.pos == from.size && to.pos < to.size)
			err = error_set(error, -EBADMSG, NULL, "its zstd data end early");
		out->count = to.pos;
	}
	ZSTD_freeDStream(stream);
	return err;
}

static bool begins_with(const struct bytes *bytes, const char *magic, size_t size)
{
	return bytes->count >= size && !memcmp(bytes->items, magic, size);
}

int content_read(const char *path, size_t max_bytes, char **bytes, size_t *size,
		 struct error *error)
{
	struct bytes raw = {.max = max_bytes}, unpacked = {.max = max_bytes}, *result = &unpacked;
	int err = read_path(path, &raw);

	if (!err && raw.count < max_bytes / UNPACKED_FACTOR &&
	    UNPACKED_BYTES + UNPACKED_FACTOR * raw.count < max_bytes)
		unpacked.max = UNPACKED_BYTES + UNPACKED_FACTOR * raw.count;
	if (!err && begins_with(&raw, "\x1f\x8b", 2))
		err = unpack_gzip(&raw, &unpacked, error);
	else if (!err && begins_with(&raw, "\x28\xb5\x2f\xfd", 4))
		err = unpack_zstd(&raw, &unpacked, error);
	else
		result = &raw;
	if (!err && result->count > result->max)
		err = -EFBIG;
	if (err == -EFBIG)
		error_set(error, err, NULL, "its content is larger than %zu bytes", result->max);
	free(result == &raw ? unpacked.items : raw.items);
	if (err) {
		free(result->items);
		return err;
	}
	*bytes = result->items;
	*size = result->count;
	return 0;
}
