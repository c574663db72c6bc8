/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - the loop of a recording: wait, drain, and do what signals and the clock ask for.
 *
 *   SIGINT SIGTERM SIGHUP   stop and save
 *   SIGUSR1                 pause, or go on
 *   SIGUSR2                 write a profile of what there is, and go on
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "buffer/profile_memory.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "recording/records.h"
#include "capture/sources.h"
#include "session/forget.h"
#include "session/session_state.h"
#include "session/snapshot.h"
#include "session/stream.h"
#include "target/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 100

/* ---- signals ------------------------------------------------------------------- */

/* The terminal sends its signals to the command too; those that another process sends us are passed on. */
static void pass_on(struct session *session, const struct signalfd_siginfo *info)
{
	if (session->command && command_pid(session->command) && info->ssi_code != SI_KERNEL)
		(void)kill(command_pid(session->command), (int)info->ssi_signo);
}

static void reap(struct session *session)
{
	int status;

	if (session->command && command_wait(session->command, false, &status) == 1)
		session->is_command_done = true;
	snapshot_reap(session->snapshot);
}

int session_take_signals(struct session *session)
{
	struct signalfd_siginfo info;
	int stop = 0;

	while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGCHLD:
			reap(session);
			break;
		case SIGUSR1:
			session->wants_pause = !session->wants_pause;
			break;
		case SIGUSR2:
			session->wants_capture = true;
			break;
		default:
			stop = (int)info.ssi_signo;
			pass_on(session, &info);
		}
	}
	return stop;
}

bool session_is_cancelled(void *context)
{
	return session_take_signals(context) != 0;
}

/* ---- status line ----------------------------------------------------------------- */

static void show_status(const struct session *session, uint64_t now)
{
	const struct records_counts *counts = records_counts(session->records);
	double elapsed = (double)(now - session->start_ns) / NS_PER_SEC;
	const struct chunk_store_stats chunks = profile_memory_get_stats(session->memory).chunks;
	uint64_t stats[GB_STAT_COUNT] = {0};
	char bar[PROGRESS_BAR_BYTES] = "";

	if (session->config->progress != PROGRESS_BAR)
		return;
	if (session->phase == PHASE_WAITING) {
		log_status("  begins in %.1f s", (double)(session->begin_ns - now) / NS_PER_SEC);
		return;
	}
	if (session->config->duration_s > 0)
		progress_draw_bar(bar, elapsed / session->config->duration_s);
	(void)kernel_side_stats(session->kernel, stats);
	log_status("  %s%.1f s%s   %" PRIu64 " samples   %" PRIu64 " lost   %.1f MB", bar, elapsed,
		   session->phase == PHASE_PAUSED ? ", paused" : "", counts->samples,
		   stats[GB_STAT_RING_FULL] + counts->put_failed,
		   (double)(chunks.unreleased_bytes + chunks.released_bytes) / 1e6);
}

/* ---- the loop ---------------------------------------------------------------------- */

/* Once a second: CPUs that came or went. */
static int follow_cpus(struct session *session)
{
	int err = sources_follow_cpus(session->sources);

	return err ? err : drain_update(session->drain);
}

static bool is_over(const struct session *session, uint64_t now)
{
	const struct session_config *config = session->config;

	if (config->duration_s > 0 && session->phase != PHASE_WAITING &&
	    (double)(now - session->start_ns) >= config->duration_s * NS_PER_SEC)
		return true;
	if (session->command)
		return session->is_command_done;
	return !config->all && records_counts(session->records)->live_processes == 0;
}

/* Until the next moment at which something is due. */
static int wait_ms(const struct session *session, uint64_t now)
{
	double left_ms = POLL_MS;

	if (session->phase == PHASE_WAITING)
		left_ms = ((double)session->begin_ns - (double)now) / 1e6;
	else if (session->config->duration_s > 0)
		left_ms =
			session->config->duration_s * 1e3 - (double)(now - session->start_ns) / 1e6;
	if (left_ms < 0)
		return 0;
	return left_ms < POLL_MS ? (int)left_ms + 1 : POLL_MS;
}

/* Until there is something to read, or events that were read are old enough to be applied: that must not take a whole millisecond. */
static int wait_for_events(const struct session *session, uint64_t now)
{
	const struct timespec moment = {.tv_nsec = DRAIN_PENDING_NS};
	struct epoll_event events[2];

	if (drain_is_pending(session->drain)) {
		nanosleep(&moment, NULL);
		return 0;
	}
	if (epoll_wait(session->epoll_fd, events, 2, wait_ms(session, now)) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static void follow_pause(struct session *session)
{
	bool is_paused = session->phase == PHASE_PAUSED;
	int err;

	if (session->wants_pause == is_paused)
		return;
	err = is_paused ? session_resume(session) : session_pause(session);
	if (!err)
		return;
	log_warn("SIGUSR1: %s: cannot %s: %s", phase_name(session->phase),
		 is_paused ? "go on" : "pause", strerror(-err));
	session->wants_pause = is_paused;
}

static void follow_capture(struct session *session)
{
	int err;

	if (session->wants_capture && !snapshot_is_busy(session->snapshot)) {
		session->wants_capture = false;
		err = session_capture(session);
		if (err)
			log_warn("SIGUSR2: %s: cannot capture: %s", phase_name(session->phase),
				 strerror(-err));
	}
	snapshot_poll(session->snapshot);
}

static int each_second(struct session *session, uint64_t now)
{
	if (now < session->next_second_ns)
		return 0;
	session->next_second_ns = now + NS_PER_SEC;
	/* What goes is in the stream before it goes. */
	stream_write(session->stream, now);
	forget_old(session, now);
	return follow_cpus(session);
}

int session_run(struct session *session)
{
	uint64_t now = clock_now_ns(), next_status = now;
	int err = 0;

	while (!err && !is_over(session, now)) {
		err = wait_for_events(session, now);
		if (session_take_signals(session))
			break;
		if (!err)
			err = drain_run(session->drain);
		/* Here rather than when a sample waits for it. */
		profile_memory_fulfil(session->memory);
		now = clock_now_ns();
		if (!err && session->phase == PHASE_WAITING && now >= session->begin_ns) {
			err = session_begin(session);
			now = session->start_ns;
		}
		if (!err)
			err = each_second(session, now);
		stream_poll(session->stream, now);
		follow_pause(session);
		follow_capture(session);
		if (now >= next_status) {
			show_status(session, now);
			next_status = now + 2 * POLL_MS * NS_PER_MS;
		}
	}
	log_status_clear();
	/* Asked for together with the end. */
	follow_capture(session);
	if (err)
		log_error("recording: stopped early: %s", strerror(-err));
	return err;
}
