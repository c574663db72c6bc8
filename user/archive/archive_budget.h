/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_budget.h - what the content of a raw capture may take of its reader's memory: a number of bytes, and so many
 * for each byte of the file. Files that were recorded need a fraction of that, but some kilobytes that are made for it
 * unpack to gigabytes.
 */
#ifndef GECKOBPF_ARCHIVE_ARCHIVE_BUDGET_H
#define GECKOBPF_ARCHIVE_ARCHIVE_BUDGET_H

#include <errno.h>
#include <stdint.h>

#include "archive/archive.h"
#include "base/pack.h"

#define ARCHIVE_MEMORY_BYTES (32ULL << 20)
#define ARCHIVE_MEMORY_FACTOR 16

/* With their places in tables, about. */
#define ARCHIVE_IMAGE_BYTES 512
#define ARCHIVE_THREAD_BYTES 256
#define ARCHIVE_MAPPING_BYTES 96
#define ARCHIVE_OBJECT_BYTES 320
/* Of an image, for its entries: while more may come, and when it has ended. */
#define ARCHIVE_BUFFER_BYTES 6144
#define ARCHIVE_ENDED_BUFFER_BYTES 768

static inline uint64_t archive_budget(uint64_t file_bytes)
{
	return ARCHIVE_MEMORY_BYTES + ARCHIVE_MEMORY_FACTOR * file_bytes;
}

/* So much is taken now. 0 or -E2BIG: it is not left. */
static inline int archive_spend(struct archive *archive, uint64_t bytes)
{
	if (bytes > archive->memory_left)
		return -E2BIG;
	archive->memory_left -= bytes;
	return 0;
}

#endif
