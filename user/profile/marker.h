/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marker.h - markers: what happened to a thread at a time, or from one time to another, beside its samples.
 *
 *   kind (one row, one file: NAME_markers.c) ──> its schema: what fields its markers have, and how they are shown
 *     └── send() ──> marker: name, times, the values of these fields ──> sink.h
 *
 * All that is asked for by a kind below is known of a recording as a whole: who made which process, when a thread
 * ended, when sampling paused, what was lost. So there are no more markers than there are processes, threads, pauses
 * and losses in it, and what the recording forgets (recording/expire.h) has no marker. What comes as records of its own is sent where the walk
 * meets it instead, and has a row without send().
 */
#ifndef GECKOBPF_PROFILE_MARKER_H
#define GECKOBPF_PROFILE_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

struct family;
struct profile_sink;

/* What a value is, and so how it is shown. */
enum marker_format {
	MARKER_STRING, /* text: any bytes */
	MARKER_INTEGER,
	MARKER_BYTES,
	MARKER_DURATION, /* ns */
	MARKER_PROCESS, /* named as the format names processes */
	MARKER_TID,
	MARKER_FORMAT_COUNT
};

struct marker_field {
	const char *key; /* of the payload; not one that the front-end takes for its own */
	const char *label;
	enum marker_format format;
};

#define MARKER_FIELDS_MAX 8

/* Where markers of all kinds that have a send() go. */
struct marker_pass {
	const struct recording *recording;
	struct profile_process *process;
	struct profile_thread *main; /* of the process: what concerns all of it stands there */
	struct profile_sink *sink;
	const struct family *family;
	bool is_busiest; /* what concerns all of the recording stands on this process */
};

struct marker_kind {
	const char *type; /* the schema's name */
	const char *description;
	/* In the front-end's words for them: "{marker.data.key}". */
	const char *table_label, *chart_label;
	const struct marker_field *fields;
	size_t field_count; /* at most MARKER_FIELDS_MAX */
	enum profile_category_index category;
	/* Sends the markers of a process, in any order. 0 or the sink's error, -ENOMEM. NULL: the walk meets them. */
	int (*send)(const struct marker_pass *pass);
};

/* All there are; ends with NULL. */
extern const struct marker_kind *const marker_table[];

extern const struct marker_kind process_markers;
extern const struct marker_kind exec_markers;
extern const struct marker_kind thread_markers;
extern const struct marker_kind pause_markers;
extern const struct marker_kind loss_markers;

struct marker_value {
	bool is_known; /* or it is left out */
	uint64_t number;
	const char *text; /* of the formats that have one */
	size_t length;
	const struct process *process; /* the same */
};

/* Times are those of the profile. Texts need not live on. */
struct profile_marker {
	const struct marker_kind *kind;
	const char *name; /* any bytes; equal ones share a line of a chart */
	size_t name_length;
	uint64_t start_ns, end_ns; /* end: PROFILE_INSTANT: it is one moment */
	struct marker_value values[MARKER_FIELDS_MAX]; /* by field */
};

#define PROFILE_INSTANT UINT64_MAX

static inline struct marker_value marker_number(uint64_t number)
{
	return (struct marker_value){.is_known = true, .number = number};
}

/* `text` NULL: not known. Longer ones are cut to MARKER_TEXT_BYTES. */
#define MARKER_TEXT_BYTES 512
struct marker_value marker_text(const char *text, size_t length);

/* All kinds' markers of the process. 0, -ENOMEM, or the sink's error. */
int markers_send(const struct marker_pass *pass);

/*
 * For send(): sends one, at times of the recording, if any of it is in the part that the profile is made of; `end_ns` 0:
 * it lasts to the recording's end. What was there before counts from time 0. 0 or the sink's error.
 */
int marker_send_span(const struct marker_pass *pass, struct profile_marker *marker,
		     uint64_t start_ns, uint64_t end_ns);
int marker_send_instant(const struct marker_pass *pass, struct profile_marker *marker,
			uint64_t time_ns);

#endif
