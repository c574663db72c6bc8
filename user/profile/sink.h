/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - where a recording goes as profile_walk() reads it, once: a writer of some format.
 *
 *   begin_process                    tables of its stacks and frames, which grow while rows come
 *     begin_thread  begin_thread     each before its first row
 *     row row row row row ...        of all its threads, as they were recorded: in order of time within a thread
 *     begin_thread row ...           threads without samples, and what each used after its last one
 *     marker marker ...              of any thread that has begun, in any order, at any time before end_process
 *     point point point ...          of counters, each in order of time; also between rows
 *   end_process                      all is there: tables, threads in order, libs
 *   begin_process ...                one process at a time, so its tables are forgotten then
 *   end                              what the whole has to say of itself
 *
 * A sink is embedded in a struct of its own. Memory is bounded: a sink keeps what it has to keep of rows outside of
 * memory, and numbers of stacks by a stacks_user, whose memory counts and which is emptied when there are too many.
 *
 * Each function returns 0 or -errno, which ends the walk; then nothing but close() is called.
 */
#ifndef GECKOBPF_PROFILE_SINK_H
#define GECKOBPF_PROFILE_SINK_H

#include "profile/model.h"

struct profile_marker;
struct profile_point;
struct profile_sink;
struct profile_summary;
struct progress;

struct profile_sink_ops {
	int (*begin_process)(struct profile_sink *sink, struct profile_process *process);
	int (*begin_thread)(struct profile_sink *sink, struct profile_thread *thread);
	int (*row)(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row);
	/* NULL: the format has no markers. See marker.h. */
	int (*marker)(struct profile_sink *sink, struct profile_thread *thread,
		      const struct profile_marker *marker);
	/* NULL: the format has no counters. Of the process that has begun; see counter.h. */
	int (*point)(struct profile_sink *sink, const struct profile_point *point);
	/* `progress`: the piece of work that this is. Frees what `of_sink` of the process and its threads points to. */
	int (*end_process)(struct profile_sink *sink, struct profile_process *process,
			   struct progress *progress);
	/* `summary` is complete but for its top. */
	int (*end)(struct profile_sink *sink, const struct profile_summary *summary);
	/*
	 * Frees the sink, also one whose process did not come to its end. Called by whoever opened it, not by the walk.
	 */
	void (*close)(struct profile_sink *sink);
};

struct profile_sink {
	const struct profile_sink_ops *ops;
	enum profile_addresses addresses; /* what is wanted where no names are */
	/* There, frames say what file they are of, so that processes can be gathered. */
	bool has_files;
};

#endif
