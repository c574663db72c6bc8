/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - bytes -> (compression) -> a block of 256 KiB -> the file.
 *
 *   open     ".name.json.gz.PID.tmp" beside the target, made with O_EXCL
 *   publish  the file gets its rights and its name early; from then on a flush is what makes it longer
 *   commit   the last block is written, the file gets its rights and its name
 *   close    without a commit: the temporary goes
 *
 * What is no file is written to as it is.
 */
#include "base/output.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/fd.h"
#include "base/naming.h"
#include "base/temporary.h"
#include "base/deflater.h"

#define BLOCK_BYTES (256 * 1024)
/* zlib counts in unsigned int: hand it parts. */
#define PART_BYTES (1U << 20)
#define CANCEL_POLL_MS 50
/*
 * Rows of numbers gain little from the higher levels: of zstd's, 1 is the fastest and, on such
 * rows, smaller than 2 and 3.
 */
#define ZSTD_LEVEL 1
/* Header and trailer of the gzip member are ours, since pieces come whose checksum zlib has not seen. */
#define RAW_WINDOW (-15)

enum output_format { FORMAT_PLAIN, FORMAT_GZIP, FORMAT_ZSTD };

struct output {
	struct output_options options;
	enum output_format format;
	int fd;
	int error;
	bool is_direct; /* stdout, or what else is no file: it gets no name */
	bool may_wait; /* a write to it may wait for ever */
	bool is_published;
	uint64_t safe_bytes; /* bytes of the file at the last flush */
	char *path;
	char *temporary; /* NULL: it is direct, or not there any more */
	char *kept; /* what was called so before; NULL: nothing was */
	uint64_t bytes_in, bytes_out;
	bool has_gzip;
	z_stream gzip;
	bool is_flushed; /* what went into `gzip` is out, to a whole byte */
	uLong crc; /* of all plain bytes */
	ZSTD_CStream *zstd;
	size_t used; /* of `block` */
	char block[BLOCK_BYTES];
};

/* ---- names --------------------------------------------------------------------- */

static const struct {
	const char *suffix;
	enum output_format format;
} formats[] = {
	{".json", FORMAT_PLAIN},
	{".json.gz", FORMAT_GZIP},
	{".json.zst", FORMAT_ZSTD},
	{".gbpf", FORMAT_PLAIN}, /* a raw capture, whose sections are compressed already */
};

/* Where `end` begins in `text`; NULL: the text does not end so, or is nothing else, which is no name. */
static const char *find_end(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	const char *at = text + length - end_length;

	if (length <= end_length || at[-1] == '/' || strcmp(at, end) != 0)
		return NULL;
	return at;
}

static int format_of(const char *path, enum output_format *format)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!find_end(path, formats[i].suffix))
			continue;
		*format = formats[i].format;
		return 0;
	}
	*format = FORMAT_PLAIN;
	return naming_is_direct(path) ? 0 : -EINVAL;
}

const char *output_suffix(const char *path)
{
	const char *at = NULL;
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]) && !at; i++)
		at = find_end(path, formats[i].suffix);
	return at ? at : path + strlen(path);
}

int output_check(const char *path)
{
	enum output_format format;
	struct stat at;
	char *temporary;
	int fd, err = format_of(path, &format);

	if (err || !strcmp(path, "-"))
		return err;
	if (naming_is_direct(path))
		return access(path, W_OK) ? -errno : 0;
	if (!stat(path, &at) && S_ISDIR(at.st_mode))
		return -EISDIR;
	fd = temporary_create(path, &temporary);
	if (fd < 0)
		return fd;
	temporary_remove(&temporary);
	fd_close(&fd);
	return 0;
}

/* ---- opening -------------------------------------------------------------------- */

static bool is_cancelled(const struct output *output)
{
	const struct output_options *options = &output->options;

	return options->is_cancelled && options->is_cancelled(options->context);
}

/* A pipe with a name can be opened when it has a reader; until then this waits. */
static int open_direct(struct output *output)
{
	const struct timespec wait = {.tv_nsec = CANCEL_POLL_MS * 1000000L};
	const bool is_stdout = !strcmp(output->path, "-");
	struct stat at;

	output->is_direct = true;
	output->fd = is_stdout ? STDOUT_FILENO : -1;
	while (output->fd < 0) {
		output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (output->fd < 0 &&
		    (errno != ENXIO || stat(output->path, &at) || !S_ISFIFO(at.st_mode)))
			return -errno;
		if (output->fd < 0 && is_cancelled(output))
			return -EINTR;
		if (output->fd < 0)
			nanosleep(&wait, NULL);
	}
	output->may_wait = fstat(output->fd, &at) || !S_ISREG(at.st_mode);
	return 0;
}

static int open_file(struct output *output, const char *path)
{
	output->path = strdup(path);
	if (!output->path)
		return -ENOMEM;
	if (naming_is_direct(path))
		return open_direct(output);
	output->fd = temporary_create(path, &output->temporary);
	return output->fd < 0 ? output->fd : 0;
}

static int open_gzip(struct output *output)
{
	/* Deflate, no flags, no time, the fastest level, Unix: RFC 1952. */
	static const char header[10] = "\x1f\x8b\x08\0\0\0\0\0\4\3";

	if (deflateInit2(&output->gzip, DEFLATER_LEVEL, Z_DEFLATED, RAW_WINDOW, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	output->has_gzip = true;
	output->is_flushed = true;
	output->crc = crc32(0, NULL, 0);
	memcpy(output->block, header, sizeof(header));
	output->used = sizeof(header);
	return 0;
}

static int open_compression(struct output *output)
{
	switch (output->format) {
	case FORMAT_GZIP:
		return open_gzip(output);
	case FORMAT_ZSTD:
		output->zstd = ZSTD_createCStream();
		if (!output->zstd)
			return -ENOMEM;
		if (ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel,
							ZSTD_LEVEL)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1)))
			return -EINVAL;
		return 0;
	case FORMAT_PLAIN:
		break;
	}
	return 0;
}

int output_open(struct output **out, const char *path, const struct output_options *options)
{
	static const struct output_options defaults = {.replaces = true};
	enum output_format format;
	struct output *output;
	int err = format_of(path, &format);

	if (err)
		return err;
	output = calloc(1, sizeof(*output));
	if (!output)
		return -ENOMEM;
	output->options = options ? *options : defaults;
	output->format = format;
	output->fd = -1;
	err = open_file(output, path);
	if (!err)
		err = open_compression(output);
	if (err) {
		output_close(output);
		return err;
	}
	*out = output;
	return 0;
}

/* ---- writing -------------------------------------------------------------------- */

/*
 * Into a pipe that nobody reads, write(2) would wait where a cancel cannot reach it. What poll(2) calls writable takes
 * PIPE_BUF bytes at once; a file always does.
 */
static int write_patiently(struct output *output, const char *data, size_t size)
{
	struct pollfd ready = {.fd = output->fd, .events = POLLOUT};
	int err = 0;

	while (size && !err) {
		size_t part = size < PIPE_BUF ? size : PIPE_BUF;

		if (is_cancelled(output))
			return -EINTR;
		if (poll(&ready, 1, CANCEL_POLL_MS) <= 0)
			continue;
		err = fd_write_all(output->fd, data, part);
		data += part;
		size -= part;
	}
	return err;
}

static int write_block(struct output *output)
{
	int err = 0;

	if (!output->used)
		return 0;
	if (is_cancelled(output))
		err = -EINTR;
	else if (output->may_wait)
		err = write_patiently(output, output->block, output->used);
	else
		err = fd_write_all(output->fd, output->block, output->used);
	if (err && output->is_published && !output->is_direct)
		(void)!ftruncate(output->fd, (off_t)output->safe_bytes);
	if (err)
		return err;
	output->bytes_out += output->used;
	output->used = 0;
	return 0;
}

static int plain(struct output *output, const char *data, size_t size)
{
	int err = 0;

	while (size && !err) {
		size_t room = BLOCK_BYTES - output->used;
		size_t part = size < room ? size : room;

		memcpy(output->block + output->used, data, part);
		output->used += part;
		data += part;
		size -= part;
		if (output->used == BLOCK_BYTES)
			err = write_block(output);
	}
	return err;
}

/* `flush`: Z_NO_FLUSH: all input is taken; otherwise: and all is out, followed by what zlib calls so. */
static int gzip_piece(struct output *output, const char *data, size_t size, int flush)
{
	z_stream *gzip = &output->gzip;
	bool is_out = false;
	int err = 0;

	gzip->next_in = (Bytef *)data;
	gzip->avail_in = (uInt)size;
	while (!err && (flush == Z_NO_FLUSH ? gzip->avail_in > 0 : !is_out)) {
		gzip->next_out = (Bytef *)output->block + output->used;
		gzip->avail_out = (uInt)(BLOCK_BYTES - output->used);
		if (deflate(gzip, flush) == Z_STREAM_ERROR)
			return -EIO;
		output->used = BLOCK_BYTES - gzip->avail_out;
		is_out = gzip->avail_out > 0;
		if (!is_out)
			err = write_block(output);
	}
	output->is_flushed = flush != Z_NO_FLUSH;
	return err;
}

static int gzip(struct output *output, const char *data, size_t size)
{
	int err = 0;

	while (size && !err) {
		size_t part = size < PART_BYTES ? size : PART_BYTES;

		output->crc = crc32(output->crc, (const Bytef *)data, (uInt)part);
		err = gzip_piece(output, data, part, Z_NO_FLUSH);
		data += part;
		size -= part;
	}
	return err;
}

static int zstd(struct output *output, const char *data, size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {.src = data, .size = size};
	size_t left = 1;
	int err = 0;

	while (!err && (end == ZSTD_e_end ? left : in.pos < in.size)) {
		ZSTD_outBuffer out = {
			.dst = output->block, .size = BLOCK_BYTES, .pos = output->used};

		left = ZSTD_compressStream2(output->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? -ENOMEM
										       : -EIO;
		output->used = out.pos;
		if (out.pos == BLOCK_BYTES)
			err = write_block(output);
	}
	return err;
}

int output_write(struct output *output, const void *data, size_t size)
{
	if (output->error || !size)
		return output->error;
	switch (output->format) {
	case FORMAT_PLAIN:
		output->error = plain(output, data, size);
		break;
	case FORMAT_GZIP:
		output->error = gzip(output, data, size);
		break;
	case FORMAT_ZSTD:
		output->error = zstd(output, data, size, ZSTD_e_continue);
		break;
	}
	if (!output->error)
		output->bytes_in += size;
	return output->error;
}

bool output_splices(const struct output *output)
{
	return output->format == FORMAT_GZIP;
}

/*
 * The blocks before end at a byte; those behind refer to nothing before them, for zlib does not
 * know what went in between.
 */
static int splice_piece(struct output *output, const struct piece *piece)
{
	int err = 0;

	if (!output_splices(output) || !piece->is_packed)
		return -EINVAL;
	if (!output->is_flushed)
		err = gzip_piece(output, NULL, 0, Z_FULL_FLUSH);
	output->crc = crc32_combine(output->crc, piece->crc, piece->plain_size);
	return err ? err : plain(output, piece->bytes, piece->size);
}

int output_splice(struct output *output, const struct piece *piece)
{
	if (!output->error)
		output->error = splice_piece(output, piece);
	if (!output->error)
		output->bytes_in += piece->plain_size;
	return output->error;
}

/* ---- the end -------------------------------------------------------------------- */

static int finish_gzip(struct output *output)
{
	const uint32_t trailer[] = {htole32((uint32_t)output->crc),
				    htole32((uint32_t)output->bytes_in)};
	int err = gzip_piece(output, NULL, 0, Z_FINISH);

	return err ? err : plain(output, (const char *)trailer, sizeof(trailer));
}

static int finish_compression(struct output *output)
{
	switch (output->format) {
	case FORMAT_GZIP:
		return finish_gzip(output);
	case FORMAT_ZSTD:
		return zstd(output, NULL, 0, ZSTD_e_end);
	case FORMAT_PLAIN:
		break;
	}
	return 0;
}

static int take_name(struct output *output)
{
	return naming_apply(output->path, output->options.replaces, &output->temporary,
			    &output->kept);
}

static int finish_file(struct output *output)
{
	int err;

	file_rights_give(&output->options.rights, output->fd);
	err = close(output->fd);
	output->fd = -1;
	if (err)
		return -errno;
	return output->is_published ? 0 : take_name(output);
}

int output_flush(struct output *output)
{
	if (!output->error)
		output->error = write_block(output);
	if (!output->error)
		output->safe_bytes = output->bytes_out;
	return output->error;
}

int output_publish(struct output *output)
{
	int err = output_flush(output);

	if (err || output->is_published)
		return err;
	if (!output->is_direct) {
		file_rights_give(&output->options.rights, output->fd);
		output->error = take_name(output);
	}
	output->is_published = !output->error;
	return output->error;
}

static void drop_temporary(struct output *output)
{
	if (output->fd != STDOUT_FILENO)
		fd_close(&output->fd);
	temporary_remove(&output->temporary);
}

int output_commit(struct output *output)
{
	if (!output->error)
		output->error = finish_compression(output);
	if (!output->error)
		output->error = write_block(output);
	if (!output->error && !output->is_direct)
		output->error = finish_file(output);
	if (output->error)
		drop_temporary(output);
	return output->error;
}

void output_close(struct output *output)
{
	if (!output)
		return;
	drop_temporary(output);
	if (output->has_gzip)
		deflateEnd(&output->gzip);
	ZSTD_freeCStream(output->zstd);
	free(output->path);
	free(output->kept);
	free(output);
}

const char *output_kept(const struct output *output)
{
	return output->kept;
}

uint64_t output_bytes_in(const struct output *output)
{
	return output->bytes_in;
}

uint64_t output_bytes_out(const struct output *output)
{
	return output->bytes_out;
}

int output_error(const struct output *output)
{
	return output->error;
}
