/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_records.c - any bytes as a stream of records, and then what came of them is read as the profile writer reads it.
 *
 * The stream is cut by the sizes in it; a size that makes no sense takes the rest. (/proc is not asked.) Paths that might be
 * opened on this machine are replaced.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "recording/map_records.h"
#include "recording/records.h"
#include "target/object.h"
#include "target/process.h"

#define BUFFER_BYTES (256 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct room {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
};

static int open_room(struct room *room)
{
	return processes_open(&room->processes) || objects_open(&room->objects, 0) ||
	       profile_memory_open(&room->memory,
				   &(struct profile_memory_config){.max_bytes = BUFFER_BYTES,
								   .cache_bytes = 1 << 16}) ||
	       records_open(&room->records, &(struct records_config){.processes = room->processes,
								     .objects = room->objects,
								     .memory = room->memory,
								     .all = true});
}

static void close_room(struct room *room)
{
	size_t i;

	records_close(room->records);
	for (i = 0; room->processes && i < processes_count(room->processes); i++)
		profile_buffer_close(processes_at(room->processes, i)->buffer);
	processes_close(room->processes);
	objects_close(room->objects);
	profile_memory_close(room->memory);
}

/* Takes one record off the stream; how many bytes it was. */
static size_t apply_next(struct room *room, const uint8_t *data, size_t left)
{
	struct gb_record header;
	size_t size = left;
	char *record;

	if (left >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		if (header.size >= sizeof(header) && header.size < left)
			size = header.size;
	}
	record = malloc(size); /* aligned, and exactly as long as it is */
	if (!record)
		abort();
	memcpy(record, data, size);
	if (size > sizeof(struct map_record) && record[sizeof(struct map_record)] == '/')
		record[sizeof(struct map_record)] = '[';
	records_apply(room->records, record, size);
	free(record);
	return size;
}

static int ignore_restart(void *context)
{
	return 0;
}

static int ignore_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static int check_sample(void *context, const struct sample_view *sample)
{
	const struct process *process = context;

	if (sample->thread >= process->threads.count)
		abort();
	(void)address_space_find(&process->space, sample->cpu_ns, sample->time_ns);
	return 0;
}

static void check_space(const struct address_space *space)
{
	struct mapping_list list = {0};
	size_t i;

	if (address_space_list(space, 0, &list))
		abort();
	for (i = 1; i < list.count; i++)
		if (list.items[i].mapping.from_ns < list.items[i - 1].mapping.from_ns)
			abort();
	free(list.items);
}

static void check_process(const struct room *room, size_t number)
{
	static const struct profile_visitor visitor = {ignore_restart, ignore_node, check_sample,
						       NULL};
	struct process *process = processes_at(room->processes, number);
	size_t i;

	if (process->number != number ||
	    (process->previous && process->previous->tgid != process->tgid))
		abort();
	for (i = 0; i < process->threads.count; i++)
		if (process->threads.items[i]->number != i ||
		    process->threads.items[i]->process != process)
			abort();
	check_space(&process->space);
	if (process->buffer && (profile_buffer_read(process->buffer, &visitor, process) ||
				profile_buffer_get_state(process->buffer).damaged))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct room room = {0};
	size_t i;

	if (open_room(&room))
		abort();
	while (size) {
		size_t taken = apply_next(&room, data, size);

		data += taken;
		size -= taken;
	}
	for (i = 0; i < processes_count(room.processes); i++)
		check_process(&room, i);
	if (records_counts(room.records)->live_processes > processes_count(room.processes))
		abort();
	close_room(&room);
	return 0;
}
