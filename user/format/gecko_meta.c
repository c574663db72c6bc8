/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_meta.c - all processes share one start time, so the front-end shifts none of them.
 *
 * The front-end takes digits at the end of `misc` for the version of what was profiled: it has
 * none.
 */
#include "format/gecko_meta.h"

#include "format/json.h"
#include "format/marker_json.h"
#include "format/meta.h"
#include "format/panel.h"
#include "profile/profile.h"
#include "target/process.h"

#define EXTENSIONS "{\"schema\":{\"id\":0,\"name\":1,\"baseURL\":2},\"data\":[]}"

void gecko_meta_write(struct json *json, const struct profile_input *input)
{
	const struct recording_facts *facts = profile_whole(input);

	json_object_begin(json);
	meta_write_common(json, facts);
	json_key(json, "markerSchema");
	marker_json_schemas(json, true);
	json_key_literal(json, "shutdownTime", "null");
	meta_write_span(json, facts, &input->filter);
	json_key(json, "presymbolicated");
	json_bool(json, input->named_files);
	json_key_string(json, "product", facts->product ? facts->product : "geckobpf");
	json_key_string(json, "misc", "geckobpf");
	meta_write_version(json, facts);
	meta_write_machine(json, facts);
	meta_write_configuration(json, facts, panel_write_list);
	json_key_literal(json, "extensions", EXTENSIONS);
	json_key_u64(json, "processType", 0);
	json_key_u64(json, "stackwalk", 1);
	json_key_u64(json, "gcpoison", 0);
	json_key_u64(json, "asyncstack", 0);
	json_key_u64(json, "debug", 0);
	json_object_end(json);
}

void gecko_meta_write_process(struct json *json, const struct recording_facts *facts,
			      const struct process *process)
{
	json_object_begin(json);
	meta_write_common(json, facts);
	json_key_literal(json, "markerSchema", "[]"); /* those of the whole hold */
	json_key(json, "shutdownTime");
	if (process->died_ns)
		json_time_ms(json, (int64_t)profile_time_ns(facts, process->died_ns));
	else
		json_none(json);
	json_object_end(json);
}
