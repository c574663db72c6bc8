/* SPDX-License-Identifier: BSD-2-Clause */
/* lib_json.c - see lib_json.h. */
#include "format/lib_json.h"

#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/build_id.h"
#include "format/json.h"

static void write_hex(struct json *json, const char *key, const struct build_id *id, bool is_guid)
{
	/* A GUID's first three numbers are stored low byte first. */
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	const char *digits = is_guid ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[2 * BUILD_ID_MAX_BYTES + 2];
	size_t count = is_guid ? sizeof(order) : id->size, i, length = 0;

	for (i = 0; i < count && id->size; i++) {
		size_t from = is_guid ? order[i] : i;
		uint8_t byte = from < id->size ? id->bytes[from] : 0;

		text[length++] = digits[byte >> 4];
		text[length++] = digits[byte & 15];
	}
	if (is_guid && id->size)
		text[length++] = '0';
	json_key(json, key);
	json_text_bytes(json, text, length);
}

void lib_json_write(struct json *json, const char *path, const struct build_id *id)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	json_key_string(json, "arch", GB_ARCH_NAME);
	json_key_string(json, "name", name);
	json_key_string(json, "path", path);
	json_key_string(json, "debugName", name);
	json_key_string(json, "debugPath", path);
	write_hex(json, "breakpadId", id, true);
	write_hex(json, "codeId", id, false);
}
