/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_markers.h - the markers of one thread of a processed profile, as columns; a name is a shared string. */
#ifndef GECKOBPF_FORMAT_PROCESSED_MARKERS_H
#define GECKOBPF_FORMAT_PROCESSED_MARKERS_H

#include <stdint.h>

struct json;
struct marker_text;
struct processed_markers;
struct profile_marker;
struct spool_pool;

/* `pool` is borrowed. 0 or -ENOMEM. NULL is fine for close. */
int processed_markers_open(struct processed_markers **out, struct spool_pool *pool);
void processed_markers_close(struct processed_markers *markers);

/* `name`: the number of the string. 0 or -errno of the spool. */
int processed_markers_add(struct processed_markers *markers, const struct profile_marker *marker,
			  uint32_t name, struct marker_text *text);

/* The member "markers"; NULL: there are none. 0, or -errno of reading what was spilled. */
int processed_markers_write(struct processed_markers *markers, struct json *json);

#endif
