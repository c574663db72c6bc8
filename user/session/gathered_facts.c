/* SPDX-License-Identifier: BSD-2-Clause */
/* gathered_facts.c - see gathered_facts.h. */
#include "session/gathered_facts.h"

#include "base/clock.h"
#include "session/sampling_period.h"
#include "session/state.h"
#include "session/setting_facts.h"

#include <stdio.h>
#include <unistd.h>

static void describe_filter(const struct session *session, struct gathered_facts *out)
{
	if (session->config->all)
		snprintf(out->thread_filter, sizeof(out->thread_filter), "*");
	else
		snprintf(out->thread_filter, sizeof(out->thread_filter), "pid:%u",
			 session->target.tgid);
	out->threads[0] = out->thread_filter;
	out->features[0] = "stackwalk";
	out->features[1] = "cpu";
	out->features[2] = session->config->kernel_stacks ? "kernel" : NULL;
}

void gathered_facts_collect(struct session *session, struct gathered_facts *out)
{
	const struct session_config *config = session->config;
	const char *name = config->all ? "all processes" : session->target.name;
	uint64_t from_ns;

	machine_facts_read(&out->machine);
	counters_collect(session, &out->counters);
	loss_watch_look(&session->loss_watch, &out->counters, session->end_ns);
	from_ns = out->counters.from_ns;
	describe_filter(session, out);
	out->facts = (struct recording_facts){
		.product = config->profile_name ? config->profile_name : name,
		.version = GECKOBPF_VERSION,
		.oscpu = out->machine.oscpu,
		.cpu_name = out->machine.cpu_name[0] ? out->machine.cpu_name : NULL,
		.physical_cpus = out->machine.physical_cpus,
		.logical_cpus = out->machine.logical_cpus,
		.start_real_ns = session->start_real_ns + (from_ns - session->start_ns),
		.start_ns = from_ns,
		.end_ns = session->end_ns,
		.is_cut = from_ns != session->start_ns,
		.pauses = session->pauses.items,
		.pause_count = session->pauses.count,
		.losses = session->loss_watch.all.items,
		.loss_count = session->loss_watch.all.count,
		.interval_ns = sampling_period_ns(config->rate_hz),
		.buffer_bytes = config->buffer_bytes,
		.duration_s = config->duration_s,
		.threads = out->threads,
		.features = out->features,
		.include_args = config->include_args,
		.writer_pid = (uint32_t)getpid(),
		.boot_id = out->machine.boot_id[0] ? out->machine.boot_id : NULL,
		.began_ns = session->start_ns,
	};
}

int gathered_facts_log(const struct session *session, int symbols_error, struct gathered_facts *out)
{
	fact_list_clear(&out->log);
	counters_log(&out->counters, &out->log);
	cost_watch_log(&session->cost_watch, &out->counters, &out->log);
	setting_facts_add(session, symbols_error, &out->log);
	if (out->machine.device[0])
		fact_list_add_text(&out->log, RECORDING_DEVICE, out->machine.device);
	out->facts.log = out->log.items;
	out->facts.log_count = out->log.count;
	return out->log.error;
}

void gathered_facts_clear(struct gathered_facts *facts)
{
	fact_list_clear(&facts->log);
}
