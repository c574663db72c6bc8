/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_manager_single.h - a chunk manager that has one chunk and never more: for one short
 * capture.
 *
 * The chunk is lent once. When it was released nothing else can be put, and what is in it stays
 * until the chunk is reclaimed (by a buffer that is cleared), taken, or the manager reset. Nothing
 * is ever destroyed or compressed. Requests are answered at once.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_MANAGER_SINGLE_H
#define GECKOBPF_BUFFER_CHUNK_MANAGER_SINGLE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer/chunk_manager.h"

/* With a chunk of at least `chunk_bytes`. 0 or -ENOMEM. chunk_manager_close() closes it. */
int chunk_manager_single_open(struct chunk_manager **out, uint32_t chunk_bytes);

/*
 * What was released is gone and can be lent again; or, if `chunk` is not NULL, this unlinked chunk,
 * done or unused, which is the manager's then and may have another size, instead of the one before.
 * The chunk is not lent.
 */
void chunk_manager_single_reset(struct chunk_manager *manager, struct chunk *chunk);

bool chunk_manager_is_single(const struct chunk_manager *manager);

#endif
