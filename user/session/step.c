/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * step.c - session_step(): takes in what came, does what is due, and says when it wants to be called again.
 *
 *   rings, side-band ──┐
 *   end of the command ├── epoll_fd
 *   end of a capture ──┘
 *
 * While events wait for their time (drain.h), the rings are not watched: they are read in a moment anyway, and events
 * that come quickly one after the other would each be a step of their own.
 */
#include "base/clock.h"
#include "base/error.h"
#include "buffer/profile_memory.h"
#include "capture/compile_pool.h"
#include "capture/drain.h"
#include "capture/publish.h"
#include "capture/sources.h"
#include "recording/records.h"
#include "service/sandbox.h"
#include "session/counters.h"
#include "session/retention.h"
#include "session/snapshot.h"
#include "session/state.h"
#include "session/stream.h"
#include "target/command.h"
#include "target/object.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define STEP_NS (100 * NS_PER_MS) /* there is always something to drain by then */

static int set_watch(struct session *session, int fd, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(session->epoll_fd, operation, fd, &event) ? -errno : 0;
}

int session_watch(struct session *session, int fd)
{
	return set_watch(session, fd, EPOLL_CTL_ADD, EPOLLIN);
}

int session_watch_rings(struct session *session, bool is_wanted)
{
	if (session->is_watching == is_wanted)
		return 0;
	session->is_watching = is_wanted;
	return set_watch(session, drain_fd(session->drain), EPOLL_CTL_MOD, is_wanted ? EPOLLIN : 0);
}

/* ---- what ended -------------------------------------------------------------------- */

static void note_command_end(struct session *session)
{
	struct session_event event = {.kind = SESSION_COMMAND_ENDED};

	if (session->has_ended || !session_command_ended(session, &event.status))
		return;
	session->has_ended = true;
	(void)epoll_ctl(session->epoll_fd, EPOLL_CTL_DEL, command_fd(session->command), NULL);
	if (session->on_event)
		session->on_event(session->context, &event);
}

static void note_ended_children(struct session *session)
{
	struct epoll_event events[4];
	int count = epoll_wait(session->epoll_fd, events, 4, 0), i;

	for (i = 0; i < count; i++) {
		if (session->command && events[i].data.fd == command_fd(session->command))
			note_command_end(session);
		else if (events[i].data.fd != drain_fd(session->drain))
			snapshot_reap(session->snapshot);
	}
}

static void note_ended_targets(struct session *session)
{
	if (session->has_ended || session->command || session->config->all ||
	    records_counts(session->records)->live_processes)
		return;
	session->has_ended = true;
	session_tell(session, SESSION_TARGETS_ENDED);
}

static uint64_t duration_ns(const struct session *session)
{
	return (uint64_t)(session->config->duration_s * (double)NS_PER_SEC);
}

static bool is_over(const struct session *session, uint64_t now_ns)
{
	if (session->has_ended)
		return true;
	return session->config->duration_s > 0 && session->phase != PHASE_WAITING &&
	       now_ns >= session->start_ns + duration_ns(session);
}

/* ---- what is due -------------------------------------------------------------------- */

/* Once, when it is known. */
static void tell_lacks(struct session *session)
{
	const uint32_t lacks = compile_pool_lacks(session->pool);
	struct error warning = {0};

	if (!lacks || session->has_told_lacks)
		return;
	session->has_told_lacks = true;
	error_set(&warning, 0, "readers of files", "the system does not let them give up %s",
		  lacks & SANDBOX_CAPABLE ? "capabilities" : "system calls (seccomp)");
	error_advise(&warning, "what the recorded programs map is read all the same");
	session_tell_error(session, SESSION_WARNING, &warning);
}

/* CPUs come and go; what goes is in the stream before it goes. */
static int each_second(struct session *session, uint64_t now_ns)
{
	int err;

	if (now_ns < session->next_second_ns)
		return 0;
	session->next_second_ns = now_ns + NS_PER_SEC;
	tell_lacks(session);
	stream_write(session->stream, clock_now_ns());
	retention_apply(session, now_ns);
	err = sources_follow_cpus(session->sources);
	return err ? err : drain_update(session->drain);
}

/* What was lost before it began counts as lost then. */
static void look_for_losses(struct session *session, uint64_t now_ns)
{
	struct counters counters;

	if (session->phase == PHASE_WAITING ||
	    now_ns < session->loss_watch.looked_ns + LOSS_WATCH_NS)
		return;
	counters_collect_losses(session, &counters);
	loss_watch_look(&session->loss_watch, &counters, now_ns);
	cost_watch_look(&session->cost_watch, &counters, now_ns);
}

static int begin_in_time(struct session *session, uint64_t *now_ns, struct error *error)
{
	int err;

	if (session->phase != PHASE_WAITING || *now_ns < session->begin_ns)
		return 0;
	err = session_begin(session, error);
	*now_ns = session->start_ns;
	if (!err)
		session_tell(session, SESSION_STARTED);
	return err;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t next_time(const struct session *session, uint64_t now_ns)
{
	uint64_t next_ns = now_ns + STEP_NS;

	if (drain_is_behind(session->drain))
		return now_ns;
	if (drain_is_pending(session->drain))
		return now_ns + DRAIN_PENDING_NS;
	if (publisher_awaits(session->publisher))
		next_ns = now_ns + PUBLISHER_AWAITS_NS;
	if (session->phase == PHASE_WAITING)
		next_ns = earlier(next_ns, session->begin_ns);
	else if (session->config->duration_s > 0)
		next_ns = earlier(next_ns, session->start_ns + duration_ns(session));
	return earlier(next_ns, snapshot_due_ns(session->snapshot));
}

static int work(struct session *session, uint64_t now_ns)
{
	int err = drain_run(session->drain);

	/* Here rather than when a sample waits for it. */
	profile_memory_fulfil(session->memory);
	if (!err)
		err = each_second(session, now_ns);
	objects_tend(session->objects, clock_now_ns());
	look_for_losses(session, clock_now_ns());
	stream_poll(session->stream, clock_now_ns());
	snapshot_poll(session->snapshot);
	if (!err)
		err = session_watch_rings(session, !drain_is_pending(session->drain));
	return err;
}

int session_step(struct session *session, uint64_t now_ns, uint64_t *next_ns, struct error *error)
{
	int err;

	note_ended_children(session);
	err = begin_in_time(session, &now_ns, error);
	if (err)
		return err;
	err = work(session, now_ns);
	if (err)
		return error_set(error, err, "recording", "stopped early: %s", strerror(-err));
	note_ended_targets(session);
	*next_ns = next_time(session, now_ns);
	return is_over(session, now_ns) ? 1 : 0;
}
