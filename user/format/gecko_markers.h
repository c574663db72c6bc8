/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_markers.h - the markers of one thread of a Gecko profile: rows [name,start,end,phase,category,payload], where
 * the name is a number of the thread's table of strings. Names of markers are the first strings of it.
 */
#ifndef GECKOBPF_FORMAT_GECKO_MARKERS_H
#define GECKOBPF_FORMAT_GECKO_MARKERS_H

#include <stdint.h>

struct intern;
struct json;
struct marker_text;
struct profile_marker;
struct spool;
struct spool_pool;

/* Zero-initialised: there are none. */
struct gecko_markers {
	struct intern *names; /* NULL: there are no markers so far */
	struct spool *rows;
};

/* `pool` is borrowed. 0, -ENOMEM, -errno of the spool. */
int gecko_markers_add(struct gecko_markers *markers, const struct profile_marker *marker,
		      struct marker_text *text, struct spool_pool *pool);
void gecko_markers_clear(struct gecko_markers *markers);

/* How many strings come before those of frames. */
uint32_t gecko_markers_name_count(const struct gecko_markers *markers);
/* These strings, as items of an array that is open. */
void gecko_markers_write_names(const struct gecko_markers *markers, struct json *json);
/* The member "markers". 0, or -errno of reading what was spilled. */
int gecko_markers_write(struct gecko_markers *markers, struct json *json);

#endif
