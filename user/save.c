/* SPDX-License-Identifier: BSD-2-Clause */
/* save.c - see save.h. */
#include "save.h"

#include "base/clock.h"
#include "base/log.h"
#include "buffer/chunk_manager.h"
#include "buffer/profile_buffer.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/records.h"
#include "capture/sideband.h"
#include "facts.h"
#include "gecko/label.h"
#include "gecko/output.h"
#include "gecko/profile.h"
#include "session_state.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"
#include "target/command.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FACTS 40
#define MAX_PROGRAMS 16

/* The numbers of a recording: for the summary and the profilingLog. */
struct tally {
	struct profile_fact facts[MAX_FACTS];
	size_t count;
	uint64_t lost; /* samples that were taken, or should have been, and are not in the buffer */
	uint64_t overwritten; /* samples that made room for later ones */
	uint64_t events_lost; /* names, mappings and threads may be missing */
};

/* ---- where to -------------------------------------------------------------------- */

static void default_path(const struct session *session, char *path, size_t path_bytes)
{
	const char *name = session->config->all ? "system" : session->target.name;
	char safe[32], when[32];
	time_t now = time(NULL);
	struct tm local;
	size_t i;

	for (i = 0; name[i] && i < sizeof(safe) - 1; i++)
		safe[i] = strchr("/ \t\n:*?\"<>|\\'", name[i]) || (unsigned char)name[i] < ' '
				  ? '_'
				  : name[i];
	safe[i] = '\0';
	localtime_r(&now, &local);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
	if (session->config->all)
		snprintf(path, path_bytes, "%s-%s.json.gz", safe, when);
	else
		snprintf(path, path_bytes, "%s-%u-%s.json.gz", safe, session->target.tgid, when);
}

int save_check(struct session *session)
{
	char path[128];
	int err;

	/* A command has no pid yet; its file is named, in the same directory, when it has. */
	default_path(session, path, sizeof(path));
	err = output_check(session->config->output ? session->config->output : path);
	if (!err)
		return 0;
	if (err == -EINVAL)
		log_error("%s: unknown suffix; give a .json, .json.gz or .json.zst file, or - for "
			  "stdout",
			  session->config->output);
	else
		log_error("%s: cannot write there: %s; give another file with --output",
			  session->config->output ? session->config->output : path, strerror(-err));
	return err;
}

/* ---- numbers ----------------------------------------------------------------------- */

static void add_fact(struct tally *tally, const char *name, uint64_t value)
{
	if (tally->count < MAX_FACTS)
		tally->facts[tally->count++] = (struct profile_fact){.name = name, .value = value};
}

static void tally_kernel(const struct session *session, struct tally *tally)
{
	struct program_cost costs[MAX_PROGRAMS];
	uint64_t stats[GB_STAT_COUNT] = {0}, missed = 0;
	size_t count = kernel_side_costs(session->kernel, costs, MAX_PROGRAMS), i;

	(void)kernel_side_stats(session->kernel, stats);
	for (i = 0; i < count; i++) {
		if (!strcmp(costs[i].name, "on_timer"))
			missed = costs[i].missed;
		else
			tally->events_lost += costs[i].missed;
		log_debug("BPF program %s: %" PRIu64 " runs, %" PRIu64 " ns, %" PRIu64 " missed",
			  costs[i].name, costs[i].runs, costs[i].ns, costs[i].missed);
	}
	add_fact(tally, "timer_ticks", stats[GB_STAT_TICKS]);
	add_fact(tally, "context_switches", stats[GB_STAT_SWITCHES]);
	add_fact(tally, "samples_captured", stats[GB_STAT_SAMPLES]);
	add_fact(tally, "samples_lost_ring_full", stats[GB_STAT_RING_FULL]);
	add_fact(tally, "samples_lost_recursion", missed);
	add_fact(tally, "samples_sent_raw", stats[GB_STAT_RAW]);
	add_fact(tally, "events_lost_ring_full", stats[GB_STAT_CONTROL_FULL]);
	add_fact(tally, "events_lost_recursion", tally->events_lost);
	add_fact(tally, "children_not_followed", stats[GB_STAT_TARGETS_FULL]);
	tally->lost += stats[GB_STAT_RING_FULL] + missed;
	tally->events_lost += stats[GB_STAT_CONTROL_FULL] + stats[GB_STAT_TARGETS_FULL];
}

static void tally_user(const struct session *session, struct tally *tally)
{
	const struct records_counts *counts = records_counts(session->records);
	uint64_t no_memory = counts->no_memory + drain_lost(session->drain);

	add_fact(tally, "samples_recorded", counts->samples);
	add_fact(tally, "samples_lost_buffer", counts->put_failed);
	add_fact(tally, "records_lost_memory", no_memory);
	add_fact(tally, "records_bad", counts->bad_records);
	add_fact(tally, "mappings_lost_ring_full", sideband_lost(session->sideband));
	tally->lost += counts->put_failed;
	tally->events_lost += no_memory + counts->bad_records + sideband_lost(session->sideband);
}

static void tally_buffer(const struct session *session, struct tally *tally)
{
	struct chunk_manager_stats stats = chunk_manager_get_stats(session->chunks);
	uint64_t used = 0;
	size_t i;

	for (i = 0; i < processes_count(session->processes); i++) {
		const struct process *process = processes_at(session->processes, i);
		struct profile_buffer_state state;

		if (!process->buffer)
			continue;
		state = profile_buffer_get_state(process->buffer);
		tally->overwritten += state.cleared;
		used += state.range_end - state.range_start;
	}
	add_fact(tally, "samples_overwritten", tally->overwritten);
	add_fact(tally, "buffer_chunks_made", stats.made);
	add_fact(tally, "buffer_chunks_recycled", stats.recycled);
	add_fact(tally, "buffer_chunks_destroyed", stats.destroyed);
	add_fact(tally, "buffer_bytes", stats.unreleased_bytes + stats.released_bytes);
	add_fact(tally, "buffer_bytes_used", used);
	add_fact(tally, "ring_bytes", kernel_side_ring_bytes(session->kernel));
	add_fact(tally, "sampling_rate_hz", session->config->rate_hz);
}

/* ---- the profile --------------------------------------------------------------------- */

/* Everything that profile_write() needs for as long as it may be called again. */
struct writing {
	struct machine_facts machine;
	struct tally tally;
	struct symbolizer *symbolizer;
	struct kernel_symbols *kernel;
	struct profile_facts facts;
	char thread_filter[64];
	const char *threads[2];
	const char *features[4];
};

static void describe_filter(const struct session *session, struct writing *writing)
{
	if (session->config->all)
		snprintf(writing->thread_filter, sizeof(writing->thread_filter), "*");
	else
		snprintf(writing->thread_filter, sizeof(writing->thread_filter), "pid:%u",
			 session->target.tgid);
	writing->threads[0] = writing->thread_filter;
	writing->features[0] = "stackwalk";
	writing->features[1] = "cpu";
	writing->features[2] = session->config->kernel_stacks ? "kernel" : NULL;
}

static void collect_facts(const struct session *session, struct writing *writing)
{
	const struct session_config *config = session->config;
	const char *name = config->all ? "all processes" : session->target.name;

	facts_read(&writing->machine);
	tally_kernel(session, &writing->tally);
	tally_user(session, &writing->tally);
	tally_buffer(session, &writing->tally);
	describe_filter(session, writing);
	writing->facts = (struct profile_facts){
		.product = config->profile_name ? config->profile_name : name,
		.version = GECKOBPF_VERSION,
		.oscpu = writing->machine.oscpu,
		.cpu_name = writing->machine.cpu_name[0] ? writing->machine.cpu_name : NULL,
		.physical_cpus = writing->machine.physical_cpus,
		.logical_cpus = writing->machine.logical_cpus,
		.start_real_ns = session->start_real_ns,
		.start_ns = session->start_ns,
		.end_ns = session->end_ns,
		.interval_ns = NS_PER_SEC / config->rate_hz,
		.buffer_bytes = config->buffer_bytes,
		.duration_s = config->duration_s,
		.threads = writing->threads,
		.features = writing->features,
		.log = writing->tally.facts,
		.log_count = writing->tally.count,
		.include_args = config->include_args,
	};
}

static int open_symbols(const struct session *session, struct writing *writing)
{
	int err;

	if (session->config->addresses)
		return 0;
	err = symbolizer_open(&writing->symbolizer, NULL);
	if (err || !session->config->kernel_stacks)
		return err;
	err = kernel_symbols_open(&writing->kernel, NULL);
	if (err == -EACCES)
		log_warn("kernel symbols: hidden; kernel frames have no names. To see them: sysctl "
			 "kernel.kptr_restrict=0");
	else if (err)
		log_warn("kernel symbols: %s; kernel frames have no names", strerror(-err));
	return 0;
}

static int write_to(struct session *session, const struct writing *writing, const char *path,
		    struct profile_summary *summary, uint64_t *bytes)
{
	const struct output_options options = {
		.is_cancelled = session_is_cancelled,
		.context = session,
		.owner_uid = session->account.is_set ? (int)session->account.uid : -1,
		.owner_gid = session->account.is_set ? (int)session->account.gid : -1,
	};
	const struct profile_input input = {
		.facts = &writing->facts,
		.processes = session->processes,
		.objects = session->objects,
		.symbolizer = writing->symbolizer,
		.kernel = writing->kernel,
	};
	struct output *output;
	int err;

	err = output_open(&output, path, &options);
	if (err)
		return err;
	summary->top_count = session->config->top;
	err = profile_write(&input, output, summary);
	if (!err)
		err = output_commit(output);
	*bytes = output_bytes_out(output);
	output_close(output);
	return err;
}

static bool is_disk_trouble(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EIO || err == -EROFS || err == -EFBIG;
}

/* The file's own place is full or broken: the profile goes to $TMPDIR rather than nowhere. */
static int write_elsewhere(struct session *session, const struct writing *writing, const char *path,
			   struct profile_summary *summary, uint64_t *bytes)
{
	const char *directory = getenv("TMPDIR"), *slash = strrchr(path, '/');
	char other[8400];
	int err;

	if (!directory || !*directory)
		directory = "/tmp";
	snprintf(other, sizeof(other), "%s/%s", directory, slash ? slash + 1 : path);
	profile_summary_clear(summary);
	err = write_to(session, writing, other, summary, bytes);
	if (err)
		log_error("%s: %s; the profile is lost", other, strerror(-err));
	else
		log_info("wrote %s instead", other);
	return err;
}

static void print_size(uint64_t bytes, char *text, size_t text_bytes)
{
	if (bytes < 1000000)
		snprintf(text, text_bytes, "%" PRIu64 " kB", (bytes + 500) / 1000);
	else
		snprintf(text, text_bytes, "%.1f MB", (double)bytes / 1e6);
}

static void print_losses(const struct tally *tally)
{
	if (tally->lost)
		log_warn("%" PRIu64 " samples were lost: we could not keep up; lower --rate",
			 tally->lost);
	if (tally->overwritten)
		log_warn("%" PRIu64
			 " samples made room for later ones: the buffer holds the latest",
			 tally->overwritten);
	if (tally->events_lost)
		log_warn("%" PRIu64
			 " events were lost: some names, threads or libraries may be missing",
			 tally->events_lost);
}

/* Stacks that ended early, by reason: "12 stacks truncated: stack not readable". */
static void print_truncated(const struct profile_summary *summary)
{
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (summary->stack_ends[end] && label_stack_end(end))
			log_more("%" PRIu64 " stacks truncated: %s", summary->stack_ends[end],
				 label_stack_end(end));
}

/* Percent of the user stacks that are whole; negative: there were none. */
static double complete_share(const struct profile_summary *summary)
{
	uint64_t complete = summary->stack_ends[GB_STACK_COMPLETE], all = complete;
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (label_stack_end(end))
			all += summary->stack_ends[end];
	return all ? (double)complete * 100 / (double)all : -1;
}

static void print_summary(const char *path, uint64_t bytes, const struct tally *tally,
			  const struct profile_summary *summary)
{
	char size[32], complete[64] = "";
	double share = complete_share(summary);

	print_size(bytes, size, sizeof(size));
	if (share >= 0)
		snprintf(complete, sizeof(complete), ", %.1f %% of stacks complete", share);
	log_info("wrote %s (%s): %" PRIu64 " samples of %" PRIu64 " thread%s, %" PRIu64 " lost%s",
		 strcmp(path, "-") ? path : "to stdout", size, summary->samples, summary->threads,
		 summary->threads == 1 ? "" : "s", tally->lost, complete);
	print_truncated(summary);
	if (strcmp(path, "-"))
		log_more("open it at https://profiler.firefox.com (Load a profile from file)");
	print_losses(tally);
}

/* On stdout, unless the profile is there. */
static void print_top(const char *path, const struct profile_summary *summary)
{
	FILE *file = strcmp(path, "-") ? stdout : stderr;
	size_t i;

	for (i = 0; i < summary->top_count; i++)
		fprintf(file, "%5.1f %% %9" PRIu64 "  %s\n",
			(double)summary->top[i].self_samples * 100 / (double)summary->samples,
			summary->top[i].self_samples, summary->top[i].name);
}

static int write_and_report(struct session *session, const struct writing *writing,
			    const char *path)
{
	struct profile_summary summary = {0};
	uint64_t bytes = 0;
	int err;

	err = write_to(session, writing, path, &summary, &bytes);
	if (!err) {
		print_summary(path, bytes, &writing->tally, &summary);
		print_top(path, &summary);
	} else if (err == -EINTR) {
		log_error("%s: interrupted while writing; nothing was saved", path);
	} else {
		log_error("%s: cannot write the profile: %s", path, strerror(-err));
		if (is_disk_trouble(err) && strcmp(path, "-"))
			(void)write_elsewhere(session, writing, path, &summary, &bytes);
	}
	profile_summary_clear(&summary);
	return err;
}

int save_profile(struct session *session)
{
	char path[4200];
	struct writing *writing = calloc(1, sizeof(*writing));
	int err;

	if (!writing) {
		log_error("out of memory; the profile is lost");
		return -ENOMEM;
	}
	if (session->config->output)
		snprintf(path, sizeof(path), "%s", session->config->output);
	else
		default_path(session, path, sizeof(path));
	collect_facts(session, writing);
	err = open_symbols(session, writing);
	if (err)
		log_error("symbols: %s; the profile is lost", strerror(-err));
	else
		err = write_and_report(session, writing, path);
	kernel_symbols_close(writing->kernel);
	symbolizer_close(writing->symbolizer);
	free(writing);
	return err;
}
