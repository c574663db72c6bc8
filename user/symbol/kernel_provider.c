/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_provider.c - names of kernel code from the list that the kernel has of itself. */
#include "symbol/kernel_symbols.h"
#include "symbol/provider.h"

#include <errno.h>

static int open_kernel(void **state, const struct symbol_sources *sources)
{
	*state = (void *)sources->kernel;
	return sources->kernel ? 0 : -ENOENT;
}

static int look_up_kernel(void *state, const struct symbol_place *place,
			  struct symbol_frames *frames)
{
	struct symbol_frame frame = {0};

	if (place->process)
		return -ENOENT;
	frame.name = kernel_symbols_lookup(state, place->address, &frame.module, &frame.start);
	if (!frame.name)
		return -ENOENT;
	frames->items[0] = frame;
	frames->count = 1;
	return 0;
}

const struct symbol_provider kernel_provider = {
	.name = "kernel symbols",
	.open = open_kernel,
	.lookup = look_up_kernel,
};
