/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proto.h - fields of a protobuf message, appended to a packer. Its first error stays in it.
 *
 *   number    field << 3 | 0 | value                 all ULEB128
 *   bytes     field << 3 | 2 | length | the bytes    a text, a message, a packed list of numbers
 */
#ifndef GECKOBPF_FORMAT_PROTO_H
#define GECKOBPF_FORMAT_PROTO_H

#include <stddef.h>
#include <stdint.h>

struct packer;

/* Nothing for 0, which is what a field that is missing means. */
void proto_number(struct packer *out, unsigned int field, uint64_t value);
void proto_bytes(struct packer *out, unsigned int field, const void *bytes, size_t size);
/* What is in `part`, even nothing, as one field; then empties it, keeping its memory. */
void proto_part(struct packer *out, unsigned int field, struct packer *part);

#endif
