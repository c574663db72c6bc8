/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_order.h - which file is compiled next: one that a stack waits for, else the one that was mapped first, which is
 * what programs begin with. One parser leaves large files to the others as long as there are smaller ones.
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
	uint64_t mapped_ns;
	bool is_hurried; /* a stack waits for it */
};

static inline unsigned int compile_rank(const struct compile_turn *turn, size_t worker)
{
	if (turn->is_hurried)
		return 0;
	return worker == COMPILE_LIGHT_WORKER && turn->bytes >= COMPILE_LARGE_BYTES ? 2 : 1;
}

/* Whether `a` goes before `b`. */
static inline bool compile_before(const struct compile_turn *a, const struct compile_turn *b,
				  size_t worker)
{
	const unsigned int rank = compile_rank(a, worker), other = compile_rank(b, worker);

	return rank != other ? rank < other : a->mapped_ns < b->mapped_ns;
}

#endif
