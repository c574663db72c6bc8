/* SPDX-License-Identifier: BSD-2-Clause */
/* busiest.c - see busiest.h. */
#include "format/busiest.h"

void busiest_add(struct busiest *busiest, uint32_t index, uint64_t cpu_ns)
{
	size_t at = busiest->count;

	while (at && busiest->items[at - 1].cpu_ns < cpu_ns) {
		if (at < BUSIEST_MAX)
			busiest->items[at] = busiest->items[at - 1];
		at--;
	}
	if (!cpu_ns || at == BUSIEST_MAX)
		return;
	busiest->items[at] = (struct busy_thread){cpu_ns, index};
	if (busiest->count < BUSIEST_MAX)
		busiest->count++;
}
