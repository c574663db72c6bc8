/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather.h - which images of a recording are shown as one process, so that thousands of short ones do not hide the rest.
 *
 *   image ──and what the same process was before exec, if that did little or was a mere fork──> unit
 *   unit  ──asked for, busy, or long-lived──> a process of its own
 *           ──a kernel thread───────────────> "[kernel]", each a thread
 *           ──no sample, or short and light─> "412 short processes": a thread has those of one name, one after the
 *                                             other; more threads where they ran at once
 *
 * What finds no such thread for the time that it lived is a process of its own, or, without samples, one of those whose
 * CPU time is spread over the whole recording: that of the main thread. So no CPU time is left out, and no thread uses
 * more than the time that goes by.
 */
#ifndef GECKOBPF_PROFILE_GATHER_H
#define GECKOBPF_PROFILE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/filter.h"
#include "profile/gather_lanes.h"
#include "recording/recording.h"
#include "target/process.h"

/* What used less than one part in so many of all CPU time is light. */
#define GATHER_SHARE 1000
/* Processes that came and went while it was recorded, at most, that are shown by themselves: those that used most. */
#define GATHER_SHOWN 100
/* What a fork becomes within so long is what it was made for. */
#define GATHER_FORK_NS 100000000ULL
struct gather_image {
	struct process *process;
	/* By index of its threads, what they are threads of; NULL: they are threads of the track's process. */
	uint32_t *lanes;
};

/* A process of the profile. */
struct gather_track {
	struct process
		*process; /* what it is shown as: one of its images, or one that is made up */
	struct gather_image *images; /* in the order in which they began */
	size_t image_count;
	bool is_gathered; /* made up; its own image is the first */
	char name[GATHER_NAME_BYTES]; /* of one that is made up */
	const struct gather_lanes *lanes; /* of one that is made up */
	bool has_cpu; /* it used CPU time, so it is shown even without samples */
};

/* What became of the images. */
struct gather_counts {
	uint64_t processes; /* short ones, of which one was made */
	uint64_t cpu_ns; /* that they used */
	uint64_t folded; /* images that are part of what the process became by exec */
};

struct gathering {
	struct gather_track *tracks;
	size_t track_count;
	struct gather_counts counts;
	struct gather_work *work; /* for gather.c alone */
};

struct gather_input {
	const struct recording *recording;
	const struct profile_filter *filter;
	/* Whether samples of several images can be in one process: their frames say which file they are of. */
	bool mixes;
	uint32_t number; /* of the recording in the profile: no two have the same */
};

/* What is borrowed has to stay. 0 or -ENOMEM. */
int gathering_open(struct gathering *out, const struct gather_input *input);
void gathering_close(struct gathering *gathering);

/* The process of its own that an image of the recording is part of; NULL: it is part of one that is made up. */
const struct process *gathering_process(const struct gathering *gathering,
					const struct process *image);
/* Whether such a process used CPU time, so that it is shown even without samples. */
bool gathering_has_cpu(const struct gathering *gathering, const struct process *process);

#endif
