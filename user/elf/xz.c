/* SPDX-License-Identifier: BSD-2-Clause */
/* xz.c - see xz.h. */
#include "elf/xz.h"
#include "base/array.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

/* `xz -9` needs 65 MiB to unpack; more is nothing that anybody would want. */
#define DECODER_MAX_BYTES (128ULL << 20)

static int decode(lzma_stream *stream, size_t max_bytes, char **data, size_t *size)
{
	size_t capacity = 0, used = 0, room;
	lzma_ret status = LZMA_OK;
	int err;

	while (status == LZMA_OK) {
		err = array_reserve((void **)data, &capacity, used + 65536, 1);
		if (err)
			return err;
		room = capacity <= max_bytes ? capacity : max_bytes + 1;
		stream->next_out = (uint8_t *)*data + used;
		stream->avail_out = room - used;
		status = lzma_code(stream, LZMA_FINISH);
		used = room - stream->avail_out;
		if (used > max_bytes)
			return -EFBIG;
	}
	if (status == LZMA_MEM_ERROR)
		return -ENOMEM;
	*size = used;
	return status == LZMA_STREAM_END && used ? 0 : -ENOEXEC;
}

int xz_unpack(const void *packed, size_t packed_bytes, size_t max_bytes, char **data, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	char *unpacked = NULL;
	size_t unpacked_bytes;
	int err;

	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, LZMA_CONCATENATED) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = packed_bytes;
	err = decode(&stream, max_bytes, &unpacked, &unpacked_bytes);
	lzma_end(&stream);
	if (err) {
		free(unpacked);
		return err;
	}
	*data = unpacked;
	*size = unpacked_bytes;
	return 0;
}
