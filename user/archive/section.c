/* SPDX-License-Identifier: BSD-2-Clause */
/* section.c - see section.h. */
#include "archive/section.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/fd.h"

#define FILE_MAGIC "geckobpf"
#define SECTION_MAGIC 0x53504247U /* "GBPS" */
#define ZSTD_LEVEL 1
/* Looked through for a sound header, behind a damaged one: at first, and at a time. */
#define FIRST_SEARCH_BYTES 512
#define SEARCH_BYTES 65536
/*
 * Bytes that are read, searched and expanded: at most so many, and so many for each byte of the file. Honest files need
 * a tenth of that; a small one made for it could keep its reader busy for hours.
 */
#define WORK_BYTES (512ULL << 20)
#define WORK_FACTOR 100

struct file_head {
	char magic[8];
	uint16_t version, zero;
	uint32_t crc;
};

struct section_header {
	uint32_t magic;
	uint16_t kind, zero;
	uint32_t plain_bytes, stored_bytes;
	uint32_t crc;
};

_Static_assert(sizeof(struct file_head) == 16, "no holes");
_Static_assert(sizeof(struct section_header) == 20, "no holes");

/* Of all but the crc itself, which comes last. */
static uint32_t crc_of(const void *head, size_t size)
{
	return (uint32_t)crc32(0, head, (unsigned int)(size - sizeof(uint32_t)));
}

/* ---- writing --------------------------------------------------------------------- */

struct section_writer {
	struct section_sink sink;
	int error;
	ZSTD_CCtx *zstd;
	uint8_t *items; /* header and frame */
	size_t capacity;
};

static int write_all(struct section_writer *writer, const void *bytes, size_t size)
{
	return writer->sink.write(writer->sink.context, bytes, size);
}

int section_writer_open(struct section_writer **out, const struct section_sink *sink)
{
	struct file_head head = {.magic = FILE_MAGIC, .version = htole16(SECTION_VERSION)};
	struct section_writer *writer = calloc(1, sizeof(*writer));
	int err = -ENOMEM;

	if (!writer)
		return err;
	writer->sink = *sink;
	writer->zstd = ZSTD_createCCtx();
	if (!writer->zstd)
		goto fail;
	ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1);
	head.crc = htole32(crc_of(&head, sizeof(head)));
	err = write_all(writer, &head, sizeof(head));
	if (err)
		goto fail;
	*out = writer;
	return 0;
fail:
	section_writer_close(writer);
	return err;
}

void section_writer_close(struct section_writer *writer)
{
	if (!writer)
		return;
	ZSTD_freeCCtx(writer->zstd);
	free(writer->items);
	free(writer);
}

static int compress_section(struct section_writer *writer, uint16_t kind, const void *bytes,
			    size_t size, size_t *total)
{
	struct section_header header = {
		.magic = htole32(SECTION_MAGIC),
		.kind = htole16(kind),
		.plain_bytes = htole32((uint32_t)size),
	};
	size_t bound = ZSTD_compressBound(size), stored;
	int err = array_reserve((void **)&writer->items, &writer->capacity, sizeof(header) + bound,
				1);

	if (err)
		return err;
	stored = ZSTD_compress2(writer->zstd, writer->items + sizeof(header), bound, bytes, size);
	if (ZSTD_isError(stored))
		return -EIO;
	header.stored_bytes = htole32((uint32_t)stored);
	header.crc = htole32(crc_of(&header, sizeof(header)));
	memcpy(writer->items, &header, sizeof(header));
	*total = sizeof(header) + stored;
	return 0;
}

int section_write(struct section_writer *writer, uint16_t kind, const void *bytes, size_t size)
{
	size_t total = 0;

	if (!writer->error && size > SECTION_MAX_BYTES)
		writer->error = -E2BIG;
	if (!writer->error)
		writer->error = compress_section(writer, kind, bytes, size, &total);
	if (!writer->error)
		writer->error = write_all(writer, writer->items, total);
	return writer->error;
}

/* ---- reading --------------------------------------------------------------------- */

struct section_reader {
	int fd;
	uint64_t at, size;
	uint64_t work; /* bytes that were looked at */
	struct section_damage damage;
	ZSTD_DCtx *zstd;
	struct {
		uint8_t *items;
		size_t capacity;
	} stored, plain;
};

static int read_head(struct section_reader *reader)
{
	struct file_head head;
	struct stat file;
	int err;

	if (fstat(reader->fd, &file))
		return -errno;
	reader->size = (uint64_t)file.st_size;
	err = fd_pread_all(reader->fd, &head, sizeof(head), 0);
	if (err == -ENODATA)
		return -EBADMSG;
	if (err)
		return err;
	if (memcmp(head.magic, FILE_MAGIC, sizeof(head.magic)) != 0 ||
	    le32toh(head.crc) != crc_of(&head, sizeof(head)))
		return -EBADMSG;
	if (le16toh(head.version) < SECTION_OLDEST_VERSION ||
	    le16toh(head.version) > SECTION_VERSION)
		return -EPROTONOSUPPORT;
	reader->at = sizeof(head);
	return 0;
}

int section_reader_open(struct section_reader **out, int fd)
{
	struct section_reader *reader = calloc(1, sizeof(*reader));
	int err = -ENOMEM;

	if (!reader)
		return err;
	reader->fd = fd;
	reader->zstd = ZSTD_createDCtx();
	if (reader->zstd)
		err = read_head(reader);
	if (err) {
		section_reader_close(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void section_reader_close(struct section_reader *reader)
{
	if (!reader)
		return;
	ZSTD_freeDCtx(reader->zstd);
	free(reader->stored.items);
	free(reader->plain.items);
	free(reader);
}

static bool is_sound(const struct section_header *header)
{
	return le32toh(header->magic) == SECTION_MAGIC &&
	       le32toh(header->crc) == crc_of(header, sizeof(*header)) &&
	       le32toh(header->plain_bytes) <= SECTION_MAX_BYTES &&
	       le32toh(header->stored_bytes) <= ZSTD_compressBound(SECTION_MAX_BYTES);
}

/* From `at` on, the first sound header; none: the end of the file. */
static int search_header(struct section_reader *reader, uint64_t at, uint64_t *found)
{
	const size_t header_bytes = sizeof(struct section_header);
	size_t most = FIRST_SEARCH_BYTES; /* headers may follow each other closely */

	while (at + header_bytes <= reader->size) {
		uint8_t window[SEARCH_BYTES];
		uint64_t left = reader->size - at;
		size_t size = left < most ? (size_t)left : most, i;
		int err = fd_pread_all(reader->fd, window, size, (off_t)at);

		if (err)
			return err;
		reader->work += size;
		most = sizeof(window);
		for (i = 0; i + header_bytes <= size; i++) {
			struct section_header header;

			memcpy(&header, window + i, header_bytes);
			if (is_sound(&header)) {
				*found = at + i;
				return 0;
			}
		}
		at += i;
	}
	*found = reader->size;
	return 0;
}

/* Whether the file goes on at `at` with what begins a zstd frame: cheaper to know than whether it is whole. */
static int check_frame(struct section_reader *reader, uint64_t at)
{
	uint32_t magic;
	int err = fd_pread_all(reader->fd, &magic, sizeof(magic), (off_t)at);

	if (err)
		return err;
	return le32toh(magic) == ZSTD_MAGICNUMBER ? 0 : -EBADMSG;
}

static int read_stored(struct section_reader *reader, uint64_t at, size_t stored, size_t plain)
{
	int err;

	if (stored > reader->size - at)
		return -EBADMSG;
	err = check_frame(reader, at);
	if (!err)
		err = array_reserve((void **)&reader->stored.items, &reader->stored.capacity,
				    stored + 1, 1);
	if (!err)
		err = array_reserve((void **)&reader->plain.items, &reader->plain.capacity,
				    plain + 1, 1);
	if (err)
		return err;
	reader->work += stored + plain;
	return fd_pread_all(reader->fd, reader->stored.items, stored, (off_t)at);
}

/* The content of the section at reader->at, whose header is sound. 0 or -EBADMSG: it is not whole. */
static int read_content(struct section_reader *reader, const struct section_header *header,
			struct section *out)
{
	size_t stored = le32toh(header->stored_bytes), plain = le32toh(header->plain_bytes), got;
	int err = read_stored(reader, reader->at + sizeof(*header), stored, plain);

	if (err)
		return err == -ENODATA ? -EBADMSG : err;
	got = ZSTD_decompressDCtx(reader->zstd, reader->plain.items, plain, reader->stored.items,
				  stored);
	if (ZSTD_isError(got) || got != plain)
		return -EBADMSG;
	*out = (struct section){le16toh(header->kind), reader->plain.items, plain};
	return 0;
}

static int skip_damage(struct section_reader *reader, size_t at_least)
{
	uint64_t next;
	int err = search_header(reader, reader->at + at_least, &next);

	if (err)
		return err;
	reader->damage.bytes += next - reader->at;
	reader->at = next;
	return 0;
}

/* The rest of the file is not worth its while. */
static void give_up(struct section_reader *reader)
{
	reader->damage.bytes += reader->size - reader->at;
	reader->at = reader->size;
}

int section_read(struct section_reader *reader, struct section *out)
{
	struct section_header header;
	int err = 0;

	while (!err && reader->at < reader->size) {
		if (reader->work / WORK_FACTOR > reader->size + WORK_BYTES / WORK_FACTOR) {
			give_up(reader);
			break;
		}
		reader->work += sizeof(header);
		err = fd_pread_all(reader->fd, &header, sizeof(header), (off_t)reader->at);
		if (err == -ENODATA || (!err && !is_sound(&header))) {
			err = skip_damage(reader, 1);
			continue;
		}
		if (!err)
			err = read_content(reader, &header, out);
		if (!err) {
			reader->at += sizeof(header) + le32toh(header.stored_bytes);
			return 1;
		}
		if (err == -EBADMSG) {
			reader->damage.sections++;
			err = skip_damage(reader, sizeof(header));
		}
	}
	return err;
}

struct section_damage section_reader_damage(const struct section_reader *reader)
{
	return reader->damage;
}

uint64_t section_reader_at(const struct section_reader *reader)
{
	return reader->at;
}

uint64_t section_reader_size(const struct section_reader *reader)
{
	return reader->size;
}
