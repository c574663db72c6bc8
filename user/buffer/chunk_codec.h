/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_codec.h - chunks that are done, made smaller, and back.
 *
 *   struct chunk | size, packed of each column     | column | column | ...
 *                | ULEB128; no packed if size is 0 |
 *                '------------------------ stored_bytes -----------------
 *
 * A compressed twin has the header of the chunk it stands for, but for `flags` and `stored_bytes`.
 * The chunk's bytes are sorted into columns (chunk_columns.h). Each is stored as one zstd frame of
 * `packed` bytes, or as it is where that would not be smaller; then `packed` is `size`.
 *
 * A codec is one thread's. Its memory is bounded: the columns, 17 times max_bytes of address space,
 * touched as far as a column was ever filled (with chunks of all kinds, twice max_bytes); zstd's
 * contexts, for 256 KiB 0.1 MB to expand and 0.6 MB to compress; to compress, max_bytes more.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_CODEC_H
#define GECKOBPF_BUFFER_CHUNK_CODEC_H

#include <stdint.h>

struct chunk;
struct chunk_codec;

enum chunk_codec_mode {
	CODEC_READ, /* expand only */
	CODEC_WRITE, /* expand and compress */
};

/* For chunks of at most `max_bytes`. 0, -EINVAL (0 or more than 2^30 bytes), -ENOMEM. */
int chunk_codec_open(struct chunk_codec **out, uint32_t max_bytes, enum chunk_codec_mode mode);
/* NULL is fine. */
void chunk_codec_close(struct chunk_codec *codec);

/*
 * Makes the compressed twin of a chunk that is done and not compressed; it is unlinked, and the
 * caller's. 0; -ENOSPC: stored_bytes would not fall by at least an eighth, or the chunk is larger
 * than the codec is for; -ENOMEM.
 */
int chunk_compress(struct chunk_codec *codec, const struct chunk *done, struct chunk **out);

/*
 * Writes the bytes [0, offset_past_last_block) of the chunk that `compressed` stands for, and
 * nothing beyond. Does not allocate. 0, or -EBADMSG: damaged, and `out` is in parts written.
 */
int chunk_expand(struct chunk_codec *codec, const struct chunk *compressed, uint8_t *out);

#endif
