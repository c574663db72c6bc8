/* SPDX-License-Identifier: BSD-2-Clause */
/* proto.c - see proto.h. */
#include "format/proto.h"

#include "base/pack.h"

enum wire_type { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static void put_tag(struct packer *out, unsigned int field, enum wire_type type)
{
	pack_number(out, (uint64_t)field << 3 | type);
}

void proto_number(struct packer *out, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_tag(out, field, WIRE_NUMBER);
	pack_number(out, value);
}

void proto_bytes(struct packer *out, unsigned int field, const void *bytes, size_t size)
{
	put_tag(out, field, WIRE_BYTES);
	pack_number(out, size);
	pack_bytes(out, bytes, size);
}

void proto_part(struct packer *out, unsigned int field, struct packer *part)
{
	if (part->error && !out->error)
		out->error = part->error;
	proto_bytes(out, field, part->items, part->count);
	part->count = 0;
}
