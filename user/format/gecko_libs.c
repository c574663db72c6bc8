/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_libs.c - see gecko_libs.h. */
#include "format/gecko_libs.h"

#include <stdlib.h>

#include "format/json.h"
#include "format/lib_json.h"
#include "profile/frames.h"
#include "profile/libs.h"
#include "target/object.h"
#include "target/process.h"

static int write_lib(struct libs *libs, const struct profile_lib *lib, struct json *json)
{
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
	lib_json_write(json, lib->object->path, &id);
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
