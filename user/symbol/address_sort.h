/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_sort.h - sorts arrays of any struct that begins with its address (uint64_t).
 *
 * A radix sort, one byte of the address a pass, lowest first. Bytes that are the same in all
 * addresses, which most of a 64-bit address is, cost no pass; neither does an array that is in
 * order already.
 */
#ifndef GECKOBPF_SYMBOL_ADDRESS_SORT_H
#define GECKOBPF_SYMBOL_ADDRESS_SORT_H

#include <stddef.h>

/*
 * Sorts `count` items of `item_bytes` (>= 8) by address; equal ones keep their order. 0, or
 * -ENOMEM, unsorted.
 */
int address_sort(void *items, size_t count, size_t item_bytes);

#endif
