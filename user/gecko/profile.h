/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - a recording becomes a Gecko profile, version 36, in one pass over each process's
 * buffer.
 *
 *   profile_write ── for each process: thread_stream per thread <── profile_buffer_read
 *        │                 rows of samples and stacks as JSON in spools; unique stacks, frames and strings by number
 *        └──> json ──> output
 *
 * Memory holds one process's tables and a bounded part of its rows; it does not grow with the
 * size of the JSON.
 */
#ifndef GECKOBPF_GECKO_PROFILE_H
#define GECKOBPF_GECKO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "geckobpf_abi.h"
#include "symbol/symbolizer.h"
#include "target/build_id.h"

struct kernel_symbols;
struct output;
struct processes;
struct progress;
struct objects;
struct stages;

/* A name and a number, or a text, for the profilingLog. */
struct profile_fact {
	const char *name;
	uint64_t value;
	const char *text; /* borrowed, any bytes; NULL: the number counts */
};

struct time_range {
	uint64_t start_ns, end_ns; /* end 0: it lasts */
};

struct profile_facts;

/* One of the recordings that the profile was made of. */
struct profile_part {
	const char *name; /* of its file; no two have the same, nor "geckobpf" */
	const struct profile_facts *facts;
};

/*
 * Everything the profile says that is not a sample. Strings are borrowed, any bytes; NULL: not
 * known.
 */
struct profile_facts {
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
	uint64_t interval_ns;
	uint64_t buffer_bytes; /* the limit of the profile buffer */
	double duration_s; /* asked for; 0: none */
	/* configuration.threads: what was asked for ("pid:42", "*"), NULL-terminated */
	const char *const *threads;
	const char *const *features; /* configuration.features, NULL-terminated */
	const struct profile_fact *log; /* counters and provenance for profilingLog */
	size_t log_count;
	size_t include_args; /* how many arguments of a command line go into the process name */
	uint32_t writer_pid; /* who wrote the profile, for the profileGatheringLog */
	/* Tells the machine's clock and process ids from others: as in /proc/sys/kernel/random/boot_id. NULL: not known. */
	const char *boot_id;
	uint64_t began_ns; /* of the boot: names the recording that this is of; 0: not known */
	/* start_ns is so long after the profile's time 0: of a recording that others of another clock come with. */
	uint64_t lead_ns;
	const struct profile_part
		*parts; /* what each recording says for itself, for the profilingLog */
	size_t part_count;
};

struct profile_input {
	const struct profile_facts *facts;
	struct processes *processes;
	struct objects *objects;
	struct symbolizer *symbolizer; /* NULL: write addresses, to be symbolized later */
	const struct kernel_symbols *kernel; /* NULL: kernel frames stay addresses */
	struct progress *progress; /* a piece of one unit, which all of this is; NULL: none */
	struct stages *stages; /* goes on with them and writes what there is; NULL: none */
	/* What the profile says as a whole, if that is not what `facts` say; in the clock of `facts`. NULL: it is. */
	const struct profile_facts *whole;
	/*
	 * A recording of another clock (facts->lead_ns), to be written into the same profile; NULL: none. Its facts, processes, objects
	 * and kernel count. No two processes of all have the same tgid and life.
	 */
	const struct profile_input *next;
};

struct profile_function {
	const char *name; /* "func (in lib)"; lives until profile_summary_clear() */
	uint64_t self_samples;
};

/* A file of which some code has no name. */
struct profile_file {
	char *path;
	uint64_t samples; /* whose leaf is such code */
	enum symbol_trouble trouble;
	struct build_id wanted; /* of the file that was mapped; empty: not known */
	struct symbol_other other; /* what was met instead */
};

struct profile_files {
	struct profile_file *items;
	size_t count, capacity;
};

struct profile_summary {
	uint64_t samples; /* rows with a stack */
	uint64_t threads; /* threads with at least one sample */
	uint64_t processes;
	uint64_t stack_ends[GB_STACK_END_COUNT]; /* samples by how their user stack ended */
	uint64_t unsymbolized; /* distinct addresses without a name */
	uint64_t damaged; /* samples left out: what the buffer has of them makes no sense */
	struct profile_files unnamed; /* the one with the most samples first */
	struct profile_function *top; /* the hottest functions by self samples, hottest first */
	size_t top_count;
};

/*
 * Writes the whole profile to `output` (which the caller commits). `summary->top_count` asks for
 * that many hottest functions at most. The first error ends the work: nothing more is read. 0, the
 * output's error, -ENOMEM, -errno (what does not fit into memory has a file, see spool.h).
 */
int profile_write(const struct profile_input *input, struct output *output,
		  struct profile_summary *summary);
void profile_summary_clear(struct profile_summary *summary);

/* Samples that the last walks over the processes' buffers could not read. */
uint64_t profile_damaged(const struct processes *processes);

#endif
