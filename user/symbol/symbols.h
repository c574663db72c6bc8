/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - what code is called, by the providers that know it: see provider.h. One thread at a
 * time.
 */
#ifndef GECKOBPF_SYMBOL_SYMBOLS_H
#define GECKOBPF_SYMBOL_SYMBOLS_H

#include <stdint.h>

#include "symbol/provider.h"

struct symbols;

/* What `sources` points to is borrowed. 0 or -ENOMEM. */
int symbols_open(struct symbols **out, const struct symbol_sources *sources);
void symbols_close(struct symbols *symbols);

/*
 * The place of `address` in `process`, NULL: the kernel. Valid as long as the process's address
 * space does not change.
 */
struct symbol_place symbols_place(const struct process *process, uint64_t address,
				  uint64_t time_ns);

/*
 * The functions at a place, innermost first: what the first provider says that knows it. Where a
 * call is asked for, the address has to be within the call, not where it returns to. 0; -ENOENT: no
 * provider knows it; -ENOMEM.
 */
int symbols_lookup(struct symbols *symbols, const struct symbol_place *place,
		   struct symbol_frames *frames);

#endif
