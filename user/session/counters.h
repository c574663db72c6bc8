/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h - what a recording counted, in all rooms: for the summary and for the profilingLog.
 *
 *   kernel_side, records, sideband, publisher, buffer ── collect ──> struct counters ── log ──> facts, by name
 */
#ifndef GECKOBPF_SESSION_COUNTERS_H
#define GECKOBPF_SESSION_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/profile_memory.h"
#include "capture/drain.h"
#include "capture/publish.h"
#include "geckobpf_abi.h"
#include "recording/losses.h"
#include "recording/records.h"
#include "target/process.h"

struct fact_list;
struct session;
struct sources;

#define COUNTERS_MOST_OVERWRITTEN 3

/* A process, and how many of its samples made room for later ones. */
struct overwritten_process {
	char name[THREAD_NAME_BYTES];
	uint32_t tgid;
	uint64_t samples;
};

struct counters {
	const struct sources *sources; /* borrowed: they name some of those in `kernel` */
	/* As each room counts. */
	uint64_t kernel[GB_STAT_COUNT];
	uint64_t samples_lost_recursion,
		events_lost_recursion; /* runs of BPF programs that the kernel skipped */
	uint64_t bpf_ns; /* that all programs took; 0: kernel.bpf_stats_enabled is 0 */
	uint64_t
		ticks_missed_other; /* for no fault of ours, and not by the kernel's limit of samples */
	uint64_t stolen_ns; /* a hypervisor took from all CPUs meanwhile */
	uint32_t max_rate_hz; /* kernel.perf_event_max_sample_rate at the end; 0: not known */
	struct records_counts records;
	uint64_t records_lost_memory; /* there, and on the way to it */
	struct drain_left_out left_out; /* at the end, for taking it took too long */
	uint64_t behind_ns; /* how far from the end the earliest of it was */
	uint64_t mappings_lost; /* the ring of the side-band was full */
	uint64_t files_late; /* that could not be opened in time */
	struct publisher_stats tables;
	struct profile_memory_stats memory;
	uint64_t buffer_bytes, used_bytes; /* of the buffer; and what of it holds entries */
	uint64_t ring_bytes;
	uint64_t rate_hz;
	struct {
		uint64_t bytes, cpu_ns; /* 0, 0: there is no stream */
		uint64_t damaged; /* samples that the buffer had, but could not be read */
	} stream;

	/* What it comes to. */
	uint64_t lost; /* samples that were taken, or should have been, and are not in the buffer */
	uint64_t events_lost; /* names, mappings and threads may be missing */
	uint64_t
		overwritten; /* samples that made room for later ones, or were forgotten with their processes */
	struct overwritten_process most_overwritten
		[COUNTERS_MOST_OVERWRITTEN]; /* the worst first; samples 0: no more */
	uint64_t from_ns, end_ns; /* whatever was sampled between them is in the buffer */
	bool is_ring; /* that samples are overwritten is intended */
};

/* As of now. */
void counters_collect(const struct session *session, struct counters *out);

/* Of all that, only what was lost: a few system calls. */
void counters_collect_losses(const struct session *session, struct counters *out);

/* How many were lost for each cause. Of LOSS_STREAM only the stream knows. */
void counters_losses(const struct counters *counters, uint64_t counts[LOSS_CAUSE_COUNT]);

/* Adds them to the log, by name. */
void counters_log(const struct counters *counters, struct fact_list *log);

#endif
