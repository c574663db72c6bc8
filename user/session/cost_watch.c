/* SPDX-License-Identifier: BSD-2-Clause */
/* cost_watch.c - see cost_watch.h. */
#include "session/cost_watch.h"

#include "base/clock.h"
#include "recording/fact_list.h"
#include "recording/recording.h"
#include "session/counters.h"

#include <sys/resource.h>

#define ENOUGH_SAMPLES 10 /* for a mean */

void cost_watch_begin(struct cost_watch *watch, uint64_t now_ns)
{
	*watch = (struct cost_watch){
		.cpu_before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.looked_ns = now_ns,
	};
}

void cost_watch_look(struct cost_watch *watch, const struct counters *counters, uint64_t now_ns)
{
	const uint64_t samples = counters->kernel[GB_STAT_SAMPLES];
	const uint64_t samples_ns = counters->kernel[GB_STAT_SAMPLES_NS];
	uint64_t each_ns;

	if (now_ns < watch->looked_ns + NS_PER_SEC || samples < watch->samples + ENOUGH_SAMPLES)
		return;
	each_ns = (samples_ns - watch->samples_ns) / (samples - watch->samples);
	if (!watch->least_ns || each_ns < watch->least_ns)
		watch->least_ns = each_ns;
	if (each_ns > watch->most_ns)
		watch->most_ns = each_ns;
	watch->looked_ns = now_ns;
	watch->samples = samples;
	watch->samples_ns = samples_ns;
}

static uint64_t peak_bytes(void)
{
	struct rusage used;

	return getrusage(RUSAGE_SELF, &used) ? 0 : (uint64_t)used.ru_maxrss << 10;
}

void cost_watch_log(const struct cost_watch *watch, const struct counters *counters,
		    struct fact_list *log)
{
	const uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - watch->cpu_before_ns;

	fact_list_add_number(log, RECORDING_COST_SAMPLES, counters->kernel[GB_STAT_SAMPLES_NS]);
	if (watch->least_ns) {
		fact_list_add_number(log, RECORDING_COST_LEAST, watch->least_ns);
		fact_list_add_number(log, RECORDING_COST_MOST, watch->most_ns);
	}
	fact_list_add_number(log, RECORDING_COST_CPU, cpu_ns);
	fact_list_add_number(log, RECORDING_COST_MEMORY, peak_bytes());
}
