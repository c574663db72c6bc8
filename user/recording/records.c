/* SPDX-License-Identifier: BSD-2-Clause */
/* records.c - see records.h. What each kind of record means is in its own file: record_table.c. */
#include "recording/records.h"

#include "base/array.h"
#include "recording/early_mappings.h"
#include "recording/records_state.h"
#include "target/object.h"
#include "target/address_space.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>

int records_open(struct records **out, const struct records_config *config)
{
	const struct record_kind *const *kind = config->kinds ? config->kinds : record_table;
	struct records *records = calloc(1, sizeof(*records));

	if (!records)
		return -ENOMEM;
	records->config = *config;
	records->most_mappings = MAPPINGS_MAX;
	for (; *kind; kind++)
		records->kinds[(*kind)->kind] = *kind;
	*out = records;
	return 0;
}

void records_close(struct records *records)
{
	if (!records)
		return;
	early_mappings_clear(&records->early_mappings);
	records_drop_held(records);
	free(records->expected.items);
	free(records);
}

const struct records_counts *records_counts(const struct records *records)
{
	return &records->counts;
}

int records_expect(struct records *records, uint32_t tgid)
{
	if (ARRAY_ROOM(&records->expected))
		return -ENOMEM;
	records->expected.items[records->expected.count++] = tgid;
	return 0;
}

void records_listen(struct records *records, const struct records_listener *listener)
{
	records->listener = *listener;
}

void records_tell_changed(struct records *records, struct process *process)
{
	process->is_changed = true;
	if (records->listener.changed)
		records->listener.changed(records->listener.context, process);
}

bool records_is_expected(const struct records *records, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < records->expected.count; i++)
		if (records->expected.items[i] == tgid)
			return true;
	return false;
}

void records_check(struct records *records, int err)
{
	if (err)
		records->counts.no_memory++;
}

/* NULL: not known, or not even a record. */
static const struct record_kind *find_kind(const struct records *records,
					   const struct gb_record *record, size_t size)
{
	if (size < sizeof(*record) || record->size != size || record->kind >= RECORD_KINDS_MAX)
		return NULL;
	return records->kinds[record->kind];
}

enum record_order records_order(const struct records *records, const void *record, size_t size)
{
	const struct record_kind *kind = find_kind(records, record, size);

	return kind ? kind->order : RECORD_AT_ONCE;
}

void records_apply(struct records *records, const void *record, size_t size)
{
	const struct record_kind *kind = find_kind(records, record, size);

	if (kind && size >= kind->min_bytes)
		kind->apply(records, record, size);
	else
		records->counts.bad_records++;
}

void records_limit_space(struct records *records, struct address_space *space)
{
	records_check(records, address_space_limit(space, records->most_mappings));
	records->counts.mappings_left_out += space->left_out;
	space->left_out = 0;
}

void records_limit_mappings(struct records *records, size_t most)
{
	size_t i;

	records->most_mappings = most;
	for (i = 0; i < processes_count(records->config.processes); i++) {
		struct process *process = processes_at(records->config.processes, i);

		if (process->space.count <= most)
			continue;
		records_limit_space(records, &process->space);
		records_tell_changed(records, process);
	}
}

void records_expire(struct records *records, const struct expire_horizon *horizon)
{
	const struct expire_tables tables = {
		.processes = records->config.processes,
		.objects = records->config.objects,
		.keeper = records->listener.keeper,
		.round = address_space_round(),
	};

	records_finish_ended(records); /* a process that goes is in no list */
	early_mappings_expire(&records->early_mappings, horizon->settled_ns, tables.round);
	expire_run(&tables, horizon, &records->counts.expired);
}

size_t records_side_bytes(const struct records *records)
{
	return processes_bytes(records->config.processes) + objects_bytes(records->config.objects) +
	       early_mappings_bytes(records->early_mappings);
}
