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
#ifndef GECKOBPF_FORMAT_PROFILE_H
#define GECKOBPF_FORMAT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"
#include "elf/build_id.h"
#include "recording/recording.h"
#include "symbol/symbolizer.h"

struct kernel_symbols;
struct output;
struct progress;
struct stages;

struct profile_input {
	struct recording recording;
	struct symbolizer *symbolizer; /* NULL: write addresses, to be symbolized later */
	const struct kernel_symbols *kernel; /* NULL: kernel frames stay addresses */
	struct progress *progress; /* a piece of one unit, which all of this is; NULL: none */
	struct stages *stages; /* goes on with them and writes what there is; NULL: none */
	/* What the profile says as a whole, if that is not what `facts` say; in the clock of `facts`. NULL: it is. */
	const struct recording_facts *whole;
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

#endif
