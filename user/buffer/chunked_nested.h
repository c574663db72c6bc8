/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunked_nested.h - the blocks of one buffer as a single block of another: a short capture becomes
 * part of a recording.
 *
 *   payload = ULEB128 size | u64 start | size bytes: the blocks | u64 pushed | u64 cleared
 *           | 0                                     nothing: empty, out of session, or no buffer
 *
 * Numbers are little-endian; `start` is the index of the first block, so that indexes stay what
 * they were. Only what lies in one chunk can be nested.
 */
#ifndef GECKOBPF_BUFFER_CHUNKED_NESTED_H
#define GECKOBPF_BUFFER_CHUNKED_NESTED_H

#include <stddef.h>
#include <stdint.h>

struct block_view;
struct chunked_buffer;

/*
 * Puts the blocks of `inner`, which may be NULL and shares no limit with `buffer`, into `buffer` as one block. As
 * chunked_buffer_put(); -EINVAL: they lie in more than one chunk, or are compressed.
 */
int chunked_nested_put(struct chunked_buffer *buffer, const struct chunked_buffer *inner,
		       uint64_t *index);

/*
 * Fills `into`, which is in session and empty, with what a payload holds, and counts as it was
 * counted; if that is nothing, `into` stays as it is. 0; -ENOTCONN: out of session; -EBUSY: not
 * empty; -EBADMSG: the bytes make no sense; -ENOSPC, -ENOMEM: no chunk that is large enough.
 */
int chunked_nested_read(const uint8_t *payload, size_t size, struct chunked_buffer *into);

#endif
