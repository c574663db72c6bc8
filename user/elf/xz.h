/* SPDX-License-Identifier: BSD-2-Clause */
/* xz.h - unpacks an .xz stream in memory. */
#ifndef GECKOBPF_ELF_XZ_H
#define GECKOBPF_ELF_XZ_H

#include <stddef.h>

/*
 * Unpacks all of `packed` into *data, the caller's to free. 0; -ENOEXEC: not an intact .xz stream;
 * -EFBIG: more than `max_bytes` come out of it; -ENOMEM.
 */
int xz_unpack(const void *packed, size_t packed_bytes, size_t max_bytes, char **data, size_t *size);

#endif
