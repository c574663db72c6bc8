/* SPDX-License-Identifier: BSD-2-Clause */
/* fde_order.h - the functions of a file in the order of their addresses. */
#ifndef GECKOBPF_UNWIND_FDE_ORDER_H
#define GECKOBPF_UNWIND_FDE_ORDER_H

#include "unwind/eh_frame.h"

/*
 * Sorts the functions by their starts; those with equal starts stay in the order of the file.
 * *order, the caller's to free, has one word for each: fde_order_index() of it is an index of
 * frame->fdes. 0 or -ENOMEM.
 */
int fde_order_make(const struct eh_frame *frame, uint64_t **order);

static inline uint32_t fde_order_index(uint64_t word)
{
	return (uint32_t)word;
}

#endif
