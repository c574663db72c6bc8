/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_markers.c - see processed_markers.h. */
#include "format/processed_markers.h"

#include <errno.h>
#include <stdlib.h>

#include "format/column.h"
#include "format/json.h"
#include "format/marker_json.h"
#include "format/spool.h"
#include "profile/marker.h"

/* In the order in which they are written. */
enum column { DATA, NAME, START, END, PHASE, CATEGORY, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {
	[DATA] = "data",   [NAME] = "name",   [START] = "startTime",
	[END] = "endTime", [PHASE] = "phase", [CATEGORY] = "category",
};

struct processed_markers {
	struct spool *columns[COLUMN_COUNT];
	uint64_t count;
};

int processed_markers_open(struct processed_markers **out, struct spool_pool *pool)
{
	struct processed_markers *markers = calloc(1, sizeof(*markers));
	size_t i;
	int err = 0;

	if (!markers)
		return -ENOMEM;
	for (i = 0; i < COLUMN_COUNT && !err; i++)
		err = spool_open(&markers->columns[i], pool);
	if (err) {
		processed_markers_close(markers);
		return err;
	}
	*out = markers;
	return 0;
}

void processed_markers_close(struct processed_markers *markers)
{
	size_t i;

	if (!markers)
		return;
	for (i = 0; i < COLUMN_COUNT; i++)
		spool_close(markers->columns[i]);
	free(markers);
}

static int put_payload(struct spool *column, const struct profile_marker *marker,
		       struct marker_text *text)
{
	char *comma = spool_bytes(column) ? spool_room(column, 1) : NULL;

	if (comma) {
		*comma = ',';
		spool_advance(column, 1);
	}
	/* An error of the spool sticks. */
	return marker_text_put(text, marker, column);
}

int processed_markers_add(struct processed_markers *markers, const struct profile_marker *marker,
			  uint32_t name, struct marker_text *text)
{
	enum marker_phase phase = marker_phase(marker);
	struct spool **columns = markers->columns;
	int err = put_payload(columns[DATA], marker, text);

	if (!err)
		err = column_put_u64(columns[NAME], name);
	if (!err)
		err = column_put_time_ms(columns[START], (int64_t)marker->start_ns);
	if (!err)
		err = phase == MARKER_PHASE_INSTANT
			      ? column_put_null(columns[END])
			      : column_put_time_ms(columns[END], (int64_t)marker->end_ns);
	if (!err)
		err = column_put_u64(columns[PHASE], phase);
	if (!err)
		err = column_put_u64(columns[CATEGORY], marker->kind->category);
	markers->count++;
	return err;
}

int processed_markers_write(struct processed_markers *markers, struct json *json)
{
	size_t i;
	int err = 0;

	json_key(json, "markers");
	json_object_begin(json);
	for (i = 0; i < COLUMN_COUNT && !err; i++)
		if (markers)
			err = column_write(markers->columns[i], json, column_names[i]);
		else
			json_key_literal(json, column_names[i], "[]");
	json_key_u64(json, "length", markers ? markers->count : 0);
	json_object_end(json);
	return err;
}
