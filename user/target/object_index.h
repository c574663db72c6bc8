/* SPDX-License-Identifier: BSD-2-Clause */
/* object_index.h - from what a file is known by, as bytes, to its object. */
#ifndef GECKOBPF_TARGET_OBJECT_INDEX_H
#define GECKOBPF_TARGET_OBJECT_INDEX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct object;
struct object_ref;

struct object_key {
	size_t bytes; /* set it to 0 to begin */
	char data[PATH_MAX + 256];
};

/* Of what is too long the beginning counts. */
void object_key_add(struct object_key *key, const void *data, size_t bytes);

/* Zero-initialised: empty. */
struct object_index {
	struct object_ref *first;
	size_t count, key_bytes;
};

void object_index_clear(struct object_index *index);

/* NULL: there is none. */
struct object *object_index_find(const struct object_index *index, const struct object_key *key);

/* There is none with that key. 0 or -ENOMEM. */
int object_index_add(struct object_index *index, const struct object_key *key,
		     struct object *object);

/* What has that key is `object` from now on; NULL: there is none any more. */
void object_index_set(struct object_index *index, const struct object_key *key,
		      struct object *object);

/* Takes out those that go. */
void object_index_sweep(struct object_index *index, bool (*goes)(const struct object *object));

/* Memory, about. */
size_t object_index_bytes(const struct object_index *index);

#endif
