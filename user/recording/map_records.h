/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map_records.h - records of code that is mapped, and of exec, which discards all mappings. They are made in user
 * space, of the kernel's side-band events (capture/sideband.h).
 */
#ifndef GECKOBPF_RECORDING_MAP_RECORDS_H
#define GECKOBPF_RECORDING_MAP_RECORDS_H

#include <linux/types.h>
#include <stdint.h>

#include "geckobpf_abi.h"
#include "elf/build_id.h"

struct record_kind;

/* Kinds that continue enum gb_record_kind. */
enum map_record_kind {
	RECORD_MAP = 3, /* struct map_record: executable code was mapped */
	/* struct map_record: exec discarded all mappings; those that follow are the new image's */
	RECORD_IMAGE = 4,
};

struct map_record {
	struct gb_record hdr; /* size: up to and including the NUL of path */
	uint32_t tgid;
	struct build_id build_id;
	uint8_t pad[7];
	uint64_t start, end; /* addresses */
	uint64_t offset; /* of start in the file */
	uint64_t device, inode; /* 0, 0 if the record has a build id instead */
	char path[];
};

extern const struct record_kind map_record, image_record;

#endif
