/* SPDX-License-Identifier: BSD-2-Clause */
/* map_records.c - see map_records.h. */
#include "recording/map_records.h"

#include "recording/early_mappings.h"
#include "recording/records_state.h"
#include "target/object.h"
#include "target/process.h"

static bool is_wanted(const struct records *records, uint32_t tgid)
{
	return records->config.all || processes_latest(records->config.processes, tgid) ||
	       records_is_expected(records, tgid);
}

static void apply_image(struct records *records, const void *record, size_t size)
{
	const struct map_record *map = record;

	if (early_mappings_space(records->early_mappings, map->tgid) ||
	    is_wanted(records, map->tgid))
		records_check(records, early_mappings_begin(&records->early_mappings, map->tgid,
							    map->hdr.time_ns));
}

static int add_mapping(struct records *records, const struct map_record *map,
		       struct address_space *space)
{
	struct mapping mapping = {.start = map->start,
				  .end = map->end,
				  .offset = map->offset,
				  .from_ns = map->hdr.time_ns};
	const struct object_sighting sighting = {
		.pid = (pid_t)map->tgid,
		.start = map->start,
		.end = map->end,
		.device = map->device,
		.inode = map->inode,
		.path = map->path,
		.build_id = map->build_id.size ? &map->build_id : NULL,
	};
	int err;

	err = objects_get(records->config.objects, &sighting, &mapping.object);
	if (!err)
		err = address_space_add(space, &mapping);
	records_limit_space(records, space);
	return err;
}

static void apply_map(struct records *records, const void *record, size_t size)
{
	const struct map_record *map = record;
	struct address_space *early = early_mappings_space(records->early_mappings, map->tgid);
	struct process *process = processes_latest(records->config.processes, map->tgid);

	if (map->path[size - sizeof(*map) - 1] || map->start >= map->end ||
	    map->build_id.size > BUILD_ID_MAX_BYTES) {
		records->counts.bad_records++;
		return;
	}
	if (early) {
		records_check(records, add_mapping(records, map, early));
	} else if (process) {
		records_check(records, add_mapping(records, map, &process->space));
		records_tell_changed(records, process);
	}
}

const struct record_kind map_record = {
	.kind = RECORD_MAP,
	.order = RECORD_IN_ORDER,
	.min_bytes = sizeof(struct map_record) + 1,
	.apply = apply_map,
};

const struct record_kind image_record = {
	.kind = RECORD_IMAGE,
	.order = RECORD_IN_ORDER,
	.min_bytes = sizeof(struct map_record),
	.apply = apply_image,
};
