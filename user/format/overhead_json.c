/* SPDX-License-Identifier: BSD-2-Clause */
/* overhead_json.c - see overhead_json.h. */
#include "format/overhead_json.h"

#include "base/clock.h"
#include "format/json.h"
#include "recording/fact_list.h"
#include "recording/recording.h"

#define US(ns) ((double)(ns) / 1e3)

struct overhead {
	uint64_t samples, duration_ns, total_ns;
	double interval_us;
	double kernel_us[3], all_us[3]; /* a sample: the least, the mean, the most */
};

static uint64_t fact(const struct recording_facts *facts, const char *name)
{
	const struct recording_fact *found = fact_find(facts->log, facts->log_count, name);

	return found && !found->text ? found->value : 0;
}

bool overhead_json_known(const struct recording_facts *facts)
{
	return fact_find(facts->log, facts->log_count, RECORDING_COST_CPU) != NULL;
}

static struct overhead overhead_of(const struct recording_facts *facts)
{
	const uint64_t kernel_ns = fact(facts, RECORDING_COST_SAMPLES);
	const uint64_t cpu_ns = fact(facts, RECORDING_COST_CPU);
	struct overhead overhead = {
		.samples = fact(facts, "samples_captured"),
		.duration_ns = facts->end_ns - facts->start_ns,
		.total_ns = kernel_ns + cpu_ns,
		.interval_us = US(facts->interval_ns),
	};
	const double samples = overhead.samples ? (double)overhead.samples : 1;
	const double mean_us = US(kernel_ns) / samples, cpu_us = US(cpu_ns) / samples;
	const uint64_t least_ns = fact(facts, RECORDING_COST_LEAST);
	int i;

	overhead.kernel_us[0] = least_ns ? US(least_ns) : mean_us;
	overhead.kernel_us[1] = mean_us;
	overhead.kernel_us[2] = least_ns ? US(fact(facts, RECORDING_COST_MOST)) : mean_us;
	for (i = 0; i < 3; i++)
		overhead.all_us[i] = overhead.kernel_us[i] + cpu_us;
	return overhead;
}

static void write_double(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

static void write_statistics(struct json *json, const struct overhead *overhead)
{
	json_key(json, "statistics");
	json_object_begin(json);
	write_double(json, "minOverhead", overhead->all_us[0]);
	write_double(json, "meanOverhead", overhead->all_us[1]);
	write_double(json, "maxOverhead", overhead->all_us[2]);
	write_double(json, "minThread", overhead->kernel_us[0]);
	write_double(json, "meanThread", overhead->kernel_us[1]);
	write_double(json, "maxThread", overhead->kernel_us[2]);
	write_double(json, "minInterval", overhead->interval_us);
	write_double(json, "meanInterval", overhead->interval_us);
	write_double(json, "maxInterval", overhead->interval_us);
	json_key_u64(json, "minCleaning", 0);
	json_key_u64(json, "meanCleaning", 0);
	json_key_u64(json, "maxCleaning", 0);
	json_key_u64(json, "minCounter", 0);
	json_key_u64(json, "meanCounter", 0);
	json_key_u64(json, "maxCounter", 0);
	json_key_u64(json, "minLockings", 0);
	json_key_u64(json, "meanLockings", 0);
	json_key_u64(json, "maxLockings", 0);
	write_double(json, "overheadDurations", US(overhead->total_ns));
	write_double(json, "overheadPercentage",
		     overhead->duration_ns
			     ? (double)overhead->total_ns / (double)overhead->duration_ns
			     : 0);
	write_double(json, "profiledDuration", US(overhead->duration_ns));
	json_key_u64(json, "samplingCount", overhead->samples);
	json_object_end(json);
}

void overhead_json_gecko(struct json *json, const struct recording_facts *facts)
{
	const struct overhead overhead = overhead_of(facts);

	json_key(json, "samples");
	json_object_begin(json);
	json_key_literal(json, "schema",
			 "{\"time\":0,\"locking\":1,\"expiredMarkerCleaning\":2,\"counters\":3,"
			 "\"threads\":4}");
	json_key(json, "data");
	json_array_begin(json);
	json_array_begin(json);
	json_double(json, US(overhead.duration_ns));
	json_u64(json, 0);
	json_u64(json, 0);
	json_u64(json, 0);
	json_double(json, overhead.kernel_us[1]);
	json_array_end(json);
	json_array_end(json);
	json_object_end(json);
	write_statistics(json, &overhead);
}

static void write_column(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_array_begin(json);
	json_double(json, value);
	json_array_end(json);
}

void overhead_json_processed(struct json *json, const struct recording_facts *facts,
			     const char *pid, uint32_t main_thread)
{
	const struct overhead overhead = overhead_of(facts);

	json_key(json, "samples");
	json_object_begin(json);
	write_column(json, "counters", 0);
	write_column(json, "expiredMarkerCleaning", 0);
	write_column(json, "locking", 0);
	write_column(json, "threads", overhead.kernel_us[1]);
	write_column(json, "time", (double)overhead.duration_ns / NS_PER_MS);
	json_key_u64(json, "length", 1);
	json_object_end(json);
	json_key_string(json, "pid", pid);
	json_key_u64(json, "mainThreadIndex", main_thread);
	write_statistics(json, &overhead);
}
