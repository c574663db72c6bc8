/* SPDX-License-Identifier: BSD-2-Clause */
/* tracks.c - see tracks.h. */
#include "profile/tracks.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "buffer/profile_buffer.h"
#include "profile/gather.h"
#include "profile/model.h"
#include "target/process.h"

enum answer { NOT_ASKED, HAS_NONE, HAS_TRACK };

struct tracks {
	const struct recording *recording;
	const struct profile_filter *filter;
	const struct gathering *gathering;
	uint8_t *answers; /* enum answer, by number of the process */
};

int tracks_open(struct tracks **out, const struct recording *recording,
		const struct profile_filter *filter, const struct gathering *gathering)
{
	struct tracks *tracks = calloc(1, sizeof(*tracks));
	size_t top = 0, i;

	if (!tracks)
		return -ENOMEM;
	for (i = 0; i < processes_count(recording->processes); i++)
		if (processes_at(recording->processes, i)->number >= top)
			top = processes_at(recording->processes, i)->number + (size_t)1;
	tracks->recording = recording;
	tracks->filter = filter;
	tracks->gathering = gathering;
	tracks->answers = calloc(top + 1, sizeof(*tracks->answers));
	if (!tracks->answers) {
		free(tracks);
		return -ENOMEM;
	}
	*out = tracks;
	return 0;
}

void tracks_close(struct tracks *tracks)
{
	if (!tracks)
		return;
	free(tracks->answers);
	free(tracks);
}

bool tracks_keep_empty(const struct recording *recording, const struct process *process)
{
	if (!process->is_root || processes_latest(recording->processes, process->tgid) != process)
		return false;
	return !process->died_ns || process->died_ns > recording->facts->start_ns;
}

/* ---- looking for a sample ------------------------------------------------------------------- */

#define FOUND 1 /* ends the reading */

struct search {
	const struct tracks *tracks;
	const struct threads *threads;
	bool *is_wanted; /* by number of the thread */
};

static int on_restart(void *context)
{
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	const struct search *search = context;
	uint32_t number = threads_resolve(search->threads, sample->thread, sample->time_ns);

	if (!profile_has_time(search->tracks->recording->facts, search->tracks->filter,
			      sample->time_ns))
		return 0;
	return number < search->threads->numbers.top && search->is_wanted[number] ? FOUND : 0;
}

static int search_buffer(const struct tracks *tracks, const struct process *process, bool *found)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};
	const struct threads *threads = &process->threads;
	struct search search = {tracks, threads, calloc(threads->numbers.top + 1, sizeof(bool))};
	size_t i;
	int err;

	if (!search.is_wanted)
		return -ENOMEM;
	for (i = 0; i < threads->count; i++)
		search.is_wanted[threads->items[i]->number] =
			profile_filter_thread(tracks->filter, threads->items[i]);
	err = profile_buffer_read(process->buffer, &visitor, &search);
	free(search.is_wanted);
	*found = err == FOUND;
	return err == FOUND ? 0 : err;
}

static int look(const struct tracks *tracks, const struct process *process, bool *has_track)
{
	*has_track = false;
	if (!profile_filter_process(tracks->filter, process))
		return 0;
	*has_track = tracks_keep_empty(tracks->recording, process) ||
		     gathering_has_cpu(tracks->gathering, process);
	if (*has_track || !process->buffer)
		return 0;
	return search_buffer(tracks, process, has_track);
}

const struct process *tracks_process(const struct tracks *tracks, const struct process *image)
{
	return gathering_process(tracks->gathering, image);
}

int tracks_find(struct tracks *tracks, const struct process *process, bool *has_track)
{
	uint8_t *answer = &tracks->answers[process->number];
	int err = 0;

	if (*answer == NOT_ASKED) {
		err = look(tracks, process, has_track);
		if (!err)
			*answer = *has_track ? HAS_TRACK : HAS_NONE;
	}
	*has_track = *answer == HAS_TRACK;
	return err;
}

static uint64_t used_ns(const struct gather_track *track)
{
	uint64_t sum_ns = 0;
	size_t i, k;

	for (i = 0; i < track->image_count; i++) {
		const struct threads *threads = &track->images[i].process->threads;

		for (k = 0; k < threads->count; k++)
			if (threads->items[k]->cpu_first_ns < threads->items[k]->cpu_last_ns)
				sum_ns += threads->items[k]->cpu_last_ns -
					  threads->items[k]->cpu_first_ns;
	}
	return sum_ns;
}

int tracks_busiest(struct tracks *tracks, const struct process **out)
{
	const struct gathering *gathering = tracks->gathering;
	uint64_t most_ns = 0;
	size_t i;
	int err = 0;

	*out = NULL;
	for (i = 0; i < gathering->track_count && !err; i++) {
		const struct gather_track *track = &gathering->tracks[i];
		uint64_t ns = used_ns(track);
		bool has_track;

		if (track->is_gathered || (*out && ns <= most_ns))
			continue;
		err = tracks_find(tracks, track->process, &has_track);
		if (err || !has_track)
			continue;
		*out = track->process;
		most_ns = ns;
	}
	return err;
}
