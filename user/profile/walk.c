/* SPDX-License-Identifier: BSD-2-Clause */
/* walk.c - profile_walk(): all recordings, and all their processes, one after the other. See profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/progress.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "profile/family.h"
#include "profile/gather.h"
#include "profile/libs.h"
#include "profile/name_asking.h"
#include "profile/process_walk.h"
#include "profile/sink.h"
#include "profile/tally.h"
#include "profile/tracks.h"
#include "symbol/symbols.h"
#include "target/process.h"

/* The process that stands for a recording without samples: the first root, or else the first. */
static struct process *first_process(struct processes *processes)
{
	size_t i;

	for (i = 0; i < processes_count(processes); i++) {
		if (processes_at(processes, i)->is_root)
			return processes_at(processes, i);
	}
	return i ? processes_at(processes, 0) : NULL;
}

/* What a process takes to read: bytes of its buffer, and something for itself. */
static uint64_t work_of(const struct process *process)
{
	struct profile_buffer_state state;

	if (!process->buffer)
		return 1;
	state = profile_buffer_get_state(process->buffer);
	return 1 + state.range_end - state.range_start;
}

static uint64_t work_of_track(const struct gather_track *track)
{
	uint64_t work = 0;
	size_t i;

	for (i = 0; i < track->image_count; i++)
		work += work_of(track->images[i].process);
	return work;
}

static uint64_t work_of_all(const struct profile_input *source)
{
	uint64_t work = 0;
	size_t i;

	for (; source; source = source->next)
		for (i = 0; i < processes_count(source->recording.processes); i++)
			work += work_of(processes_at(source->recording.processes, i));
	return work;
}

static int walk_tracks(struct profile_pass *pass, const struct gathering *gathering,
		       struct progress *all)
{
	struct progress part;
	size_t i;
	int err = 0;

	for (i = 0; i < gathering->track_count && !err; i++) {
		const struct gather_track *track = &gathering->tracks[i];

		progress_split(&part, all, work_of_track(track), NULL, PROCESS_UNITS);
		if (profile_filter_process(&pass->input->filter, track->process))
			err = process_walk(
				pass, track,
				tracks_keep_empty(&pass->source->recording, track->process), &part);
		if (!err && cancel_tick(pass->input->cancel))
			err = -EINTR;
		progress_end(&part);
	}
	return err;
}

static void add_counts(struct gather_counts *counts, const struct gather_counts *more)
{
	counts->processes += more->processes;
	counts->cpu_ns += more->cpu_ns;
	counts->folded += more->folded;
}

/* On which processes markers stand: only a sink that has some asks. */
static int find_places(struct profile_pass *pass, const struct gathering *gathering,
		       struct family **family)
{
	struct tracks *tracks;
	int err;

	if (!pass->sink->ops->marker)
		return 0;
	err = tracks_open(&tracks, &pass->source->recording, &pass->input->filter, gathering);
	if (err)
		return err;
	err = tracks_busiest(tracks, &pass->busiest);
	if (!err)
		err = family_open(family, &pass->source->recording, tracks);
	tracks_close(tracks);
	return err;
}

/* For all processes that are to be read. */
static int ask_for_names(struct profile_pass *pass, const struct gathering *gathering)
{
	struct name_asking *asking;
	size_t i, image;
	int err = name_asking_open(&asking, libs_files(pass->libs), pass->input->max_frames,
				   pass->input->cancel);

	if (err)
		return err;
	stages_enter(pass->input->stages, "reading");
	for (i = 0; i < gathering->track_count && !err; i++) {
		const struct gather_track *track = &gathering->tracks[i];

		if (!profile_filter_process(&pass->input->filter, track->process))
			continue;
		for (image = 0; image < track->image_count && !err; image++)
			err = name_asking_add(asking, track->images[image].process);
	}
	if (!err)
		err = name_asking_finish(asking);
	name_asking_close(asking);
	return err;
}

static int walk_gathering(struct profile_pass *pass, const struct gathering *gathering,
			  struct progress *all)
{
	struct family *family = NULL;
	int err = find_places(pass, gathering, &family);

	pass->family = family;
	if (!err && pass->symbols)
		err = ask_for_names(pass, gathering);
	if (!err)
		err = walk_tracks(pass, gathering, all);
	pass->family = NULL;
	family_close(family);
	return err;
}

static int walk_processes(struct profile_pass *pass, struct progress *all)
{
	const struct gather_input input = {
		.recording = &pass->source->recording,
		.filter = &pass->input->filter,
		.mixes = pass->input->named_files || pass->sink->has_files,
		.number = pass->source_count++,
	};
	struct gathering gathering;
	int err = gathering_open(&gathering, &input);

	if (err)
		return err;
	add_counts(&pass->summary.gathered, &gathering.counts);
	err = walk_gathering(pass, &gathering, all);
	gathering_close(&gathering);
	return err;
}

/* A profile without threads is refused. */
static int walk_first(struct profile_pass *pass)
{
	struct process *first = first_process(pass->source->recording.processes);
	struct gather_image image = {.process = first};
	const struct gather_track track = {.process = first, .images = &image, .image_count = 1};

	pass->busiest = first;
	return first ? process_walk(pass, &track, true, NULL) : 0;
}

static int open_names(struct profile_pass *pass)
{
	struct symbol_sources sources = {.kernel = pass->source->kernel};
	int err = libs_open(&pass->libs, pass->input->named_files, pass->input->redaction);

	if (err || !pass->input->named_files)
		return err;
	sources.files = libs_files(pass->libs);
	return symbols_open(&pass->symbols, &sources);
}

static void close_names(struct profile_pass *pass)
{
	symbols_close(pass->symbols);
	libs_close(pass->libs);
	pass->symbols = NULL;
	pass->libs = NULL;
}

static int walk_source(struct profile_pass *pass, const struct profile_input *source,
		       struct progress *all)
{
	int err;

	pass->source = source;
	err = open_names(pass);
	if (!err)
		err = walk_processes(pass, all);
	if (!err && !pass->summary.processes && !source->next)
		err = walk_first(pass);
	if (!err)
		err = libs_list_unnamed(pass->libs, &pass->summary.unnamed);
	pass->summary.damaged += recording_damaged(source->recording.processes);
	close_names(pass);
	return err;
}

static int walk_sources(struct profile_pass *pass)
{
	const struct profile_input *source;
	struct progress all;
	int err = 0;

	progress_split(&all, pass->input->progress, 1, NULL, work_of_all(pass->input));
	for (source = pass->input; source && !err; source = source->next)
		err = walk_source(pass, source, &all);
	progress_end(&all);
	return err;
}

/* ---- the summary --------------------------------------------------------------------------- */

static void clear_files(struct profile_files *files)
{
	size_t i;

	for (i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

static int compare_files(const void *a, const void *b)
{
	const struct profile_file *left = a, *right = b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return strcmp(left->path, right->path);
}

static int walk(struct profile_pass *pass)
{
	struct profile_files *unnamed = &pass->summary.unnamed;
	int err = walk_sources(pass);

	if (err)
		return err;
	if (unnamed->count)
		qsort(unnamed->items, unnamed->count, sizeof(*unnamed->items), compare_files);
	return pass->sink->ops->end(pass->sink, &pass->summary);
}

int profile_walk(const struct profile_input *input, struct profile_sink *sink,
		 struct profile_summary *summary)
{
	struct profile_pass pass = {.input = input, .sink = sink};
	int err = tally_open(&pass.tally);

	if (!err)
		err = walk(&pass);
	pass.summary.top_count = summary->top_count;
	if (!err)
		err = tally_top(pass.tally, &pass.summary.top, &pass.summary.top_count);
	if (!err)
		*summary = pass.summary;
	else
		clear_files(&pass.summary.unnamed);
	tally_close(pass.tally);
	return err;
}

void profile_summary_clear(struct profile_summary *summary)
{
	tally_free_top(summary->top, summary->top_count);
	clear_files(&summary->unnamed);
	memset(summary, 0, sizeof(*summary));
}
