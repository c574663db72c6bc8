/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - text gathers in a buffer and goes to the sink in large pieces.
 *
 * One bit of state is enough for commas: whether a value has just ended. A key and an opening
 * bracket clear it.
 */
#include "format/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/deflater.h"
#include "base/number.h"
#include "format/utf8.h"

#define JSON_BUFFER_BYTES (64 * 1024)

struct json {
	struct json_sink sink;
	size_t used;
	int error;
	bool after_value;
	char buffer[JSON_BUFFER_BYTES];
};

int json_open(struct json **out, const struct json_sink *sink)
{
	struct json *json = malloc(sizeof(*json));

	if (!json)
		return -ENOMEM;
	json->sink = *sink;
	json->used = 0;
	json->error = 0;
	json->after_value = false;
	*out = json;
	return 0;
}

void json_close(struct json *json)
{
	free(json);
}

static void send(struct json *json, const void *data, size_t size)
{
	if (!json->error && size)
		json->error = json->sink.write(json->sink.context, data, size);
}

int json_flush(struct json *json)
{
	send(json, json->buffer, json->used);
	json->used = 0;
	return json->error;
}

int json_error(const struct json *json)
{
	return json->error;
}

void json_restart(struct json *json)
{
	json->after_value = false;
}

/*
 * At least `size` bytes (far fewer than the buffer has) at the end of the text; `used` is the
 * caller's to move.
 */
static char *room(struct json *json, size_t size)
{
	if (JSON_BUFFER_BYTES - json->used < size)
		json_flush(json);
	return json->buffer + json->used;
}

static void put_char(struct json *json, char c)
{
	*room(json, 1) = c;
	json->used++;
}

static void put_bytes(struct json *json, const char *data, size_t size)
{
	if (JSON_BUFFER_BYTES - json->used < size)
		json_flush(json);
	if (size >= JSON_BUFFER_BYTES) {
		send(json, data, size);
		return;
	}
	memcpy(json->buffer + json->used, data, size);
	json->used += size;
}

static void separate(struct json *json)
{
	if (json->after_value)
		put_char(json, ',');
	json->after_value = true;
}

static void begin(struct json *json, char bracket)
{
	separate(json);
	put_char(json, bracket);
	json->after_value = false;
}

static void end(struct json *json, char bracket)
{
	put_char(json, bracket);
	json->after_value = true;
}

void json_object_begin(struct json *json)
{
	begin(json, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array_begin(struct json *json)
{
	begin(json, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

/* ---- strings ----------------------------------------------------------------- */

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static const char *short_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

static void put_escape(struct json *json, unsigned char c)
{
	const char *known = short_escape(c);
	char text[6] = {'\\', 'u', '0', '0', "01"[c >> 4 & 1], "0123456789abcdef"[c & 15]};

	if (known)
		put_bytes(json, known, 2);
	else
		put_bytes(json, text, sizeof(text));
}

/* Writes one sequence, or U+FFFD for as much of it as is there. Returns the bytes consumed. */
static size_t put_sequence(struct json *json, const char *in, size_t length)
{
	bool is_whole;
	size_t have = utf8_sequence(in, length, &is_whole);

	if (is_whole)
		put_bytes(json, in, have);
	else
		put_bytes(json, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
	return have;
}

static void put_text(struct json *json, const char *text, size_t length)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t at = 0, plain;

	put_char(json, '"');
	while (at < length) {
		for (plain = at; plain < length && is_plain(in[plain]);)
			plain++;
		put_bytes(json, text + at, plain - at);
		at = plain;
		if (at == length)
			break;
		if (in[at] < 0x80)
			put_escape(json, in[at++]);
		else
			at += put_sequence(json, text + at, length - at);
	}
	put_char(json, '"');
}

void json_text_bytes(struct json *json, const char *text, size_t length)
{
	separate(json);
	put_text(json, text, length);
}

void json_text(struct json *json, const char *text)
{
	json_text_bytes(json, text, strlen(text));
}

void json_key(struct json *json, const char *key)
{
	json_text(json, key);
	put_char(json, ':');
	json->after_value = false;
}

/* ---- numbers and words --------------------------------------------------------- */

void json_u64(struct json *json, uint64_t value)
{
	char *at;

	separate(json);
	at = room(json, NUMBER_MAX_BYTES);
	json->used += (size_t)(number_put_u64(at, value < INT64_MAX ? value : INT64_MAX) - at);
}

void json_i64(struct json *json, int64_t value)
{
	char *at;

	separate(json);
	at = room(json, NUMBER_MAX_BYTES);
	json->used += (size_t)(number_put_i64(at, value) - at);
}

void json_time_ms(struct json *json, int64_t ns)
{
	char *at;

	separate(json);
	at = room(json, NUMBER_TIME_MAX_BYTES);
	json->used += (size_t)(number_put_time_ms(at, ns) - at);
}

void json_double(struct json *json, double value)
{
	if (!(fabs(value) < 9e12)) {
		json_none(json);
		return;
	}
	/*
	 * Thousandths are to a unit what nanoseconds are to a microsecond: borrow the time's
	 * exact text.
	 */
	json_time_ms(json, (int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5)) * 1000);
}

void json_literal(struct json *json, const char *text)
{
	separate(json);
	put_bytes(json, text, strlen(text));
}

void json_bool(struct json *json, bool value)
{
	json_literal(json, value ? "true" : "false");
}

void json_none(struct json *json)
{
	json_literal(json, "null");
}

void json_piece(struct json *json, const struct piece *piece)
{
	if (!piece->is_packed)
		put_bytes(json, piece->bytes, piece->size);
	else if (!json_flush(json))
		json->error = json->sink.splice(json->sink.context, piece);
}

/* ---- members of objects --------------------------------------------------------- */

void json_key_string(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

void json_key_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_key_time_ms(struct json *json, const char *key, int64_t ns)
{
	json_key(json, key);
	json_time_ms(json, ns);
}

void json_key_literal(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_literal(json, text);
}
