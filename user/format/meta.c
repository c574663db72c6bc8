/* SPDX-License-Identifier: BSD-2-Clause */
/* meta.c - see meta.h. */
#include "format/meta.h"

#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "format/json.h"
#include "profile/filter.h"
#include "profile/model.h"

#define GECKO_VERSION 36

#define SAMPLE_UNITS "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}"

static void write_category(struct json *json, const struct profile_category *category)
{
	size_t i;

	json_object_begin(json);
	json_key_string(json, "name", category->name);
	json_key_string(json, "color", category->color);
	json_key(json, "subcategories");
	json_array_begin(json);
	for (i = 0; category->subcategories[i]; i++)
		json_text(json, category->subcategories[i]);
	json_array_end(json);
	json_object_end(json);
}

static void write_categories(struct json *json)
{
	size_t i;

	json_key(json, "categories");
	json_array_begin(json);
	for (i = 0; i < CATEGORY_COUNT; i++)
		write_category(json, &profile_categories[i]);
	json_array_end(json);
}

static void write_time(struct json *json, const struct recording_facts *facts, uint64_t time_ns)
{
	json_time_ms(json, (int64_t)profile_time_ns(facts, time_ns));
}

void meta_write_common(struct json *json, const struct recording_facts *facts)
{
	json_key_u64(json, "version", GECKO_VERSION);
	json_key_time_ms(json, "startTime", (int64_t)(facts->start_real_ns - facts->lead_ns));
	/* A machine may have been booted after that. */
	if (facts->start_ns >= facts->lead_ns)
		json_key_u64(json, "startTimeAsClockMonotonicNanosecondsSinceBoot",
			     facts->start_ns - facts->lead_ns);
	json_key_time_ms(json, "interval", (int64_t)facts->interval_ns);
	write_categories(json);
}

static void write_known(struct json *json, const char *key, const char *text)
{
	if (text)
		json_key_string(json, key, text);
}

static void write_texts(struct json *json, const char *const *texts)
{
	for (; texts && *texts; texts++)
		json_text(json, *texts);
}

void meta_write_configuration(struct json *json, const struct recording_facts *facts,
			      void (*write_more)(struct json *json,
						 const struct recording_facts *facts))
{
	json_key(json, "configuration");
	json_object_begin(json);
	json_key(json, "threads");
	json_array_begin(json);
	write_texts(json, facts->threads);
	json_array_end(json);
	json_key(json, "features");
	json_array_begin(json);
	write_texts(json, facts->features);
	if (write_more)
		write_more(json, facts);
	json_array_end(json);
	/* In entries of 8 bytes. */
	json_key_u64(json, "capacity", facts->buffer_bytes / 8);
	if (facts->duration_s > 0) {
		json_key(json, "duration");
		json_double(json, facts->duration_s);
	}
	json_object_end(json);
}

void meta_write_version(struct json *json, const struct recording_facts *facts)
{
	char text[64];

	if (!facts->version)
		return;
	snprintf(text, sizeof(text), "geckobpf %s", facts->version);
	json_key_string(json, "appBuildID", text);
}

/* A fact of the log that has a place of its own as well; NULL: it is not known. */
static const struct recording_fact *find_fact(const struct recording_facts *facts, const char *name)
{
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (!strcmp(facts->log[i].name, name))
			return &facts->log[i];
	return NULL;
}

void meta_write_machine(struct json *json, const struct recording_facts *facts)
{
	const struct recording_fact *device = find_fact(facts, RECORDING_DEVICE);
	const struct recording_fact *memory = find_fact(facts, RECORDING_MAIN_MEMORY);

	json_key_string(json, "platform", "Linux");
	json_key_string(json, "toolkit", "");
	json_key_string(json, "abi", GB_ARCH_NAME "-gcc3");
	write_known(json, "oscpu", facts->oscpu);
	write_known(json, "CPUName", facts->cpu_name);
	if (facts->physical_cpus)
		json_key_u64(json, "physicalCPUs", facts->physical_cpus);
	if (facts->logical_cpus)
		json_key_u64(json, "logicalCPUs", facts->logical_cpus);
	if (device)
		write_known(json, "device", device->text);
	if (memory)
		json_key_u64(json, "mainMemory", memory->value);
}

void meta_write_span(struct json *json, const struct recording_facts *facts,
		     const struct profile_filter *part)
{
	uint64_t from_ns, to_ns;

	profile_filter_span(part, profile_time_ns(facts, facts->end_ns), &from_ns, &to_ns);
	json_key_time_ms(json, "profilingStartTime", (int64_t)from_ns);
	/* 0 would be taken for "not known". */
	json_key_time_ms(json, "profilingEndTime", to_ns ? (int64_t)to_ns : 1);
	json_key_literal(json, "sampleUnits", SAMPLE_UNITS);
}

void meta_write_pauses(struct json *json, const struct recording_facts *facts)
{
	size_t i;

	json_key(json, "pausedRanges");
	json_array_begin(json);
	for (i = 0; i < facts->pause_count; i++) {
		const struct time_range *pause = &facts->pauses[i];

		if (pause->end_ns && pause->end_ns <= facts->start_ns)
			continue;
		json_object_begin(json);
		json_key(json, "startTime");
		write_time(json, facts, pause->start_ns);
		json_key(json, "endTime");
		if (pause->end_ns)
			write_time(json, facts, pause->end_ns);
		else
			json_none(json);
		json_key_string(json, "reason", "profiler-paused");
		json_object_end(json);
	}
	json_array_end(json);
}
