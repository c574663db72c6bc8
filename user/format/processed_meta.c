/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_meta.c - see processed_meta.h. */
#include "format/processed_meta.h"

#include <string.h>

#include "format/json.h"
#include "format/marker_json.h"
#include "format/meta.h"
#include "profile/profile.h"

#include "geckobpf_abi.h"

#define FORMAT_VERSION 70
#define EXTENSIONS "{\"id\":[],\"name\":[],\"baseURL\":[],\"length\":0}"
/* Of what the busiest thread used, what another must have used to be shown at first. */
#define SHOWN_SHARE 20

/* ---- extra information ------------------------------------------------------------------------ */

static void begin_section(struct json *json, const char *label)
{
	json_object_begin(json);
	json_key_string(json, "label", label);
	json_key(json, "entries");
	json_array_begin(json);
}

static void end_section(struct json *json)
{
	json_array_end(json);
	json_object_end(json);
}

/* `text` NULL: the number counts. */
static void write_entry(struct json *json, const char *label, uint64_t value, const char *text)
{
	json_object_begin(json);
	json_key_string(json, "label", label);
	json_key_string(json, "format", text ? "string" : "integer");
	json_key(json, "value");
	if (text)
		json_text(json, text);
	else
		json_u64(json, value);
	json_object_end(json);
}

static void write_recording(struct json *json, const struct recording_facts *facts)
{
	size_t i;

	begin_section(json, "Recording");
	if (facts->version)
		write_entry(json, "geckobpf", 0, facts->version);
	for (i = 0; i < facts->log_count; i++)
		write_entry(json, facts->log[i].name, facts->log[i].value, facts->log[i].text);
	end_section(json);
}

static void write_reading(struct json *json, const struct profile_summary *summary)
{
	unsigned int end;

	begin_section(json, "Samples");
	write_entry(json, "in this profile", summary->samples, NULL);
	write_entry(json, "lost, since the recording is damaged", summary->damaged, NULL);
	if (summary->before_begin)
		write_entry(json, "left out, of a time that was overwritten", summary->before_begin,
			    NULL);
	if (summary->stackless)
		write_entry(json, "without a stack", summary->stackless, NULL);
	write_entry(json, "later than they should be", summary->clamped, NULL);
	write_entry(json, "short processes that are shown as one", summary->gathered.processes,
		    NULL);
	write_entry(json, "with a complete user stack", summary->stack_ends[GB_STACK_COMPLETE],
		    NULL);
	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (profile_stack_end(end) && summary->stack_ends[end])
			write_entry(json, profile_stack_end(end), summary->stack_ends[end], NULL);
	end_section(json);
}

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

/* A fact of the log that has a place of its own as well. */
static void write_memory(struct json *json, const struct recording_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (!strcmp(facts->log[i].name, RECORDING_MAIN_MEMORY))
			json_key_u64(json, "mainMemory", facts->log[i].value);
}

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
	if (shown->arguments)
		json_key_string(json, "arguments", shown->arguments);
	meta_write_machine(json, facts);
	write_memory(json, facts);
	meta_write_configuration(json, facts);
	json_key_literal(json, "extensions", EXTENSIONS);
	json_key_u64(json, "processType", 0);
	json_key_u64(json, "stackwalk", 1);
	json_key_literal(json, "debug", "false");
	write_views(json, input->symbol_files);
	write_shown(json, shown);
	json_key(json, "extra");
	json_array_begin(json);
	write_recording(json, facts);
	write_reading(json, summary);
	json_array_end(json);
	json_object_end(json);
}
