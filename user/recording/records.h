/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - what the records mean: processes and threads come and go, code is mapped, samples are put into buffers.
 *
 *   drain ──> records ──> target (who, where)
 *                  └────> buffer (samples)
 *
 * Task and map records are to be applied in the order of their times; samples may be applied at any moment, since they
 * name their thread completely. Knows nothing of libbpf: a stream of records from a file does as well.
 */
#ifndef GECKOBPF_RECORDING_RECORDS_H
#define GECKOBPF_RECORDING_RECORDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/expire.h"
#include "geckobpf_abi.h"
#include "elf/build_id.h"

struct profile_memory;
struct objects;
struct process;
struct processes;
struct records;

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

struct records_config {
	struct processes *processes; /* all three borrowed */
	struct objects *objects;
	struct profile_memory *memory;
	uint64_t period_ns; /* of the samples */
	bool all; /* every process is wanted, not only those known or expected */
	bool use_proc; /* ask /proc for what records do not tell; false when replaying a file */
};

/* Who wants to know that a process's mappings changed, or that it ended; and makes samples of raw ones. */
struct records_listener {
	void (*changed)(void *context, struct process *process);
	void (*unwind)(void *context, const struct process *process, const struct gb_sample *raw,
		       struct gb_sample *out); /* see publisher_unwind() */
	void *context;
	struct expire_keeper keeper;
};

struct records_counts {
	uint64_t samples; /* put into buffers */
	uint64_t bad_records; /* too short, of unknown kind, or inconsistent */
	uint64_t put_failed; /* samples refused by the profile buffer */
	uint64_t no_memory; /* events lost because memory was out */
	uint64_t live_processes; /* seen and not yet gone */
	struct expire_counts expired; /* forgotten, to save memory */
};

int records_open(struct records **out, const struct records_config *config);
void records_close(struct records *records);

/* At most one listener. */
void records_listen(struct records *records, const struct records_listener *listener);

/* A process that the user asked for: it is marked is_root, and its maps are kept although no record named it yet. */
int records_expect(struct records *records, uint32_t tgid);

/* Takes a record of `size` bytes. Never fails: what cannot be used is counted. */
void records_apply(struct records *records, const void *record, size_t size);

/* Takes from processes that have ended what their buffers no longer need; once in a while, when no sample of theirs is under way. */
void records_finish_ended(struct records *records);

/*
 * A roll call, for those whose exit was lost: after records_call_roll() every thread there is is told (GB_TASK_SEEN), then who was
 * not told ended at `time_ns`.
 */
void records_call_roll(struct records *records);
void records_end_roll(struct records *records, uint64_t time_ns);

/* Finishes those that have ended, and forgets what is before the horizon (expire.h). */
void records_expire(struct records *records, const struct expire_horizon *horizon);

/* Memory of processes, threads, mappings and files, about; looks at each of them. */
size_t records_side_bytes(const struct records *records);

const struct records_counts *records_counts(const struct records *records);

#endif
