/* SPDX-License-Identifier: BSD-2-Clause */
/* targets.c - see targets.h. */
#include "session/targets.h"

#include "base/error.h"
#include "capture/kernel_side.h"
#include "capture/thread_names.h"
#include "recording/records.h"
#include "session/state.h"
#include "target/command.h"
#include "target/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void explain_missing(pid_t pid, const char *object, struct error *error)
{
	pid_t outer = procfs_find_inner_pid(pid);

	if (outer) {
		error_set(error, -ESRCH, object,
			  "no such process here, but it is a pid inside a container");
		error_advise(error, "give the host's: --pid %d", (int)outer);
	} else {
		error_set(error, -ESRCH, object, "no such process");
		error_advise(error, "look it up with pgrep or ps");
	}
}

static void explain(pid_t pid, const struct pid_info *info, struct error *error)
{
	char number[32], named[64];

	snprintf(number, sizeof(number), "pid %d", (int)pid);
	snprintf(named, sizeof(named), "pid %d (%s)", (int)pid, info->name);
	switch (info->state) {
	case PID_RUNS:
		break;
	case PID_MISSING:
		explain_missing(pid, number, error);
		break;
	case PID_ZOMBIE:
		error_set(error, -ESRCH, named, "has exited already (a zombie)");
		error_advise(error, "nothing is left to profile");
		break;
	case PID_KERNEL:
		error_set(error, -ESRCH, named, "is a kernel thread");
		error_advise(error, "use --all to see what the kernel does");
		break;
	case PID_THREAD:
		error_set(error, -ESRCH, named, "is a thread");
		error_advise(error, "give its process: --pid %u", info->tgid);
		break;
	}
}

static int check_pid(pid_t pid, struct pid_info *info, struct error *error)
{
	int err = procfs_pid(pid, info);
	char number[32];

	snprintf(number, sizeof(number), "pid %d", (int)pid);
	if (err)
		return error_set(error, err, number, "/proc: %s", strerror(-err));
	if (info->state != PID_RUNS) {
		explain(pid, info, error);
		return -ESRCH;
	}
	if (pid != getpid())
		return 0;
	error_set(error, -EINVAL, number, "is geckobpf itself");
	error_advise(error, "give another process");
	return -EINVAL;
}

static int check_threads(struct session *session, struct error *error)
{
	const char *list = session->config->threads;
	int err = list ? thread_names_compile(&session->thread_names, list) : 0;

	if (!err)
		return 0;
	error_set(error, err, "--threads", "%s: %s", list,
		  err == -E2BIG          ? "more than 60 characters"
		  : err == -ENAMETOOLONG ? "a name of more than 15 characters, which no thread has"
					 : "no name");
	error_advise(error,
		     "give names of threads, separated by commas; * is any characters, ? is one");
	return err;
}

int targets_check(struct session *session, struct error *error)
{
	const struct session_config *config = session->config;
	struct pid_info info;
	size_t i;
	int err = check_threads(session, error);

	if (err)
		return err;
	for (i = 0; i < config->pid_count && !err; i++) {
		err = check_pid(config->pids[i], &info, error);
		if (err)
			return err;
		if (i == 0)
			session->target = info;
		err = records_expect(session->records, (uint32_t)config->pids[i]);
	}
	return err ? error_set(error, err, NULL, "%s", strerror(-err)) : 0;
}

int targets_start_command(struct session *session, struct error *error)
{
	char *const *argv = session->config->argv;
	const char *slash;
	int err;

	if (!argv)
		return 0;
	err = command_start(&session->command, argv, &session->account, &session->config->legacy);
	if (!err)
		err = session_watch(session, command_fd(session->command));
	if (err)
		return error_set(error, err, argv[0], "cannot start: %s", strerror(-err));
	slash = strrchr(argv[0], '/');
	snprintf(session->target.name, sizeof(session->target.name), "%s",
		 slash ? slash + 1 : argv[0]);
	session->target.tgid = (uint32_t)command_pid(session->command);
	err = records_expect(session->records, session->target.tgid);
	return err ? error_set(error, err, NULL, "%s", strerror(-err)) : 0;
}

int targets_add(struct session *session)
{
	const struct session_config *config = session->config;
	int err = 0;
	size_t i;

	for (i = 0; i < config->pid_count && !err; i++)
		err = kernel_side_add_target(session->kernel, (uint32_t)config->pids[i], true,
					     config->children);
	if (!err && session->command)
		err = kernel_side_add_target(session->kernel, session->target.tgid, false,
					     config->children);
	return err;
}
