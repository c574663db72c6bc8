/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_meta.c - see processed_meta.h. */
#include "format/processed_meta.h"

#include "format/json.h"
#include "format/marker_json.h"
#include "format/meta.h"
#include "format/panel.h"
#include "profile/profile.h"

#define FORMAT_VERSION 70
#define EXTENSIONS "{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}"
/* Of what the busiest thread used, what another must have used to be shown at first. */
#define SHOWN_SHARE 20

/* ---- what is shown first ------------------------------------------------------------------------ */

static void write_visible(struct json *json, const struct processed_shown *shown)
{
	const struct busiest *busiest = &shown->busiest;
	bool has_target = !shown->has_target;
	size_t i;

	json_key(json, "initialVisibleThreads");
	json_array_begin(json);
	for (i = 0; i < busiest->count; i++) {
		const struct busy_thread *thread = &busiest->items[i];

		if (thread->cpu_ns < busiest->items[0].cpu_ns / SHOWN_SHARE)
			break;
		json_u64(json, thread->index);
		has_target = has_target || thread->index == shown->target;
	}
	if (!has_target)
		json_u64(json, shown->target);
	json_array_end(json);
}

/* Where nothing ran and no process was asked for, the front-end decides. */
static void write_shown(struct json *json, const struct processed_shown *shown)
{
	if (!shown->busiest.count && !shown->has_target)
		return;
	write_visible(json, shown);
	json_key(json, "initialSelectedThreads");
	json_array_begin(json);
	json_u64(json, shown->busiest.count ? shown->busiest.items[0].index : shown->target);
	json_array_end(json);
}

/* ---- meta ------------------------------------------------------------------------------------- */

/* What there is no use for is not offered. */
static void write_views(struct json *json, bool has_names)
{
	json_key(json, "symbolicated");
	json_bool(json, has_names);
	if (has_names)
		json_key_literal(json, "symbolicationNotSupported", "true");
	json_key_literal(json, "usesOnlyOneStackType", "true");
	json_key_literal(json, "sourceCodeIsNotOnSearchfox", "true");
	json_key_literal(json, "keepProfileThreadOrder", "true");
}

void processed_meta_write(struct json *json, const struct profile_input *input,
			  const struct processed_shown *shown,
			  const struct profile_summary *summary)
{
	const struct recording_facts *facts = profile_whole(input);

	json_object_begin(json);
	json_key_u64(json, "preprocessedProfileVersion", FORMAT_VERSION);
	meta_write_common(json, facts);
	json_key(json, "markerSchema");
	marker_json_schemas(json, false);
	meta_write_span(json, facts, &input->filter);
	json_key_string(json, "product", facts->product ? facts->product : "geckobpf");
	json_key_string(json, "importedFrom", "geckobpf");
	meta_write_version(json, facts);
	if (shown->arguments)
		json_key_string(json, "arguments", shown->arguments);
	meta_write_machine(json, facts);
	meta_write_configuration(json, facts, NULL);
	json_key_literal(json, "extensions", EXTENSIONS);
	json_key_u64(json, "processType", 0);
	json_key_u64(json, "stackwalk", 1);
	json_key_literal(json, "debug", "false");
	write_views(json, input->named_files);
	write_shown(json, shown);
	json_key(json, "extra");
	json_array_begin(json);
	panel_write_extra(json, facts, summary);
	json_array_end(json);
	json_object_end(json);
}
