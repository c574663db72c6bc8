/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.c - see snapshot.h. */
#include "session/snapshot.h"

#include "base/clock.h"
#include "base/log.h"
#include "buffer/profile_memory.h"
#include "capture/drain.h"
#include "session/save.h"
#include "session/session_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A sample of another CPU may be stamped and not yet in its ring. */
#define SETTLE_NS NS_PER_MS
#define CHILD_NICE 10

struct snapshot {
	struct session *session;
	uint64_t until_ns; /* requested; 0: none */
	pid_t child; /* 0: none */
	unsigned int number;
};

int snapshot_open(struct snapshot **out, struct session *session)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return -ENOMEM;
	snapshot->session = session;
	*out = snapshot;
	return 0;
}

static void report(const struct snapshot *snapshot, int status)
{
	if (WIFSIGNALED(status))
		log_warn("capture %u: its process was killed by signal %d; recording goes on",
			 snapshot->number, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warn("capture %u: not written; recording goes on", snapshot->number);
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
	if (got > 0)
		report(snapshot, status);
}

void snapshot_reap(struct snapshot *snapshot)
{
	if (snapshot)
		wait_for_child(snapshot, WNOHANG);
}

void snapshot_close(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	wait_for_child(snapshot, 0);
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

/* In the child, which finishes even if its parent ends. A Ctrl-C is meant for the recording; SIGTERM ends this. */
static _Noreturn void write_and_exit(struct snapshot *snapshot)
{
	struct session *session = snapshot->session;
	int err;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	(void)setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	offer_to_oom_killer();
	session->end_ns = snapshot->until_ns;
	session->command = NULL; /* the parent's child */
	stages_enter(&session->stages, "collecting");
	drain_stop_publishing(session->drain);
	(void)drain_list_tasks(session->drain);
	err = save_capture(session, snapshot->number);
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

void snapshot_poll(struct snapshot *snapshot)
{
	pid_t child;

	if (!snapshot->until_ns || clock_now_ns() < snapshot->until_ns + SETTLE_NS)
		return;
	snapshot->number++;
	log_status_clear();
	child = profile_memory_fork(snapshot->session->memory);
	if (child == 0)
		write_and_exit(snapshot);
	if (child < 0)
		log_warn("capture %u: cannot fork: %s; recording goes on", snapshot->number,
			 strerror(errno));
	else
		snapshot->child = child;
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
