/* SPDX-License-Identifier: BSD-2-Clause */
/* marker_json.h - what both of the front-end's formats say of markers: their schemas, and the payload of each. */
#ifndef GECKOBPF_FORMAT_MARKER_JSON_H
#define GECKOBPF_FORMAT_MARKER_JSON_H

#include <stdbool.h>

struct json;
struct marker_text;
struct profile_marker;
struct spool;

/* The value of "markerSchema": of the Gecko format, or of the processed one. */
void marker_json_schemas(struct json *json, bool is_gecko);

/* Puts payloads together as text. 0 or -ENOMEM. NULL is fine for close. */
int marker_text_open(struct marker_text **out);
void marker_text_close(struct marker_text *text);
/* The payload of a marker goes to the end of `to`. 0 or -errno of the spool. */
int marker_text_put(struct marker_text *text, const struct profile_marker *marker,
		    struct spool *to);

/* As both formats number them. */
enum marker_phase { MARKER_PHASE_INSTANT, MARKER_PHASE_INTERVAL };

enum marker_phase marker_phase(const struct profile_marker *marker);

#endif
