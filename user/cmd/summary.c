/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.c - see summary.h. */
#include "cmd/summary.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "cmd/unnamed.h"
#include "format/display_name.h"
#include "session/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MISSED_SHOWN 100 /* one tick missed in so many is told */

static void print_size(uint64_t bytes, char *text, size_t text_bytes)
{
	if (bytes < 1000000)
		snprintf(text, text_bytes, "%" PRIu64 " kB", (bytes + 500) / 1000);
	else
		snprintf(text, text_bytes, "%.1f MB", (double)bytes / 1e6);
}

/* The processes that lost most of what the buffer could not hold: "12 of clang (pid 42)". */
static void print_overwritten_processes(const struct counters *counters)
{
	const struct overwritten_process *process = counters->most_overwritten;
	size_t n;

	for (n = 0; n < COUNTERS_MOST_OVERWRITTEN && process[n].samples; n++)
		log_more("%" PRIu64 " of them of %s (pid %u)", process[n].samples, process[n].name,
			 process[n].tgid);
}

static void print_overwritten(const struct counters *counters)
{
	/* What was overwritten last may be later than what was taken in last. */
	const uint64_t held_ns =
		counters->end_ns > counters->from_ns ? counters->end_ns - counters->from_ns : 0;
	const double held_s = (double)held_ns / NS_PER_SEC;

	if (counters->is_ring) {
		log_info("the buffer held the last %.1f s; %" PRIu64
			 " older samples were overwritten",
			 held_s, counters->overwritten);
		return;
	}
	log_warn("the buffer was full: the profile has the last %.1f s; %" PRIu64
		 " older samples were overwritten; give a larger --buffer-size",
		 held_s, counters->overwritten);
	print_overwritten_processes(counters);
}

/* The buffer still has them; but others of their time, which it has no more, would be missing beside them. */
static void print_before_begin(const struct profile_summary *profile)
{
	if (profile->before_begin)
		log_more("%" PRIu64 " more of their time were left out", profile->before_begin);
}

static void print_ticks(uint64_t count, uint64_t missed, const char *why)
{
	if (count)
		log_more("%" PRIu64 " of them (%.0f %%): %s", count,
			 (double)count * 100 / (double)missed, why);
}

/* Those that neither we nor the kernel's limit have kept away: what a hypervisor took is known of the whole machine. */
static void print_other_ticks(const struct counters *counters, uint64_t missed)
{
	const uint64_t other = counters->ticks_missed_other;
	const uint64_t rate_hz = counters->rate_hz ? counters->rate_hz : 1;
	const uint64_t stolen = counters->stolen_ns / (NS_PER_SEC / rate_hz);
	char why[128];

	snprintf(why, sizeof(why), "a hypervisor had the CPUs, for %.2f s in all",
		 (double)counters->stolen_ns / NS_PER_SEC);
	print_ticks(other < stolen ? other : stolen, missed, why);
	print_ticks(other < stolen ? 0 : other - stolen, missed,
		    "interrupts were off, or the kernel was late for reasons of its own");
}

static void print_missed_ticks(const struct counters *counters)
{
	const uint64_t ticks = counters->kernel[GB_STAT_TICKS];
	const uint64_t missed = counters->kernel[GB_STAT_TICKS_MISSED];
	char why[160];

	if (missed <= ticks / MISSED_SHOWN)
		return;
	log_more("%" PRIu64 " timer ticks (%.1f %%) did not come in time for a sample:", missed,
		 (double)missed * 100 / (double)(ticks + missed));
	print_ticks(counters->kernel[GB_STAT_TICKS_MISSED_OWN], missed,
		    "to take a sample took longer than the time between two; lower --rate");
	snprintf(why, sizeof(why),
		 "the kernel throttled the timer: kernel.perf_event_max_sample_rate is %u now; "
		 "raise "
		 "it with sysctl, or lower --rate",
		 counters->max_rate_hz);
	print_ticks(counters->kernel[GB_STAT_TICKS_MISSED_THROTTLED], missed, why);
	print_other_ticks(counters, missed);
}

static void print_forgotten(const struct expire_counts *expired)
{
	if (expired->processes || expired->threads)
		log_more("forgotten, for they ended before: %" PRIu64 " processes, %" PRIu64
			 " threads, %" PRIu64 " files",
			 expired->processes, expired->threads, expired->objects);
}

static void print_left_out(uint64_t mappings)
{
	if (mappings)
		log_warn("%" PRIu64 " mappings were forgotten, for their processes have too many: "
			 "names of code there may be missing",
			 mappings);
}

static const char *why_too_slow(const struct session_saved *saved)
{
	return saved->had_priority ? "we could not keep up; lower --rate"
				   : "others had the CPUs that we needed; record as root with "
				     "CAP_SYS_NICE, without --no-priority or chrt, or lower --rate";
}

/* How many of them for each cause; what was left out at the end has been told. */
static void print_causes(const struct counters *counters, enum loss_kind kind)
{
	uint64_t counts[LOSS_CAUSE_COUNT];
	unsigned int cause;

	counters_losses(counters, counts);
	counts[LOSS_LEFT_OUT] = counts[LOSS_EVENTS_LEFT_OUT] = 0;
	for (cause = 0; cause < LOSS_CAUSE_COUNT; cause++)
		if (counts[cause] && loss_words[cause].kind == kind)
			log_more("%" PRIu64 " of them: %s", counts[cause], loss_words[cause].why);
}

/* What was left out is lost, too. */
static void print_lost(const struct session_saved *saved)
{
	const struct drain_left_out *left_out = &saved->counters.left_out;
	const double behind_s = (double)saved->counters.behind_ns / NS_PER_SEC;

	if (left_out->bytes)
		log_warn("%.1f s behind: the last %.1f s of the recording were left out (%" PRIu64
			 " samples, %" PRIu64 " events): %s",
			 behind_s, behind_s, left_out->samples, left_out->events,
			 why_too_slow(saved));
	if (saved->counters.lost <= left_out->samples)
		return;
	log_warn("%" PRIu64 " samples were lost: %s", saved->counters.lost - left_out->samples,
		 why_too_slow(saved));
	print_causes(&saved->counters, LOSS_OF_SAMPLES);
}

static void print_unwinding(const struct publisher_stats *tables)
{
	const struct file_tables_stats *files = &tables->files;

	if (files->beyond_limits)
		log_warn("%s%s has %s: its stacks may be cut, where it keeps no frame pointers",
			 strlen(files->beyond.path) == sizeof(files->beyond.path) - 1 ? "..." : "",
			 files->beyond.path, unwind_limit_text(files->beyond.limit));
	if (files->beyond_limits > 1)
		log_more("and %" PRIu64 " more files are beyond such a limit; --verbose names them",
			 files->beyond_limits - 1);
	if (files->no_room > files->no_room_fixed)
		log_warn("the unwind tables of %" PRIu64
			 " files found no room: stacks may be cut; raise --unwind-memory",
			 files->no_room - files->no_room_fixed);
	if (files->no_room_fixed)
		log_warn("the unwind tables of %" PRIu64 " files found no room among the rules and "
			 "pages of all files: stacks may be "
			 "cut; record fewer programs at once, with --pid or a command in place of "
			 "--all",
			 files->no_room_fixed);
	if (tables->processes_no_room)
		log_warn("the mappings of processes found no room %" PRIu64
			 " times: their stacks may be cut; record fewer processes at once, with "
			 "--pid or a command in place of --all",
			 tables->processes_no_room);
}

static void print_losses(const struct session_saved *saved)
{
	const struct counters *counters = &saved->counters;
	const uint64_t damaged = saved->profile.damaged;

	if (damaged)
		log_warn("%" PRIu64 " samples of damaged chunks of the buffer are missing: check "
			 "this machine's memory, or report a bug of geckobpf",
			 damaged);
	print_lost(saved);
	print_missed_ticks(counters);
	if (counters->overwritten)
		print_overwritten(counters);
	print_before_begin(&saved->profile);
	print_forgotten(&counters->records.expired);
	print_left_out(counters->records.mappings_left_out);
	print_unwinding(&counters->tables);
	if (counters->events_lost <= counters->left_out.events)
		return;
	log_warn("%" PRIu64 " events were lost: some names, threads or libraries may be missing",
		 counters->events_lost - counters->left_out.events);
	print_causes(counters, LOSS_OF_EVENTS);
}

/* Stacks that ended early, by reason: "12 stacks truncated: stack not readable". */
static void print_truncated(const struct profile_summary *summary)
{
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (summary->stack_ends[end] && profile_stack_end(end))
			log_more("%" PRIu64 " stacks truncated: %s", summary->stack_ends[end],
				 profile_stack_end(end));
}

void summary_gathered(const struct profile_summary *profile)
{
	const struct gather_counts *gathered = &profile->gathered;

	if (gathered->processes)
		log_more("%" PRIu64 " short processes, %.1f ms of CPU time, are shown as one; "
			 "--all-processes shows each",
			 gathered->processes, (double)gathered->cpu_ns / NS_PER_MS);
}

static void print_profile(const struct session_saved *saved)
{
	const struct profile_summary *profile = &saved->profile;
	char size[32], complete[64] = "";
	int complete_permille = profile_complete_permille(profile);

	print_size(saved->bytes, size, sizeof(size));
	if (complete_permille >= 0)
		snprintf(complete, sizeof(complete), ", %d.%d %% of stacks complete",
			 complete_permille / 10, complete_permille % 10);
	log_info("wrote %s (%s): %" PRIu64 " samples of %" PRIu64 " thread%s, %" PRIu64 " lost%s",
		 strcmp(saved->path, "-") ? saved->path : "to stdout", size, profile->samples,
		 profile->threads, profile->threads == 1 ? "" : "s", saved->counters.lost,
		 complete);
	summary_gathered(profile);
	print_truncated(profile);
	if (strcmp(saved->path, "-"))
		log_more("open it at https://profiler.firefox.com (Load a profile from file)");
	print_losses(saved);
	unnamed_hint(profile);
}

/* Without memory for its name it is left out. */
static void print_hot(FILE *file, const struct profile_hot *hot, uint64_t samples)
{
	struct display_name name = {0};

	if (!display_name_set(&name, &hot->function)) {
		printable_clean(name.items, name.count);
		fprintf(file, "%5.1f %% %9" PRIu64 "  %.*s\n",
			(double)hot->self_samples * 100 / (double)samples, hot->self_samples,
			(int)name.count, name.items);
	}
	display_name_clear(&name);
}

static void print_top(const struct session_saved *saved)
{
	const struct profile_summary *profile = &saved->profile;
	FILE *file = strcmp(saved->path, "-") ? stdout : stderr;
	size_t i;

	for (i = 0; i < profile->top_count; i++)
		print_hot(file, &profile->top[i], profile->samples);
}

static void print_raw(const struct session_saved *saved)
{
	char size[32];

	print_size(saved->bytes, size, sizeof(size));
	log_info("wrote %s (%s): a raw capture of %" PRIu64 " samples, %" PRIu64 " lost",
		 saved->path, size, saved->profile.samples, saved->counters.lost);
	log_more("geckobpf convert %s -o PROFILE.json.gz makes a profile of it", saved->path);
}

/* It has what the buffer has no more, and what was forgotten. */
static void print_losses_of_stream(const struct session_saved *saved)
{
	struct session_saved rest = *saved;

	if (saved->missed)
		log_warn("%" PRIu64 " samples were overwritten before they could be written into "
			 "%s; give a larger --buffer-size",
			 saved->missed, saved->path);
	rest.counters.overwritten = 0;
	rest.counters.records.expired = (struct expire_counts){0};
	print_losses(&rest);
}

void summary_kept(const char *path, const char *kept)
{
	log_info("%s: there was one already; it is %s now (--force replaces it)", path, kept);
}

void summary_print(const struct session_saved *saved)
{
	switch (saved->file) {
	case SESSION_PROFILE:
		print_profile(saved);
		print_top(saved);
		break;
	case SESSION_RAW:
		print_raw(saved);
		print_losses(saved);
		break;
	case SESSION_STREAM:
		print_raw(saved);
		print_losses_of_stream(saved);
		break;
	}
}
