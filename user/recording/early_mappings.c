/* SPDX-License-Identifier: BSD-2-Clause */
/* early_mappings.c - see early_mappings.h. */
#include "recording/early_mappings.h"

#include "recording/expire.h"
#include "target/address_space.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

struct early_mappings {
	uint32_t tgid;
	bool out_of_memory;
	uint64_t since_ns;
	struct address_space space;
	UT_hash_handle hh;
};

static struct early_mappings *find(struct early_mappings *table, uint32_t tgid)
{
	struct early_mappings *image;

	HASH_FIND(hh, table, &tgid, sizeof(tgid), image);
	return image;
}

static void drop(struct early_mappings **table, struct early_mappings *image)
{
	HASH_DEL(*table, image);
	address_space_clear(&image->space);
	free(image);
}

int early_mappings_begin(struct early_mappings **table, uint32_t tgid, uint64_t time_ns)
{
	struct early_mappings *image = find(*table, tgid);

	if (image) {
		address_space_clear(&image->space);
		image->since_ns = time_ns;
		return 0;
	}
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->tgid = tgid;
	image->since_ns = time_ns;
	HASH_ADD(hh, *table, tgid, sizeof(image->tgid), image);
	if (!image->out_of_memory)
		return 0;
	free(image);
	return -ENOMEM;
}

struct address_space *early_mappings_space(struct early_mappings *table, uint32_t tgid)
{
	struct early_mappings *image = find(table, tgid);

	return image ? &image->space : NULL;
}

bool early_mappings_take(struct early_mappings **table, uint32_t tgid, struct address_space *space)
{
	struct early_mappings *image = find(*table, tgid);

	if (!image)
		return false;
	address_space_clear(space);
	*space = image->space;
	image->space = (struct address_space){0};
	drop(table, image);
	return true;
}

void early_mappings_drop(struct early_mappings **table, uint32_t tgid)
{
	struct early_mappings *image = find(*table, tgid);

	if (image)
		drop(table, image);
}

void early_mappings_expire(struct early_mappings **table, uint64_t settled_ns, uint64_t round)
{
	struct early_mappings *image, *next;

	HASH_ITER (hh, *table, image, next) {
		/* Its exec event was lost, or it was a stranger with a pid that had been a target's. */
		if (image->since_ns < settled_ns)
			drop(table, image);
		else
			expire_mark(&image->space, round);
	}
}

size_t early_mappings_bytes(const struct early_mappings *table)
{
	size_t bytes = 0;

	for (; table; table = table->hh.next)
		bytes += sizeof(*table) + address_space_bytes(&table->space);
	return bytes;
}

void early_mappings_clear(struct early_mappings **table)
{
	struct early_mappings *image, *next;

	HASH_ITER (hh, *table, image, next)
		drop(table, image);
}
