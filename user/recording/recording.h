/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - a recording as data: what was recorded, and what it says of itself.
 *
 *   records.h ──> processes, objects (user/target), samples (user/buffer) ──> user/profile, user/archive
 *
 * Times are CLOCK_MONOTONIC nanoseconds of the machine that recorded.
 */
#ifndef GECKOBPF_RECORDING_RECORDING_H
#define GECKOBPF_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loss;
struct objects;
struct processes;

/* Facts that the front-end has a place for: how much memory the machine has; what it is. */
#define RECORDING_MAIN_MEMORY "main_memory_bytes"
#define RECORDING_SLEEP_STACKS                                                                     \
	"sleep_stacks" /* text: how they were taken; there if sleeps are recorded */
#define RECORDING_DEVICE "device"
/*
 * And what it cost: the time in which samples were made; that of one, in the mean of the least and of the most expensive
 * second; CPU time and memory of the recorder.
 */
#define RECORDING_COST_SAMPLES "cost_samples_ns"
#define RECORDING_COST_LEAST "cost_a_sample_least_ns"
#define RECORDING_COST_MOST "cost_a_sample_most_ns"
#define RECORDING_COST_CPU "cost_recorder_cpu_ns"
#define RECORDING_COST_MEMORY "cost_recorder_peak_bytes"

/* A name and a number, or a text, for the profilingLog. */
struct recording_fact {
	const char *name;
	uint64_t value;
	const char *text; /* borrowed, any bytes; NULL: the number counts */
};

struct time_range {
	uint64_t start_ns, end_ns; /* end 0: it lasts */
};

struct recording_facts;

/* One of the recordings that the profile was made of. */
struct recording_part {
	const char *name; /* of its file; no two have the same, nor "geckobpf" */
	const struct recording_facts *facts;
};

/*
 * Everything the profile says that is not a sample. Strings are borrowed, any bytes; NULL: not
 * known.
 */
struct recording_facts {
	const char *product; /* what was profiled: the profile's title */
	const char *version; /* geckobpf's */
	const char *oscpu; /* "Linux 6.18.44 x86_64" */
	const char *cpu_name;
	uint32_t physical_cpus, logical_cpus;
	uint64_t start_real_ns; /* CLOCK_REALTIME when CLOCK_MONOTONIC was start_ns */
	uint64_t start_ns; /* time 0 of the profile; samples before it are left out */
	uint64_t end_ns; /* when it ended */
	uint64_t until_ns; /* samples after it are left out; 0: none */
	/* Sampling began before start_ns, but what it gave was overwritten: threads have no CPU time to begin with. */
	bool is_cut;
	const struct time_range *pauses; /* in which no samples were taken */
	size_t pause_count;
	const struct loss *losses; /* see losses.h */
	size_t loss_count;
	uint64_t interval_ns;
	uint64_t buffer_bytes; /* the limit of the profile buffer */
	double duration_s; /* asked for; 0: none */
	/* configuration.threads: what was asked for ("pid:42", "*"), NULL-terminated */
	const char *const *threads;
	const char *const *features; /* configuration.features, NULL-terminated */
	const struct recording_fact *log; /* counters and settings, for the profilingLog */
	size_t log_count;
	size_t include_args; /* how many arguments of a command line go into the process name */
	uint32_t writer_pid; /* the process that wrote the profile, for the profileGatheringLog */
	/*
	 * Tells the machine's clock and process ids from others: as in /proc/sys/kernel/random/boot_id. NULL: not
	 * known.
	 */
	const char *boot_id;
	/* When it began: names the recording among those of its boot; 0: not known. */
	uint64_t began_ns;
	/* How long start_ns is after the profile's time 0; 0 unless the profile is of recordings of several clocks. */
	uint64_t lead_ns;
	const struct recording_part
		*parts; /* what each recording says for itself, for the profilingLog */
	size_t part_count;
};

/* A recording of one clock, to be read. All is borrowed. */
struct recording {
	const struct recording_facts *facts;
	struct processes *processes;
	struct objects *objects;
};

/* Samples that the last walks over the processes' buffers could not read. */
uint64_t recording_damaged(const struct processes *processes);

#endif
