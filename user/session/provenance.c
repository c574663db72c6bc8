/* SPDX-License-Identifier: BSD-2-Clause */
/* provenance.c - see provenance.h. */
#include "session/provenance.h"

#include "base/clock.h"
#include "capture/kernel_side.h"
#include "capture/sideband.h"
#include "capture/source.h"
#include "capture/sources.h"
#include "session/numbers.h"
#include "session/session_state.h"
#include "session/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

static void add_text(struct numbers *numbers, const char *name, const char *text)
{
	numbers_add(numbers, &(struct recording_fact){.name = name, .text = text});
}

/* ---- options ----------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
append(struct provenance *out, const char *format, ...)
{
	size_t used = strlen(out->options);
	va_list args;

	va_start(args, format);
	vsnprintf(out->options + used, sizeof(out->options) - used, format, args);
	va_end(args);
}

static void append_target(const struct session *session, struct provenance *out)
{
	const struct session_config *config = session->config;
	size_t i;

	if (config->all)
		append(out, " --all");
	for (i = 0; i < config->pid_count; i++)
		append(out, "%s%d", i ? "," : " --pid ", (int)config->pids[i]);
	if (!config->children)
		append(out, " --no-children");
	/* What its arguments are is nobody's business: --include-args asks for them. */
	if (config->argv)
		append(out, " -- %s", session->target.name);
}

static void describe_options(const struct session *session, struct provenance *out)
{
	const struct session_config *config = session->config;

	append(out, "--rate %u --buffer-size %" PRIu64 " --unwind-memory %" PRIu64, config->rate_hz,
	       config->buffer_bytes / MIB, config->unwind_bytes / MIB);
	append(out, " %s --symbols=%s", config->kernel_stacks ? "--kernel" : "--user-only",
	       config->addresses ? "addresses" : "names");
	if (config->duration_s > 0)
		append(out, " --duration %g", config->duration_s);
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

static void add_fallbacks(const struct session *session, int symbols_error, struct provenance *out,
			  struct numbers *numbers)
{
	int err = session->kernel ? kernel_side_mappings_error(session->kernel) : 0;

	if (err) {
		snprintf(out->mappings, sizeof(out->mappings),
			 "woken for every mapping of code on the machine: perf_event_mmap cannot "
			 "be traced: %s",
			 strerror(-err));
		add_text(numbers, "fallback_mappings", out->mappings);
	}
	if (session->sideband && !sideband_has_build_ids(session->sideband)) {
		snprintf(out->build_ids, sizeof(out->build_ids),
			 "read from the files: the kernel does not tell them");
		add_text(numbers, "fallback_build_ids", out->build_ids);
	}
	if (stream_error(session->stream)) {
		snprintf(out->stream, sizeof(out->stream), "ended early: %s",
			 strerror(-stream_error(session->stream)));
		add_text(numbers, "fallback_stream", out->stream);
	}
	if (symbols_error) {
		snprintf(out->kernel_symbols, sizeof(out->kernel_symbols),
			 "kernel frames have no names: %s",
			 symbols_error == -EACCES ? "kernel.kptr_restrict hides the addresses"
						  : strerror(-symbols_error));
		add_text(numbers, "fallback_kernel_symbols", out->kernel_symbols);
	}
}

void provenance_add(const struct session *session, int symbols_error, struct provenance *out,
		    struct numbers *numbers)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	describe_options(session, out);
	add_text(numbers, "options", out->options);
	for (i = 0; i < sources_count(session->sources); i++)
		add_text(numbers, "event", sources_at(session->sources, i)->event);
	numbers_add(numbers,
		    &(struct recording_fact){.name = "period_ns",
					     .value = NS_PER_SEC / session->config->rate_hz});
	if (!uname(&out->system)) {
		add_text(numbers, "kernel_release", out->system.release);
		add_text(numbers, "kernel_version", out->system.version);
	}
	add_fallbacks(session, symbols_error, out, numbers);
}
