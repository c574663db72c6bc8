/* SPDX-License-Identifier: BSD-2-Clause */
/* table_image.h - an unwind table as one piece of memory that another process has made, and is not believed. */
#ifndef GECKOBPF_SERVICE_TABLE_IMAGE_H
#define GECKOBPF_SERVICE_TABLE_IMAGE_H

#include "unwind/table.h"

/* Of libraries of 100 MB some 10 MB are. */
#define TABLE_IMAGE_MAX_BYTES ((size_t)128 << 20)

/* A descriptor of a sealed file (reader/sealed.h) with the table; -E2BIG: it is too large; -errno. */
int table_image_make(const struct unwind_table *table);

/*
 * Fills in *table, whose arrays are those at `image`, which is 8-aligned and does not change; it is not to be closed. All
 * of its indexes and rules are such as the unwinder may use. 0, or -EBADMSG: they are not.
 */
int table_image_read(const void *image, size_t bytes, struct unwind_table *table);

#endif
