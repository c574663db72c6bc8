/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.c - see snapshot.h. */
#include "session/snapshot.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/profile_memory.h"
#include "capture/drain.h"
#include "session/file_door.h"
#include "session/save.h"
#include "session/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A sample of another CPU may be stamped and not yet in its ring. */
#define SETTLE_NS NS_PER_MS
#define CHILD_NICE 10
/* After the recording: what takes longer has met something that does not answer. */
#define CHILD_PATIENCE_NS (60 * NS_PER_SEC)
/* To remove what is not finished, and then to die. */
#define CHILD_END_NS (NS_PER_SEC / 4)
#define CHILD_POLL_MS 20

struct snapshot {
	struct session *session;
	uint64_t until_ns; /* requested; 0: none */
	pid_t child; /* 0: none */
	int child_fd; /* readable when it has ended */
	int events_fd; /* what it tells: struct session_event, one after the other; made before it */
	unsigned int number;
};

int snapshot_open(struct snapshot **out, struct session *session)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return -ENOMEM;
	snapshot->session = session;
	snapshot->child_fd = snapshot->events_fd = -1;
	*out = snapshot;
	return 0;
}

/* ---- the child ------------------------------------------------------------------- */

/* If memory runs out, this process goes, not the one that records. */
static void offer_to_oom_killer(void)
{
	static const char score[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, score, sizeof(score) - 1) < 0)
		log_debug("oom_score_adj: %s", strerror(errno));
	close(fd);
}

/*
 * The parent's signal handlers are not meant for this process. Returns a descriptor that tells of SIGTERM, or -errno.
 */
static int take_over_signals(void)
{
	static const int ignored[] = {SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ};
	sigset_t mask;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

struct child {
	int events_fd, signal_fd;
	unsigned int number;
};

static void pass_event(void *context, const struct session_event *event)
{
	const struct child *child = context;
	struct session_event told = *event;

	told.capture = child->number;
	/* Lists are in this process. */
	if (told.kind == SESSION_SAVED) {
		told.saved.profile.top = NULL;
		told.saved.profile.top_count = 0;
		memset(&told.saved.profile.unnamed, 0, sizeof(told.saved.profile.unnamed));
	}
	(void)fd_write_all(child->events_fd, &told, sizeof(told));
}

static bool is_terminated(void *context)
{
	const struct child *child = context;
	struct signalfd_siginfo info;

	return child->signal_fd >= 0 &&
	       read(child->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

/* It finishes even if its parent ends. A Ctrl-C is meant for the recording; SIGTERM ends this. */
static _Noreturn void write_and_exit(struct snapshot *snapshot)
{
	struct session *session = snapshot->session;
	struct child child = {.events_fd = snapshot->events_fd, .number = snapshot->number};
	int err;

	child.signal_fd = take_over_signals();
	(void)setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	offer_to_oom_killer();
	session->on_event = pass_event;
	session->context = &child;
	session->rescues = false;
	session->cancel = (struct cancel){is_terminated, &child, false, 0};
	session->end_ns = snapshot->until_ns;
	session->command = NULL; /* the parent's child */
	stages_enter(&session->stages, "collecting");
	drain_stop_publishing(session->drain);
	file_door_take_time(session->door);
	(void)drain_list_tasks(session->drain);
	err = save_capture(session, snapshot->number);
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ---- the parent ------------------------------------------------------------------ */

static void tell_failed(struct snapshot *snapshot, const char *cause, const char *why, int number)
{
	struct session_event event = {.kind = SESSION_CAPTURE_FAILED, .capture = snapshot->number};
	struct session *session = snapshot->session;
	char object[32];

	snprintf(object, sizeof(object), "capture %u", snapshot->number);
	error_set(&event.error, -number, object, "%s%s", cause, why);
	if (session->phase < PHASE_STOPPED)
		error_advise(&event.error, "recording goes on");
	if (session->on_event)
		session->on_event(session->context, &event);
}

static void tell_end(struct snapshot *snapshot, int status)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", WTERMSIG(status));
	if (WIFSIGNALED(status))
		tell_failed(snapshot, "its process was killed by signal ", number, EINTR);
	else if (WEXITSTATUS(status))
		tell_failed(snapshot, "not written", "", EIO);
}

static void pass_events_on(struct snapshot *snapshot)
{
	struct session *session = snapshot->session;
	struct session_event event;
	off_t at = 0;

	while (pread(snapshot->events_fd, &event, sizeof(event), at) == (ssize_t)sizeof(event)) {
		at += (off_t)sizeof(event);
		if (session->on_event)
			session->on_event(session->context, &event);
	}
}

static void wait_for_child(struct snapshot *snapshot, int flags)
{
	pid_t got;
	int status;

	if (!snapshot->child)
		return;
	do
		got = waitpid(snapshot->child, &status, flags);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return;
	snapshot->child = 0;
	pass_events_on(snapshot);
	if (got > 0)
		tell_end(snapshot, status);
	fd_close(&snapshot->child_fd);
	fd_close(&snapshot->events_fd);
}

void snapshot_reap(struct snapshot *snapshot)
{
	if (snapshot)
		wait_for_child(snapshot, WNOHANG);
}

/* Until it has ended, at most for so long, and not if the recording's saving is given up. */
static void wait_a_while(struct snapshot *snapshot, uint64_t patience_ns, struct cancel *cancel)
{
	const uint64_t end_ns = clock_now_ns() + patience_ns;
	struct pollfd fd = {.fd = snapshot->child_fd, .events = POLLIN};

	wait_for_child(snapshot, WNOHANG);
	while (snapshot->child && clock_now_ns() < end_ns && !cancel_look(cancel)) {
		(void)poll(&fd, 1, CHILD_POLL_MS);
		wait_for_child(snapshot, WNOHANG);
	}
}

/* One that does not even die, in a file system that hangs, is left behind. */
static void end_child(struct snapshot *snapshot)
{
	static const int signals[] = {SIGTERM, SIGKILL};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]) && snapshot->child; i++) {
		(void)kill(snapshot->child, signals[i]);
		wait_a_while(snapshot, CHILD_END_NS, NULL);
	}
	if (snapshot->child)
		tell_failed(snapshot, "its process does not end", "", EIO);
}

void snapshot_close(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	wait_a_while(snapshot, CHILD_PATIENCE_NS, &snapshot->session->cancel);
	end_child(snapshot);
	fd_close(&snapshot->child_fd);
	fd_close(&snapshot->events_fd);
	free(snapshot);
}

bool snapshot_is_busy(const struct snapshot *snapshot)
{
	return snapshot->child || snapshot->until_ns;
}

int snapshot_request(struct snapshot *snapshot)
{
	if (snapshot_is_busy(snapshot))
		return -EBUSY;
	snapshot->until_ns = clock_now_ns();
	return 0;
}

uint64_t snapshot_due_ns(const struct snapshot *snapshot)
{
	return snapshot->until_ns ? snapshot->until_ns + SETTLE_NS : UINT64_MAX;
}

/* 0 or -errno: there is no child. */
static int start_child(struct snapshot *snapshot)
{
	pid_t child;

	snapshot->events_fd = memfd_create("events", MFD_CLOEXEC);
	if (snapshot->events_fd < 0)
		return -errno;
	child = profile_memory_fork(snapshot->session->memory);
	if (child == 0)
		write_and_exit(snapshot);
	if (child < 0)
		return -errno;
	snapshot->child = child;
	/* Without a descriptor its end is noticed when the recording ends. */
	snapshot->child_fd = (int)syscall(SYS_pidfd_open, child, 0);
	if (snapshot->child_fd >= 0)
		(void)session_watch(snapshot->session, snapshot->child_fd);
	return 0;
}

void snapshot_poll(struct snapshot *snapshot)
{
	int err;

	if (!snapshot->until_ns || clock_now_ns() < snapshot_due_ns(snapshot))
		return;
	snapshot->number++;
	err = start_child(snapshot);
	if (err) {
		fd_close(&snapshot->events_fd);
		tell_failed(snapshot, "cannot fork: ", strerror(-err), -err);
	}
	snapshot->until_ns = 0;
}

void snapshot_finish(struct snapshot *snapshot)
{
	const struct timespec settle = {.tv_nsec = SETTLE_NS};

	if (!snapshot->until_ns)
		return;
	nanosleep(&settle, NULL);
	snapshot_poll(snapshot);
}
