/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_libs.c - see gecko_libs.h. */
#include "format/gecko_libs.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "format/json.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "target/object.h"
#include "target/process.h"

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

static int write_lib(struct libs *libs, const struct profile_lib *lib, struct json *json)
{
	const char *path = lib->object->path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct build_id id;
	uint64_t relative;
	int err = libs_relative_address(libs, lib->object, lib->offset, &relative);

	if (!err)
		err = libs_build_id(libs, lib->object, &id);
	if (err)
		return err;
	json_object_begin(json);
	json_key_u64(json, "start", lib->start);
	json_key_u64(json, "end", lib->end);
	json_key_u64(json, "offset", relative);
	json_key_string(json, "arch", GB_ARCH_NAME);
	json_key_string(json, "name", name);
	json_key_string(json, "path", path);
	json_key_string(json, "debugName", name);
	json_key_string(json, "debugPath", path);
	write_hex(json, "breakpadId", &id, true);
	write_hex(json, "codeId", &id, false);
	json_object_end(json);
	return 0;
}

int gecko_libs_write(const struct profile_process *process, struct json *json)
{
	struct profile_libs list = {0};
	size_t i;
	int err = libs_list(&process->process->space, frames_objects(process->frames), &list);

	json_array_begin(json);
	for (i = 0; i < list.count && !err; i++)
		err = write_lib(process->libs, &list.items[i], json);
	json_array_end(json);
	free(list.items);
	return err;
}
