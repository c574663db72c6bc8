/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * section.h - the container of a raw capture: a magic, then sections that each stand alone.
 *
 *   file      "geckobpf" | u16 version | u16 0 | u32 crc of the 12 bytes | section ...
 *   section   header | one zstd frame with a checksum, `stored_bytes` of it
 *   header    u32 magic | u16 kind | u16 0 | u32 plain_bytes | u32 stored_bytes | u32 crc of the 16 bytes
 *
 * All little-endian, the crc is that of zlib. A section is handed to its sink at once, so a file that was cut off, by
 * whatever ended its writer, is whole up to its last section. A damaged section is skipped: the reader goes on at the
 * next header that is sound, and counts what it could not read. It gives up, and counts the rest, when it has had to
 * read and expand a hundred times as much as the file has.
 */
#ifndef GECKOBPF_ARCHIVE_SECTION_H
#define GECKOBPF_ARCHIVE_SECTION_H

#include <stddef.h>
#include <stdint.h>

#define SECTION_VERSION 5 /* that is written */
#define SECTION_OLDEST_VERSION                                                                     \
	2 /* that is read: its entries have an older grammar (buffer/entry.h) */
/* Of plain bytes; larger ones are refused in both directions. */
#define SECTION_MAX_BYTES (16U << 20)

struct section_writer;
struct section_reader;

/* Where sections go: all of the bytes, or an error. */
struct section_sink {
	int (*write)(void *context, const void *bytes, size_t size);
	void *context;
};

/* Writes the head of the file. 0, -ENOMEM, the sink's error. */
int section_writer_open(struct section_writer **out, const struct section_sink *sink);
void section_writer_close(struct section_writer *writer);

/* Compresses and writes one section. 0, -E2BIG, -ENOMEM, -EIO (zstd), the sink's error; the first one sticks. */
int section_write(struct section_writer *writer, uint16_t kind, const void *bytes, size_t size);

/* What could not be read. */
struct section_damage {
	uint64_t sections; /* whose header is sound and whose content is not */
	uint64_t bytes; /* of the file that are in no sound section */
};

/*
 * Reads the head of the file. `fd` is borrowed and must be seekable. 0; -EBADMSG: not a raw capture; -EPROTONOSUPPORT:
 * of a version that is not known; -ENOMEM; -errno.
 */
int section_reader_open(struct section_reader **out, int fd);
void section_reader_close(struct section_reader *reader);

/* A section that was read; the bytes are the reader's until the next. */
struct section {
	uint16_t kind;
	const uint8_t *bytes;
	size_t size;
};

/* The next sound section. 1; 0: the end of the file; -ENOMEM; -errno of the file. */
int section_read(struct section_reader *reader, struct section *out);

struct section_damage section_reader_damage(const struct section_reader *reader);
/* How far the reader is, and the size of the file. */
uint64_t section_reader_at(const struct section_reader *reader);
uint64_t section_reader_size(const struct section_reader *reader);

#endif
