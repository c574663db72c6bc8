/* SPDX-License-Identifier: BSD-2-Clause */
/* recording.c - see recording.h. */
#include "recording/recording.h"

#include "buffer/profile_buffer.h"
#include "target/process.h"

uint64_t recording_damaged(const struct processes *processes)
{
	uint64_t damaged = 0;
	size_t i;

	for (i = 0; i < processes_count(processes); i++) {
		const struct process *process = processes_at(processes, i);

		if (process->buffer)
			damaged += profile_buffer_get_state(process->buffer).damaged;
	}
	return damaged;
}
