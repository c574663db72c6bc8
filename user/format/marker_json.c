/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marker_json.c - see marker_json.h.
 *
 *   schema    {name, display, tableLabel, chartLabel, and of Gecko      data: [{key, label, format}, ..., {label, value}]}
 *                                                  of processed  fields: [{key, label, format}, ...], description}
 *   payload   {type: the schema's name, key: value, ...}; what is not known is left out
 */
#include "format/marker_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "format/pid_text.h"
#include "format/spool.h"
#include "profile/marker.h"

/* The header of the track shows them as well. */
#define DISPLAY "[\"marker-chart\",\"marker-table\",\"timeline-overview\"]"
#define SPOOL_ROOM_BYTES 1024

static void write_number(struct json *json, const struct marker_value *value)
{
	json_u64(json, value->number);
}

static void write_duration(struct json *json, const struct marker_value *value)
{
	json_time_ms(json, (int64_t)value->number);
}

static void write_text(struct json *json, const struct marker_value *value)
{
	json_text_bytes(json, value->text, value->length);
}

static void write_process(struct json *json, const struct marker_value *value)
{
	char pid[PID_TEXT_BYTES];

	json_text(json, pid_text(pid, value->process));
}

static const struct {
	const char *name; /* the front-end's */
	void (*write)(struct json *json, const struct marker_value *value);
} formats[MARKER_FORMAT_COUNT] = {
	[MARKER_STRING] = {"string", write_text},  [MARKER_INTEGER] = {"integer", write_number},
	[MARKER_BYTES] = {"bytes", write_number},  [MARKER_DURATION] = {"duration", write_duration},
	[MARKER_PROCESS] = {"pid", write_process}, [MARKER_TID] = {"tid", write_number},
};

/* ---- schemas ------------------------------------------------------------------------------- */

static void write_fields(struct json *json, const struct marker_kind *kind)
{
	size_t i;

	for (i = 0; i < kind->field_count; i++) {
		json_object_begin(json);
		json_key_string(json, "key", kind->fields[i].key);
		json_key_string(json, "label", kind->fields[i].label);
		json_key_string(json, "format", formats[kind->fields[i].format].name);
		json_object_end(json);
	}
}

static void write_gecko_fields(struct json *json, const struct marker_kind *kind)
{
	json_key(json, "data");
	json_array_begin(json);
	write_fields(json, kind);
	json_object_begin(json);
	json_key_string(json, "label", "Description");
	json_key_string(json, "value", kind->description);
	json_object_end(json);
	json_array_end(json);
}

static void write_processed_fields(struct json *json, const struct marker_kind *kind)
{
	json_key(json, "fields");
	json_array_begin(json);
	write_fields(json, kind);
	json_array_end(json);
	json_key_string(json, "description", kind->description);
}

void marker_json_schemas(struct json *json, bool is_gecko)
{
	const struct marker_kind *const *kind;

	json_array_begin(json);
	for (kind = marker_table; *kind; kind++) {
		json_object_begin(json);
		json_key_string(json, "name", (*kind)->type);
		json_key_literal(json, "display", DISPLAY);
		json_key_string(json, "tableLabel", (*kind)->table_label);
		json_key_string(json, "chartLabel", (*kind)->chart_label);
		if (is_gecko)
			write_gecko_fields(json, *kind);
		else
			write_processed_fields(json, *kind);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- payloads ------------------------------------------------------------------------------ */

struct marker_text {
	struct json *json;
	struct spool *to; /* of the marker that is being written */
};

static int write_to_spool(void *context, const void *data, size_t size)
{
	const struct marker_text *text = context;
	const char *bytes = data;

	while (size) {
		size_t part = size < SPOOL_ROOM_BYTES ? size : SPOOL_ROOM_BYTES;
		char *room = spool_room(text->to, part);

		if (!room)
			return spool_error(text->to);
		memcpy(room, bytes, part);
		spool_advance(text->to, part);
		bytes += part;
		size -= part;
	}
	return 0;
}

int marker_text_open(struct marker_text **out)
{
	struct marker_text *text = calloc(1, sizeof(*text));
	const struct json_sink sink = {.write = write_to_spool, .context = text};
	int err;

	if (!text)
		return -ENOMEM;
	err = json_open(&text->json, &sink);
	if (err) {
		free(text);
		return err;
	}
	*out = text;
	return 0;
}

void marker_text_close(struct marker_text *text)
{
	if (!text)
		return;
	json_close(text->json);
	free(text);
}

int marker_text_put(struct marker_text *text, const struct profile_marker *marker, struct spool *to)
{
	const struct marker_kind *kind = marker->kind;
	struct json *json = text->json;
	size_t i;

	text->to = to;
	json_restart(json);
	json_object_begin(json);
	json_key_string(json, "type", kind->type);
	for (i = 0; i < kind->field_count; i++) {
		if (!marker->values[i].is_known)
			continue;
		json_key(json, kind->fields[i].key);
		formats[kind->fields[i].format].write(json, &marker->values[i]);
	}
	json_object_end(json);
	return json_flush(json);
}

enum marker_phase marker_phase(const struct profile_marker *marker)
{
	return marker->end_ns == PROFILE_INSTANT ? MARKER_PHASE_INSTANT : MARKER_PHASE_INTERVAL;
}
