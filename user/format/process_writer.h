/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_writer.h - one program image: its buffer is read once, then it becomes an entry of
 * processes[].
 */
#ifndef GECKOBPF_FORMAT_PROCESS_WRITER_H
#define GECKOBPF_FORMAT_PROCESS_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/profile.h"

struct json;
struct libs;
struct output;
struct deflater;
struct process;
struct progress;
struct spool_pool;
struct tally;

/* A process as a piece of work. */
#define PROCESS_UNITS 100

/* What the writing of all processes shares, borrowed, and what it counts. */
struct profile_pass {
	const struct profile_input *input;
	const struct profile_input
		*source; /* whose processes are written: the input, or one behind it */
	struct json *json;
	struct libs *libs; /* of the source */
	struct deflater *deflater; /* NULL: the output wants plain text */
	struct spool_pool *pool;
	struct tally *tally;
	struct output *output;
	struct progress *writing; /* counts bytes of JSON; NULL: nobody does */
	struct profile_summary summary; /* without the top */
	uint64_t clamped_count; /* rows whose time would have gone backwards */
};

/*
 * Writes the process, if it has samples or `keep_empty`; `progress`: a piece of PROCESS_UNITS. 0, -ENOMEM, json's error, -errno of
 * the spool.
 */
int process_write(struct profile_pass *pass, struct process *process, bool keep_empty,
		  struct progress *progress);

#endif
