/* SPDX-License-Identifier: BSD-2-Clause */
/* no_samples.c - see no_samples.h. The causes are in a table: the first one that applies is told. */
#include "session/no_samples.h"

#include "base/clock.h"
#include "base/error.h"
#include "capture/kernel_side.h"
#include "recording/records.h"
#include "session/state.h"
#include "target/process.h"
#include "target/procfs.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "geckobpf_abi.h"

#define NAMES 5
#define SOME_TICKS 3 /* of so many periods one would have been a sample's */

/* What is known of it. */
struct evidence {
	const struct session *session;
	uint64_t stats[GB_STAT_COUNT];
	uint64_t wall_ns, paused_ns, cpu_ns;
	struct {
		const struct thread *thread;
		uint64_t cpu_ns;
	} most[NAMES]; /* that used CPU time, the most first; of each name one */
};

/* ---- what happened ------------------------------------------------------------------- */

static uint64_t cpu_time_ns(const struct thread *thread)
{
	if (thread->cpu_first_ns == UINT64_MAX || thread->cpu_last_ns < thread->cpu_first_ns)
		return 0;
	return thread->cpu_last_ns - thread->cpu_first_ns;
}

static void note_thread(struct evidence *evidence, const struct thread *thread)
{
	const uint64_t cpu_ns = cpu_time_ns(thread);
	size_t n, last = NAMES - 1;

	evidence->cpu_ns += cpu_ns;
	for (n = 0; n < NAMES && evidence->most[n].thread; n++)
		if (!strcmp(evidence->most[n].thread->name, thread->name))
			last = n; /* its place */
	if (cpu_ns <= evidence->most[last].cpu_ns)
		return;
	for (n = last; n > 0 && cpu_ns > evidence->most[n - 1].cpu_ns; n--)
		evidence->most[n] = evidence->most[n - 1];
	evidence->most[n].thread = thread;
	evidence->most[n].cpu_ns = cpu_ns;
}

static void gather(struct evidence *evidence, const struct session *session)
{
	size_t i, n;

	*evidence = (struct evidence){.session = session};
	evidence->wall_ns = session->end_ns - session->start_ns;
	if (session->kernel)
		(void)kernel_side_stats(session->kernel, evidence->stats);
	for (i = 0; i < session->pauses.count; i++) {
		const struct time_range *pause = &session->pauses.items[i];

		evidence->paused_ns +=
			(pause->end_ns ? pause->end_ns : session->end_ns) - pause->start_ns;
	}
	for (i = 0; i < processes_count(session->processes); i++) {
		const struct process *process = processes_at(session->processes, i);

		for (n = 0; n < process->threads.count; n++)
			note_thread(evidence, process->threads.items[n]);
	}
}

/* ---- causes ---------------------------------------------------------------------------- */

static bool was_too_early(const struct evidence *evidence, struct error *error)
{
	const struct session *session = evidence->session;

	if (!(session->config->delay_s > 0) || session->end_ns >= session->begin_ns)
		return false;
	error_set(error, 0, "no samples", "the recording ended before --delay was over");
	error_advise(error, "give a shorter one, or record something that lives longer");
	return true;
}

static bool was_paused(const struct evidence *evidence, struct error *error)
{
	if (!evidence->paused_ns || evidence->paused_ns < evidence->wall_ns * 9 / 10)
		return false;
	error_set(error, 0, "no samples", "it was paused for %.1f of %.1f s",
		  (double)evidence->paused_ns / NS_PER_SEC, (double)evidence->wall_ns / NS_PER_SEC);
	error_advise(error, "let it go on, with SIGUSR1 or resume");
	return true;
}

static bool had_other_names(const struct evidence *evidence, struct error *error)
{
	char names[NAMES * (THREAD_NAME_BYTES + 4)] = "";
	size_t used = 0, n;

	if (!evidence->session->config->threads || !evidence->stats[GB_STAT_TICKS_NOT_PICKED])
		return false;
	for (n = 0; n < NAMES && evidence->most[n].thread; n++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s'%s'",
					 n ? ", " : "", evidence->most[n].thread->name);
	error_set(error, 0, "no samples", "no thread that ran is called %s; those that did: %s",
		  evidence->session->config->threads, names);
	error_advise(error, "give other --threads");
	return true;
}

static bool has_running_child(const struct evidence *evidence)
{
	const struct session_config *config = evidence->session->config;
	size_t i;

	for (i = 0; i < config->pid_count; i++)
		if (procfs_has_child(config->pids[i]))
			return true;
	return false;
}

static bool was_asleep(const struct evidence *evidence, struct error *error)
{
	const struct session *session = evidence->session;

	if (evidence->cpu_ns > SOME_TICKS * session->source_config.period_ns)
		return false;
	error_set(error, 0, "no samples", "%s slept: it used %.1f ms of CPU time in %.1f s",
		  session->config->all ? "all there is" : session->target.name,
		  (double)evidence->cpu_ns / NS_PER_MS, (double)evidence->wall_ns / NS_PER_SEC);
	error_advise(error, !session->config->children && has_running_child(evidence)
				    ? "it has children: record without --no-children"
				    : "give it something to do meanwhile, or record for longer");
	return true;
}

static bool is_not_known(const struct evidence *evidence, struct error *error)
{
	error_set(error, 0, "no samples",
		  "although %.1f ms of CPU time were used in %.1f s, the timer never came",
		  (double)evidence->cpu_ns / NS_PER_MS, (double)evidence->wall_ns / NS_PER_SEC);
	error_advise(error, "give a higher --rate, or record for longer");
	return true;
}

void no_samples_tell(struct session *session)
{
	static bool (*const causes[])(const struct evidence *evidence, struct error *error) = {
		was_too_early, was_paused, had_other_names, was_asleep, is_not_known,
	};
	struct evidence evidence;
	struct error error = {0};
	size_t i;

	gather(&evidence, session);
	if (records_counts(session->records)->samples || evidence.stats[GB_STAT_SAMPLES] ||
	    evidence.stats[GB_STAT_RING_FULL])
		return;
	for (i = 0; !causes[i](&evidence, &error); i++)
		;
	session_tell_error(session, SESSION_WARNING, &error);
}
