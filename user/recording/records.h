/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.h - what the records mean: processes and threads come and go, code is mapped, samples are put into buffers.
 *
 *   drain ──> records ──> target (processes, mappings)
 *                  └────> buffer (samples)
 *
 * When a record may be applied is said by records_order(). Knows nothing of libbpf: a stream of records from a file
 * does as well, one after the other as they were applied. Each kind of record is a row in record_table.c.
 */
#ifndef GECKOBPF_RECORDING_RECORDS_H
#define GECKOBPF_RECORDING_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/expire.h"
#include "recording/record_kind.h"

struct gb_sample;
struct profile_memory;
struct objects;
struct process;
struct processes;
struct records;

struct records_config {
	struct processes *processes; /* all three borrowed */
	struct objects *objects;
	struct profile_memory *memory;
	uint64_t period_ns; /* of the samples */
	bool all; /* every process is wanted, not only those known or expected */
	const struct record_kind *const *kinds; /* ends with NULL; NULL: all there are */
	bool use_proc; /* ask /proc for what records do not tell; false when replaying a file */
};

/* Is told that a process's mappings changed, or that it ended; and makes ordinary samples of raw ones. */
struct records_listener {
	void (*changed)(void *context, struct process *process);
	/* False: *out will be better once `*awaited` is not awaited any more: see publisher_unwind() */
	bool (*unwind)(void *context, const struct process *process, const struct gb_sample *raw,
		       struct gb_sample *out, uint32_t *awaited);
	bool (*is_awaited)(void *context, uint32_t file);
	void *context;
	struct expire_keeper keeper;
};

struct records_counts {
	uint64_t samples; /* put into buffers */
	uint64_t bad_records; /* too short, of unknown kind, or inconsistent */
	uint64_t put_failed; /* samples for which there was no memory, or no room in the buffer */
	uint64_t counters_lost; /* values of counters refused by the profile buffer */
	uint64_t no_memory; /* events lost because memory was out */
	uint64_t live_processes; /* seen and not yet gone */
	struct expire_counts expired; /* forgotten, to save memory */
	uint64_t
		mappings_left_out; /* forgotten though they may be needed: their process had too many */
};

/* What `config` points to is borrowed. 0 or -ENOMEM. */
int records_open(struct records **out, const struct records_config *config);
void records_close(struct records *records);

/* At most one listener. */
void records_listen(struct records *records, const struct records_listener *listener);

/*
 * A process that the user asked for: it is marked is_root, and its mappings are kept although no record
 * named it yet. 0 or -ENOMEM.
 */
int records_expect(struct records *records, uint32_t tgid);

/* When a record of `size` bytes may be applied; one that makes no sense is at once. */
enum record_order records_order(const struct records *records, const void *record, size_t size);

/* Takes a record of `size` bytes. Never fails: what cannot be used is counted. */
void records_apply(struct records *records, const void *record, size_t size);

/*
 * Takes the samples that have waited for unwind tables and do so no more, or (`all`) every one as it is; once in a while.
 * Whether there are any that wait. None waits long: recording/held_samples.c.
 */
void records_release(struct records *records, bool all);
bool records_hold_samples(const struct records *records);

/*
 * Takes from processes that have ended what their buffers no longer need; once in a while, when no sample of theirs is
 * under way.
 */
void records_finish_ended(struct records *records);

/*
 * A roll call finds threads and processes whose exit was lost: records_call_roll(), then a record of each thread that
 * exists (GB_TASK_SEEN), then records_end_roll(): what none of these records named ended at `time_ns`.
 */
void records_call_roll(struct records *records);
void records_end_roll(struct records *records, uint64_t time_ns);

/* A process may have so many mappings from now on; MAPPINGS_MAX at first. */
#define MAPPINGS_MAX 65536
void records_limit_mappings(struct records *records, size_t most);

/* Finishes those that have ended, and forgets what is before the horizon (expire.h). */
void records_expire(struct records *records, const struct expire_horizon *horizon);

/* Memory of processes, threads, mappings and files, about; looks at each of them. */
size_t records_side_bytes(const struct records *records);

const struct records_counts *records_counts(const struct records *records);

#endif
