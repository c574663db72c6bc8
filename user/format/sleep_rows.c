/* SPDX-License-Identifier: BSD-2-Clause */
/* sleep_rows.c - see sleep_rows.h. Buffers are read for it, if there are sleeps in them: a profile is written in one go. */
#include "format/sleep_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cancel.h"
#include "buffer/profile_buffer.h"
#include "profile/profile.h"
#include "recording/recording.h"
#include "target/process.h"

struct counting {
	struct cancel *cancel;
	uint64_t intervals;
};

static int on_restart(void *context)
{
	(void)context;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	(void)context, (void)node, (void)prefix, (void)frame;
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct counting *counting = context;

	if (cancel_tick(counting->cancel))
		return -EINTR;
	if (sample->event == GB_EVENT_SLEEP && sample->weight > 2 &&
	    sample->weight <= PROFILE_SLEEP_MAX)
		counting->intervals += (uint64_t)sample->weight - 1;
	return 0;
}

static int count_process(struct counting *counting, const struct process *process)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart, .node = on_node, .sample = on_sample};

	return process->buffer ? profile_buffer_read(process->buffer, &visitor, counting) : 0;
}

static bool has_sleeps(const struct recording_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (!strcmp(facts->log[i].name, RECORDING_SLEEP_STACKS))
			return true;
	return false;
}

static int count_input(struct counting *counting, const struct profile_input *input)
{
	struct processes *processes = input->recording.processes;
	size_t i;
	int err = 0;

	if (!has_sleeps(input->recording.facts))
		return 0;
	for (i = 0; i < processes_count(processes) && !err; i++)
		err = count_process(counting, processes_at(processes, i));
	return err;
}

int sleep_rows_plan(const struct profile_input *input, uint64_t most, uint64_t *intervals)
{
	struct counting counting = {.cancel = input->cancel};
	int err = 0;

	for (; input && !err; input = input->next)
		err = count_input(&counting, input);
	*intervals = counting.intervals / most + 1;
	return err;
}
