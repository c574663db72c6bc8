/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture_files.h - files of raw captures (archive.h), as few recordings as there are clocks.
 *
 *   a.gbpf, b.gbpf, c.gbpf ── heads ──> boots, each sorted by time ── read, merge ──> one archive a boot
 *
 * Memory holds one archive for each boot, and one more while that is merged into its boot's.
 */
#ifndef GECKOBPF_ARCHIVE_CAPTURE_FILES_H
#define GECKOBPF_ARCHIVE_CAPTURE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "archive/archive.h"
#include "recording/recording.h"

struct error;
struct merged_facts;
struct progress;
struct warning_sink;

/* What was recorded during one boot of one machine. */
struct captured_boot {
	struct archive archive;
	struct merged_facts *merged;
	struct recording_facts facts; /* of all its files, with the lead */
};

struct capture_files {
	struct captured_boot *items; /* the earliest first */
	size_t count;
	struct merged_facts *merged;
	const struct recording_facts *whole; /* of all, in the clock of the first boot */
};

/* Progress of capture_files_read() in units of its parent. */
#define CAPTURE_FILES_UNITS(count) (2 * (uint64_t)(count)-1)

/* Reads all of them, at least one. `warnings`, which may be NULL, are told what is missing. 0, or -errno and *error. */
int capture_files_read(struct capture_files *out, const char *const *paths, size_t count,
		       struct progress *progress, const struct warning_sink *warnings,
		       struct error *error);
/* A zeroed one is fine. */
void capture_files_close(struct capture_files *captures);

#endif
