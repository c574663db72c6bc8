/* SPDX-License-Identifier: BSD-2-Clause */
/* column.c - see column.h. */
#include "format/column.h"

#include <string.h>

#include "base/number.h"
#include "format/json.h"
#include "format/spool.h"

#define VALUE_MAX_BYTES (NUMBER_TIME_MAX_BYTES + 1)

/* Where a value goes; NULL: the spool has an error. */
static char *begin(struct spool *column, char **start)
{
	char *at = spool_room(column, VALUE_MAX_BYTES);

	*start = at;
	if (at && spool_bytes(column))
		*at++ = ',';
	return at;
}

static int end(struct spool *column, const char *start, const char *at)
{
	spool_advance(column, (size_t)(at - start));
	return 0;
}

int column_put_u64(struct spool *column, uint64_t value)
{
	char *start, *at = begin(column, &start);

	return at ? end(column, start, number_put_u64(at, value)) : spool_error(column);
}

int column_put_i64(struct spool *column, int64_t value)
{
	char *start, *at = begin(column, &start);

	return at ? end(column, start, number_put_i64(at, value)) : spool_error(column);
}

int column_put_time_ms(struct spool *column, int64_t ns)
{
	char *start, *at = begin(column, &start);

	return at ? end(column, start, number_put_time_ms(at, ns)) : spool_error(column);
}

int column_put_null(struct spool *column)
{
	char *start, *at = begin(column, &start);

	return at ? end(column, start, mempcpy(at, "null", 4)) : spool_error(column);
}

int column_write(struct spool *column, struct json *json, const char *key)
{
	int err;

	json_key(json, key);
	json_array_begin(json);
	err = spool_splice(column, json);
	json_array_end(json);
	return err;
}

void column_write_constant(struct json *json, const char *key, const char *value, size_t count)
{
	json_key(json, key);
	json_array_begin(json);
	while (count--)
		json_literal(json, value);
	json_array_end(json);
}
