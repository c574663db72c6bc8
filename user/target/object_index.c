/* SPDX-License-Identifier: BSD-2-Clause */
/* object_index.c - see object_index.h. */
#include "target/object_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

#define ALLOCATION_BYTES 16 /* what the allocator needs for itself, and rounds up to, on average */

struct object_ref {
	struct object *object;
	bool out_of_memory;
	UT_hash_handle hh;
	char key[];
};

void object_key_add(struct object_key *key, const void *data, size_t bytes)
{
	const size_t left = sizeof(key->data) - key->bytes;

	memcpy(key->data + key->bytes, data, bytes < left ? bytes : left);
	key->bytes += bytes < left ? bytes : left;
}

static struct object_ref *find(const struct object_index *index, const struct object_key *key)
{
	struct object_ref *ref;

	HASH_FIND(hh, index->first, key->data, key->bytes, ref);
	return ref;
}

static void remove_ref(struct object_index *index, struct object_ref *ref)
{
	index->count--;
	index->key_bytes -= ref->hh.keylen;
	HASH_DEL(index->first, ref);
	free(ref);
}

void object_index_clear(struct object_index *index)
{
	struct object_ref *ref, *next;

	HASH_ITER (hh, index->first, ref, next)
		remove_ref(index, ref);
}

struct object *object_index_find(const struct object_index *index, const struct object_key *key)
{
	const struct object_ref *ref = find(index, key);

	return ref ? ref->object : NULL;
}

int object_index_add(struct object_index *index, const struct object_key *key,
		     struct object *object)
{
	struct object_ref *ref = calloc(1, sizeof(*ref) + key->bytes);

	if (!ref)
		return -ENOMEM;
	memcpy(ref->key, key->data, key->bytes);
	ref->object = object;
	HASH_ADD(hh, index->first, key, key->bytes, ref);
	if (ref->out_of_memory) {
		free(ref);
		return -ENOMEM;
	}
	index->count++;
	index->key_bytes += key->bytes;
	return 0;
}

void object_index_set(struct object_index *index, const struct object_key *key,
		      struct object *object)
{
	struct object_ref *ref = find(index, key);

	if (ref && object)
		ref->object = object;
	else if (ref)
		remove_ref(index, ref);
}

void object_index_sweep(struct object_index *index, bool (*goes)(const struct object *object))
{
	struct object_ref *ref, *next;

	HASH_ITER (hh, index->first, ref, next)
		if (goes(ref->object))
			remove_ref(index, ref);
}

size_t object_index_bytes(const struct object_index *index)
{
	const size_t buckets = index->first ? index->first->hh.tbl->num_buckets : 0;

	return buckets * sizeof(UT_hash_bucket) + index->key_bytes +
	       index->count * (sizeof(struct object_ref) + ALLOCATION_BYTES);
}
