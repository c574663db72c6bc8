/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_codec.c - see chunk_codec.h. */
#include "buffer/chunk_codec.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_columns.h"

/* Levels 3 and 6 gain a percent of stacks, nothing of numbers, and take 2 and 3 times as long. */
#define ZSTD_LEVEL 1
/* Below that, a frame's header costs what it saves. */
#define WORTH_A_FRAME 32
#define MAX_DIRECTORY (COLUMN_COUNT * 2 * LEB128_MAX_BYTES_U32)

struct chunk_codec {
	struct chunk_columns *columns;
	ZSTD_CCtx *compressor; /* NULL: CODEC_READ */
	ZSTD_DCtx *expander;
	uint8_t *packed; /* compressed columns, one after the other; max_bytes */
};

static int open_compressor(struct chunk_codec *codec, uint32_t max_bytes)
{
	ZSTD_CCtx *compressor = ZSTD_createCCtx();

	codec->compressor = compressor;
	codec->packed = malloc(max_bytes);
	if (!compressor || !codec->packed)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, 0)))
		return -EINVAL;
	return 0;
}

int chunk_codec_open(struct chunk_codec **out, uint32_t max_bytes, enum chunk_codec_mode mode)
{
	struct chunk_codec *codec = calloc(1, sizeof(*codec));
	int err;

	if (!codec)
		return -ENOMEM;
	err = chunk_columns_open(&codec->columns, max_bytes);
	if (!err) {
		codec->expander = ZSTD_createDCtx();
		err = codec->expander ? 0 : -ENOMEM;
	}
	if (!err && mode == CODEC_WRITE)
		err = open_compressor(codec, max_bytes);
	if (err) {
		chunk_codec_close(codec);
		return err;
	}
	*out = codec;
	return 0;
}

void chunk_codec_close(struct chunk_codec *codec)
{
	if (!codec)
		return;
	chunk_columns_close(codec->columns);
	ZSTD_freeCCtx(codec->compressor);
	ZSTD_freeDCtx(codec->expander);
	free(codec->packed);
	free(codec);
}

/* ---- compressing ---------------------------------------------------------------- */

/* What is made of a chunk's columns, and how much it may be. */
struct packing {
	uint8_t directory[MAX_DIRECTORY], *directory_end;
	uint8_t *out, *out_end;
};

/*
 * Compresses `size` bytes to fewer, if the packing has room. 0; -ENOSPC: not so; -ENOMEM.
 */
static int pack_frame(struct chunk_codec *codec, const uint8_t *bytes, uint32_t size,
		      struct packing *packing, size_t *packed)
{
	size_t room = (size_t)(packing->out_end - packing->out), made;

	if (size < WORTH_A_FRAME)
		return -ENOSPC;
	made = ZSTD_compress2(codec->compressor, packing->out, room < size ? room : size - 1, bytes,
			      size);
	if (!ZSTD_isError(made)) {
		*packed = made;
		return 0;
	}
	return ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation ? -ENOMEM : -ENOSPC;
}

static int pack_column(struct chunk_codec *codec, enum column column, struct packing *packing)
{
	const uint8_t *bytes = chunk_columns_bytes(codec->columns, column);
	uint32_t size = chunk_columns_size(codec->columns, column);
	size_t packed = size;
	int err;

	packing->directory_end = leb128_put(packing->directory_end, size);
	if (!size)
		return 0;
	err = pack_frame(codec, bytes, size, packing, &packed);
	if (err == -ENOMEM)
		return err;
	if (packed > (size_t)(packing->out_end - packing->out))
		return -ENOSPC;
	if (err)
		memcpy(packing->out, bytes, size);
	packing->out += packed;
	packing->directory_end = leb128_put(packing->directory_end, packed);
	return 0;
}

/* The most that a twin may take. */
static uint32_t worthy_bytes(const struct chunk *done)
{
	uint32_t stored_bytes = done->header.stored_bytes;

	return stored_bytes - stored_bytes / 8 - (stored_bytes % 8 != 0);
}

static int make_twin(const struct chunk *done, const struct packing *packing, const uint8_t *packed,
		     struct chunk **out)
{
	size_t directory_bytes = (size_t)(packing->directory_end - packing->directory);
	size_t packed_bytes = (size_t)(packing->out - packed);
	uint32_t stored_bytes = (uint32_t)(directory_bytes + packed_bytes);
	struct chunk *twin;

	if (stored_bytes > worthy_bytes(done))
		return -ENOSPC;
	twin = chunk_create(stored_bytes);
	if (!twin)
		return -ENOMEM;
	twin->header = done->header;
	twin->header.flags |= CHUNK_COMPRESSED;
	twin->header.stored_bytes = stored_bytes;
	memcpy(twin->bytes, packing->directory, directory_bytes);
	memcpy(twin->bytes + directory_bytes, packed, packed_bytes);
	*out = twin;
	return 0;
}

int chunk_compress(struct chunk_codec *codec, const struct chunk *done, struct chunk **out)
{
	const struct chunk_header *header = &done->header;
	uint32_t max_bytes = chunk_columns_max_bytes(codec->columns), worthy = worthy_bytes(done);
	struct packing packing;
	uint32_t column;
	int err = 0;

	assert(codec->compressor && header->state == CHUNK_DONE);
	assert(!(header->flags & CHUNK_COMPRESSED));
	if (header->offset_past_last_block > max_bytes)
		return -ENOSPC;
	packing.directory_end = packing.directory;
	packing.out = codec->packed;
	packing.out_end = codec->packed + (worthy < max_bytes ? worthy : max_bytes);
	chunk_columns_split(codec->columns, done->bytes, header->offset_first_block,
			    header->offset_past_last_block);
	for (column = 0; column < COLUMN_COUNT && !err; column++)
		err = pack_column(codec, column, &packing);
	return err ? err : make_twin(done, &packing, codec->packed, out);
}

/* ---- expanding -------------------------------------------------------------------- */

struct column_size {
	uint32_t size, packed;
};

static const uint8_t *read_size(const uint8_t *in, const uint8_t *end, uint32_t max, uint32_t *size)
{
	uint64_t value;

	in = leb128_get(in, end, &value);
	if (!in || value > max)
		return NULL;
	*size = (uint32_t)value;
	return in;
}

/* Returns where the columns' bytes begin; NULL: it makes no sense. */
static const uint8_t *read_directory(const uint8_t *in, const uint8_t *end, uint32_t max_bytes,
				     struct column_size *sizes)
{
	uint32_t i;

	for (i = 0; i < COLUMN_COUNT && in; i++) {
		sizes[i].packed = 0;
		in = read_size(in, end, max_bytes, &sizes[i].size);
		if (in && sizes[i].size)
			in = read_size(in, end, sizes[i].size, &sizes[i].packed);
	}
	return in;
}

/* Nothing else is handed to zstd, which would read frames of its first versions, too. */
static bool is_one_frame(const uint8_t *in, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return size >= sizeof(magic) && !memcmp(in, magic, sizeof(magic)) &&
	       ZSTD_findFrameCompressedSize(in, size) == size;
}

/* From the bytes at `in`; sizes that are equal say that they are not a frame. */
static int unpack_column(struct chunk_codec *codec, enum column column, const uint8_t *in,
			 const struct column_size *size)
{
	uint8_t *bytes = chunk_columns_bytes(codec->columns, column);

	chunk_columns_set_size(codec->columns, column, size->size);
	if (size->packed == size->size) {
		memcpy(bytes, in, size->size);
		return 0;
	}
	if (!is_one_frame(in, size->packed) ||
	    ZSTD_decompressDCtx(codec->expander, bytes, size->size, in, size->packed) != size->size)
		return -EBADMSG;
	return 0;
}

int chunk_expand(struct chunk_codec *codec, const struct chunk *compressed, uint8_t *out)
{
	const struct chunk_header *header = &compressed->header;
	const uint8_t *in = compressed->bytes, *end = in + header->stored_bytes;
	uint32_t max_bytes = chunk_columns_max_bytes(codec->columns), i;
	struct column_size sizes[COLUMN_COUNT];

	assert(header->flags & CHUNK_COMPRESSED);
	if (header->offset_past_last_block > max_bytes ||
	    header->offset_past_last_block > header->buffer_bytes)
		return -EBADMSG;
	in = read_directory(in, end, max_bytes, sizes);
	if (!in)
		return -EBADMSG;
	for (i = 0; i < COLUMN_COUNT; i++) {
		if (sizes[i].packed > (size_t)(end - in) || unpack_column(codec, i, in, &sizes[i]))
			return -EBADMSG;
		in += sizes[i].packed;
	}
	if (in != end)
		return -EBADMSG;
	return chunk_columns_join(codec->columns, out, header->offset_first_block,
				  header->offset_past_last_block);
}
