/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_markers.c - see gecko_markers.h. */
#include "format/gecko_markers.h"

#include <string.h>

#include "base/intern.h"
#include "base/number.h"
#include "format/json.h"
#include "format/marker_json.h"
#include "format/spool.h"
#include "profile/marker.h"

#define SCHEMA "{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,\"category\":4,\"data\":5}"
#define ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + NUMBER_TIME_MAX_BYTES * 2 + sizeof(",[,null,0,,"))

static int need_tables(struct gecko_markers *markers, struct spool_pool *pool)
{
	int err = markers->names ? 0 : intern_open(&markers->names);

	return err || markers->rows ? err : spool_open(&markers->rows, pool);
}

/* Up to where the payload begins. */
static int begin_row(struct gecko_markers *markers, const struct profile_marker *marker,
		     uint32_t name)
{
	enum marker_phase phase = marker_phase(marker);
	char *start = spool_room(markers->rows, ROW_MAX_BYTES), *at = start;

	if (!start)
		return spool_error(markers->rows);
	if (spool_bytes(markers->rows))
		*at++ = ',';
	*at++ = '[';
	at = number_put_u64(at, name);
	*at++ = ',';
	at = number_put_time_ms(at, (int64_t)marker->start_ns);
	*at++ = ',';
	if (phase == MARKER_PHASE_INSTANT)
		at = mempcpy(at, "null", 4);
	else
		at = number_put_time_ms(at, (int64_t)marker->end_ns);
	*at++ = ',';
	at = number_put_u64(at, phase);
	*at++ = ',';
	at = number_put_u64(at, marker->kind->category);
	*at++ = ',';
	spool_advance(markers->rows, (size_t)(at - start));
	return 0;
}

static int end_row(struct gecko_markers *markers)
{
	char *at = spool_room(markers->rows, 1);

	if (!at)
		return spool_error(markers->rows);
	*at = ']';
	spool_advance(markers->rows, 1);
	return 0;
}

int gecko_markers_add(struct gecko_markers *markers, const struct profile_marker *marker,
		      struct marker_text *text, struct spool_pool *pool)
{
	uint32_t name;
	int err = need_tables(markers, pool);

	if (!err)
		err = intern_add(markers->names, marker->name, marker->name_length, &name);
	if (!err)
		err = begin_row(markers, marker, name);
	if (!err)
		err = marker_text_put(text, marker, markers->rows);
	return err ? err : end_row(markers);
}

void gecko_markers_clear(struct gecko_markers *markers)
{
	spool_close(markers->rows);
	intern_close(markers->names);
	*markers = (struct gecko_markers){0};
}

uint32_t gecko_markers_name_count(const struct gecko_markers *markers)
{
	return markers->names ? intern_count(markers->names) : 0;
}

void gecko_markers_write_names(const struct gecko_markers *markers, struct json *json)
{
	uint32_t count = gecko_markers_name_count(markers), i;
	size_t length;

	for (i = 0; i < count; i++) {
		const char *text = intern_text(markers->names, i, &length);

		json_text_bytes(json, text, length);
	}
}

int gecko_markers_write(struct gecko_markers *markers, struct json *json)
{
	int err = 0;

	json_key(json, "markers");
	json_object_begin(json);
	json_key_literal(json, "schema", SCHEMA);
	json_key(json, "data");
	json_array_begin(json);
	if (markers->rows)
		err = spool_splice(markers->rows, json);
	json_array_end(json);
	json_object_end(json);
	return err;
}
