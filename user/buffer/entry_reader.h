/* SPDX-License-Identifier: BSD-2-Clause */
/* entry_reader.h - what the readers of the kinds of entries share: the bytes of one payload, taken from the front. */
#ifndef GECKOBPF_BUFFER_ENTRY_READER_H
#define GECKOBPF_BUFFER_ENTRY_READER_H

#include <errno.h>
#include <stdint.h>

#include "base/leb128.h"

struct profile_visitor;

/* What is left of one payload, and the visitor that is told what it says. */
struct reader {
	const uint8_t *in, *end;
	const struct profile_visitor *visitor;
	void *context;
};

/* All of these: 0, or -EBADMSG. */
static inline int get_byte(struct reader *reader, uint8_t *value)
{
	if (reader->in == reader->end)
		return -EBADMSG;
	*value = *reader->in++;
	return 0;
}

static inline int get_number(struct reader *reader, uint64_t max, uint64_t *value)
{
	const uint8_t *after = leb128_get(reader->in, reader->end, value);

	if (!after || *value > max)
		return -EBADMSG;
	reader->in = after;
	return 0;
}

/* A difference, to be added modulo 2^64. */
static inline int get_signed(struct reader *reader, uint64_t *value)
{
	int err = get_number(reader, UINT64_MAX, value);

	if (!err)
		*value = (uint64_t)unzigzag(*value);
	return err;
}

#endif
