/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_order.h - which file is compiled next: one that a stack waits for, else the one that came first, which is the
 * order in which programs map them. One parser leaves large files to the others as long as there are smaller ones.
 */
#ifndef GECKOBPF_CAPTURE_COMPILE_ORDER_H
#define GECKOBPF_CAPTURE_COMPILE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a file that takes long, and the parser that takes such files last. */
#define COMPILE_LARGE_BYTES (16u << 20)
#define COMPILE_LIGHT_WORKER 1

struct compile_turn {
	uint64_t bytes; /* of the file */
	bool is_hurried; /* a stack waits for it */
};

/* Lower ranks go first; of one rank, who came first. */
static inline unsigned int compile_rank(const struct compile_turn *turn, size_t worker)
{
	if (turn->is_hurried)
		return 0;
	return worker == COMPILE_LIGHT_WORKER && turn->bytes >= COMPILE_LARGE_BYTES ? 2 : 1;
}

#endif
