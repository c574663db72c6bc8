/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sealed.h - content that is too long for a message: a file in memory that nobody can change any more, so that what was
 * checked stays as it was, and reading it cannot fail.
 */
#ifndef GECKOBPF_READER_SEALED_H
#define GECKOBPF_READER_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sealed_part {
	const void *data;
	size_t bytes;
};

/* A descriptor of a sealed file with these parts, each at a multiple of 8 bytes, the caller's; -errno. */
int sealed_make(const struct sealed_part *parts, size_t count);

/* How many bytes a part takes. */
static inline size_t sealed_room(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/*
 * The bytes of a file that another process says is sealed, to read; sealed_unmap() them. 0; -EBADMSG: it is not, or has
 * no bytes; -EFBIG: more than `max_bytes`; -errno. `fd` is not needed afterwards.
 */
int sealed_map(int fd, size_t max_bytes, const void **data, size_t *bytes);
void sealed_unmap(const void *data, size_t bytes);

/* Whether it is a file in memory, sealed, that takes at most so much; nothing of it is read. */
bool sealed_takes_most(int fd, uint64_t max_bytes);

#endif
