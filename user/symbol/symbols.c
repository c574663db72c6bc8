/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.c - see symbols.h. */
#include "symbol/symbols.h"
#include "target/address_space.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>

static const struct symbol_provider *const providers[] = {
	&elf_provider,
	&kernel_provider,
};

#define PROVIDER_COUNT (sizeof(providers) / sizeof(providers[0]))

struct symbols {
	struct {
		void *state;
		int err; /* what came of opening it */
	} opened[PROVIDER_COUNT];
};

int symbols_open(struct symbols **out, const struct symbol_sources *sources)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	int err = symbols ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; symbols && i < PROVIDER_COUNT; i++)
		symbols->opened[i].err = -ENOENT;
	for (i = 0; i < PROVIDER_COUNT && err != -ENOMEM; i++)
		err = symbols->opened[i].err =
			providers[i]->open(&symbols->opened[i].state, sources);
	if (err == -ENOMEM) {
		symbols_close(symbols);
		return err;
	}
	*out = symbols;
	return 0;
}

void symbols_close(struct symbols *symbols)
{
	size_t i;

	if (!symbols)
		return;
	for (i = 0; i < PROVIDER_COUNT; i++)
		if (!symbols->opened[i].err && providers[i]->close)
			providers[i]->close(symbols->opened[i].state);
	free(symbols);
}

struct symbol_place symbols_place(const struct process *process, uint64_t address, uint64_t time_ns)
{
	struct symbol_place place = {
		.process = process,
		.time_ns = time_ns,
		.address = address,
	};

	if (process)
		place.mapping = address_space_find(&process->space, address, time_ns);
	if (place.mapping)
		place.offset = place.mapping->offset + (address - place.mapping->start);
	return place;
}

int symbols_lookup(struct symbols *symbols, const struct symbol_place *place,
		   struct symbol_frames *frames)
{
	size_t i;
	int err;

	frames->count = 0;
	for (i = 0; i < PROVIDER_COUNT; i++) {
		if (symbols->opened[i].err)
			continue;
		err = providers[i]->lookup(symbols->opened[i].state, place, frames);
		if (!err || err == -ENOMEM)
			return err;
	}
	return -ENOENT;
}
