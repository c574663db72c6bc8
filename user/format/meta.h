/* SPDX-License-Identifier: BSD-2-Clause */
/* meta.h - what both of the front-end's formats say of the recording as a whole: members of an object that is open. */
#ifndef GECKOBPF_FORMAT_META_H
#define GECKOBPF_FORMAT_META_H

struct json;
struct profile_filter;
struct recording_facts;

/* Version of the Gecko format, start, interval, categories. */
void meta_write_common(struct json *json, const struct recording_facts *facts);
/* From when to when it was recorded, as far as that is in `part`, and the units of samples. */
void meta_write_span(struct json *json, const struct recording_facts *facts,
		     const struct profile_filter *part);
/* What recorded it, where the panel has a place for it: the build of the application. */
void meta_write_version(struct json *json, const struct recording_facts *facts);
void meta_write_machine(struct json *json, const struct recording_facts *facts);
/* What was asked for: "configuration". `write_more`: adds texts to the list of features; NULL: none. */
void meta_write_configuration(struct json *json, const struct recording_facts *facts,
			      void (*write_more)(struct json *json,
						 const struct recording_facts *facts));
/* "pausedRanges". */
void meta_write_pauses(struct json *json, const struct recording_facts *facts);

#endif
