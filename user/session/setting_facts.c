/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_facts.c - see setting_facts.h. */
#include "session/counter_words.h"
#include "session/setting_facts.h"

#include "base/clock.h"
#include "capture/kernel_side.h"
#include "capture/rights.h"
#include "capture/sideband.h"
#include "capture/source.h"
#include "capture/sources.h"
#include "recording/fact_list.h"
#include "session/sampling_period.h"
#include "session/state.h"
#include "session/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* ---- options ----------------------------------------------------------------------- */

/* Those that matter, as a command line; no paths, no arguments of the command. */
struct command_line {
	char text[512];
};

static void __attribute__((format(printf, 2, 3)))
append(struct command_line *out, const char *format, ...)
{
	size_t used = strlen(out->text);
	va_list args;

	va_start(args, format);
	vsnprintf(out->text + used, sizeof(out->text) - used, format, args);
	va_end(args);
}

static void append_target(const struct session *session, struct command_line *out)
{
	const struct session_config *config = session->config;
	size_t i;

	if (config->all)
		append(out, " --all");
	for (i = 0; i < config->pid_count; i++)
		append(out, "%s%d", i ? "," : " --pid ", (int)config->pids[i]);
	if (!config->children)
		append(out, " --no-children");
	/* The command's arguments are private, unless --include-args asks for them. */
	if (config->argv)
		append(out, " -- %s", session->target.name);
}

static void append_counters(uint32_t counters, struct command_line *out)
{
	const char *before = " --counters=";
	const struct counter_word *word;

	for (word = counter_words; word->name; word++)
		if (counters & word->counters) {
			append(out, "%s%s", before, word->name);
			before = ",";
		}
	if (!counters)
		append(out, "%snone", before);
}

static void describe_options(const struct session *session, struct command_line *out)
{
	const struct session_config *config = session->config;

	append(out, "--rate %u --buffer-size %" PRIu64 " --unwind-memory %" PRIu64, config->rate_hz,
	       config->buffer_bytes / MIB, config->unwind_bytes / MIB);
	append(out, " %s --symbols=%s", config->kernel_stacks ? "--kernel" : "--user-only",
	       config->addresses ? "addresses" : "names");
	append(out, " --off-cpu=%s", config->off_cpu ? "on" : "off");
	append_counters(config->counters, out);
	if (config->duration_s > 0)
		append(out, " --duration %g", config->duration_s);
	if (config->threads)
		append(out, " --threads %s", config->threads);
	if (config->delay_s > 0)
		append(out, " --delay %g", config->delay_s);
	if (config->ring)
		append(out, " --ring");
	if (config->stream)
		append(out, " --stream");
	if (config->include_args)
		append(out, " --include-args=%zu", config->include_args);
	append_target(session, out);
}

/* ---- fallbacks ----------------------------------------------------------------------- */

/* `what`, and the error that is why. */
static void add_fallback(struct fact_list *log, const char *name, const char *what, int err)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(-err));
	fact_list_add_text(log, name, text);
}

static void add_fallbacks(const struct session *session, int symbols_error, struct fact_list *log)
{
	int mappings_error = session->kernel ? kernel_side_mappings_error(session->kernel) : 0;
	int network_error = session->kernel ? kernel_side_network_error(session->kernel) : 0;
	char missing[256];

	rights_describe_missing(missing, sizeof(missing));
	if (missing[0])
		fact_list_add_text(log, "fallback_rights", missing);
	if (mappings_error)
		add_fallback(log, "fallback_mappings",
			     "woken for every mapping of code on the machine: perf_event_mmap "
			     "cannot be traced",
			     mappings_error);
	if (network_error)
		add_fallback(log, "fallback_network",
			     "bytes of sockets are not counted: Linux 6.3 and later can",
			     network_error);
	if (session->sideband && !sideband_has_build_ids(session->sideband))
		fact_list_add_text(log, "fallback_build_ids",
				   "read from the files: the kernel does not tell them");
	if (stream_error(session->stream))
		add_fallback(log, "fallback_stream", "ended early", stream_error(session->stream));
	if (symbols_error == -EACCES)
		fact_list_add_text(log, "fallback_kernel_symbols",
				   "kernel frames have no names: CAP_SYSLOG is missing, or "
				   "kernel.kptr_restrict hides the addresses");
	else if (symbols_error)
		add_fallback(log, "fallback_kernel_symbols", "kernel frames have no names",
			     symbols_error);
}

/* How stacks of sleeps were taken, if they were. */
static void add_sleep_way(const struct session *session, struct fact_list *log)
{
	static const char *const ways[] = {
		[GB_SLEEP_WAY_NONE] = "not taken: neither task work nor schedule() can be traced",
		[GB_SLEEP_WAY_SCHEDULE] = "where schedule() returns",
		[GB_SLEEP_WAY_TASK_WORK] = "by task work",
	};

	if (session->config->off_cpu && session->kernel)
		fact_list_add_text(log, RECORDING_SLEEP_STACKS,
				   ways[kernel_side_sleep_way(session->kernel)]);
}

/* 0 if it is not known. */
static uint64_t main_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

void setting_facts_add(const struct session *session, int symbols_error, struct fact_list *log)
{
	struct command_line options = {""};
	struct utsname system;
	size_t i;

	describe_options(session, &options);
	fact_list_add_text(log, "options", options.text);
	for (i = 0; i < sources_count(session->sources); i++)
		if (sources_at(session->sources, i)->event)
			fact_list_add_text(log, "event", sources_at(session->sources, i)->event);
	fact_list_add_number(log, "period_ns", sampling_period_ns(session->config->rate_hz));
	add_sleep_way(session, log);
	if (session->config->priority)
		fact_list_add_text(log, "recorder_priority", session->config->priority);
	fact_list_add_number(log, RECORDING_MAIN_MEMORY, main_memory_bytes());
	if (!uname(&system)) {
		fact_list_add_text(log, "kernel_release", system.release);
		fact_list_add_text(log, "kernel_version", system.version);
	}
	add_fallbacks(session, symbols_error, log);
}
