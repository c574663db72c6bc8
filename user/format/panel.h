/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * panel.h - what the front-end's information panel says of a recording, in words: how it was made, and what was lost.
 *
 * It is the profilingLog, with the words of the rows in panel.c. The Gecko format has no place for more than a list of
 * features, so the most important goes there.
 */
#ifndef GECKOBPF_FORMAT_PANEL_H
#define GECKOBPF_FORMAT_PANEL_H

struct json;
struct profile_summary;
struct recording_facts;

/* Items of "extra", whose array is open. */
void panel_write_extra(struct json *json, const struct recording_facts *facts,
		       const struct profile_summary *summary);

/* Texts for a list that is open: options, what had to be done without, what was lost. */
void panel_write_list(struct json *json, const struct recording_facts *facts);

/* What a fact of that name is called; NULL: it has no words of its own. */
const char *panel_words(const char *fact);

#endif
