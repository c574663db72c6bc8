/* SPDX-License-Identifier: BSD-2-Clause */
/* record_text.c - see record_text.h. */
#include "cmd/record_text.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/output.h"
#include "cmd/progress_text.h"
#include "cmd/summary.h"
#include "session/sampling_period.h"
#include "session/session.h"

#include <inttypes.h>
#include <string.h>

void record_text_announce(const struct session *session, const struct session_config *config)
{
	const char *stacks = config->kernel_stacks ? "user+kernel stacks" : "user stacks";
	uint32_t rate_hz = sampling_rate_hz(config->rate_hz);
	struct session_target target;

	session_get_target(session, &target);
	if (config->all)
		log_info("all processes (%zu, %zu threads), %u Hz, %s; Ctrl-C stops",
			 target.processes, target.threads, rate_hz, stacks);
	else if (config->argv)
		log_info("%s (pid %u), %u Hz, %s; Ctrl-C stops", target.name, target.tgid, rate_hz,
			 stacks);
	else if (target.processes > 1)
		log_info("%s (pid %u) and %zu more process%s, %u Hz, %s; Ctrl-C stops", target.name,
			 target.tgid, target.processes - 1, target.processes == 2 ? "" : "es",
			 rate_hz, stacks);
	else
		log_info("%s (pid %u, %u thread%s), %u Hz, %s; Ctrl-C stops", target.name,
			 target.tgid, target.thread_count, target.thread_count == 1 ? "" : "s",
			 rate_hz, stacks);
}

/* The command that makes the profile that was wanted of the raw capture. */
static void print_elsewhere(const char *wanted, const char *raw)
{
	const bool is_profile = strcmp(wanted, "-") && strcmp(output_suffix(wanted), ".gbpf");

	log_error("what was recorded is saved as a raw capture; make the profile of it with: "
		  "geckobpf convert %s -o %s",
		  raw, is_profile ? wanted : "PROFILE.json.gz");
}

void record_text_event(const struct session_event *event)
{
	switch (event->kind) {
	case SESSION_PAUSED:
		log_info("paused; another SIGUSR1 goes on");
		break;
	case SESSION_RESUMED:
		log_info("recording goes on");
		break;
	case SESSION_FILE_KEPT:
		summary_kept(event->moved.from, event->moved.to);
		break;
	case SESSION_SAVED:
		summary_print(&event->saved);
		break;
	case SESSION_SAVED_ELSEWHERE:
		print_elsewhere(event->moved.from, event->moved.to);
		break;
	case SESSION_STREAM_FAILED:
	case SESSION_SAVE_FAILED:
		log_problem(LOG_ERROR, &event->error);
		break;
	case SESSION_CAPTURE_FAILED:
	case SESSION_WARNING:
		log_problem(LOG_WARN, &event->error);
		break;
	case SESSION_STARTED:
	case SESSION_TARGETS_ENDED:
	case SESSION_COMMAND_ENDED:
		break;
	}
}

void record_text_status(const struct session_status *status, double duration_s)
{
	const double elapsed_s = (double)status->elapsed_ns / NS_PER_SEC;
	char bar[PROGRESS_BAR_BYTES] = "";

	if (status->phase == PHASE_WAITING) {
		log_status("  begins in %.1f s", (double)status->until_begin_ns / NS_PER_SEC);
		return;
	}
	if (duration_s > 0)
		progress_draw_bar(bar, elapsed_s / duration_s);
	log_status("  %s%.1f s%s   %" PRIu64 " samples   %" PRIu64 " lost   %.1f MB", bar,
		   elapsed_s, status->phase == PHASE_PAUSED ? ", paused" : "", status->samples,
		   status->lost, (double)status->buffer_bytes / 1e6);
}
