/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late_devices.h - file systems that did not answer in time are not asked again for a while, which doubles each time: a
 * second to 17 minutes.
 */
#ifndef GECKOBPF_READER_LATE_DEVICES_H
#define GECKOBPF_READER_LATE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define LATE_DEVICES 32 /* those that were late last */
#define LATE_FIRST_NS NS_PER_SEC
#define LATE_MAX_DOUBLINGS 10

/* Zero-initialised: none was late. */
struct late_devices {
	struct {
		uint64_t device, until_ns;
		uint32_t doublings;
		bool is_used;
	} items[LATE_DEVICES];
	uint32_t next;
};

static inline bool late_devices_has(const struct late_devices *late, uint64_t device,
				    uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < LATE_DEVICES; i++)
		if (late->items[i].is_used && late->items[i].device == device &&
		    now_ns < late->items[i].until_ns)
			return true;
	return false;
}

/* It was late now. */
static inline void late_devices_add(struct late_devices *late, uint64_t device, uint64_t now_ns)
{
	uint32_t i = 0;

	while (i < LATE_DEVICES && !(late->items[i].is_used && late->items[i].device == device))
		i++;
	if (i == LATE_DEVICES) {
		i = late->next++ % LATE_DEVICES;
		late->items[i].device = device;
		late->items[i].doublings = 0;
		late->items[i].is_used = true;
	} else if (late->items[i].doublings < LATE_MAX_DOUBLINGS) {
		late->items[i].doublings++;
	}
	late->items[i].until_ns = now_ns + (LATE_FIRST_NS << late->items[i].doublings);
}

#endif
