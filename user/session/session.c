/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c - see session.h.
 *
 * Order matters at the start: the probes run before the threads and mappings that exist are listed, so that there is no gap
 * between what was listed and what is reported; the timers come last, and the command is released after them.
 */
#include "session/session.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "capture/cpus.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/preflight.h"
#include "capture/publish.h"
#include "recording/records.h"
#include "capture/sideband.h"
#include "capture/source.h"
#include "capture/sources.h"
#include "session/forget.h"
#include "session/save.h"
#include "session/session_state.h"
#include "session/snapshot.h"
#include "session/stream.h"
#include "target/account.h"
#include "target/command.h"
#include "target/object.h"
#include "target/process.h"
#include "target/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Descriptors that are not for mapped files: rings, events, pipes, output. Two a CPU come on top. */
#define RESERVED_DESCRIPTORS 256

/* ---- open ---------------------------------------------------------------------- */

static int block_signals(struct session *session)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &mask, &session->old_mask))
		return -errno;
	session->is_masked = true;
	/* A reader of our stdout that goes away is an error of write(2), not our death. */
	signal(SIGPIPE, SIG_IGN);
	session->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? -errno : 0;
}

/* As many as we may have, less what we need ourselves. */
static size_t descriptor_budget(size_t cpu_count)
{
	size_t reserved = RESERVED_DESCRIPTORS + 2 * cpu_count;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < reserved)
		return 0;
	return (size_t)limit.rlim_cur - reserved;
}

static int open_tables(struct session *session)
{
	struct cpu_set online;
	int err;

	err = cpus_online(&online);
	if (err)
		return err;
	session->cpu_count = cpus_count(&online);
	err = processes_open(&session->processes);
	if (!err)
		err = objects_open(&session->objects, descriptor_budget(session->cpu_count));
	if (!err)
		err = profile_memory_open(
			&session->memory,
			&(struct profile_memory_config){.max_bytes = session->config->buffer_bytes,
							.compresses = true});
	if (!err)
		err = records_open(
			&session->records,
			&(struct records_config){.processes = session->processes,
						 .objects = session->objects,
						 .memory = session->memory,
						 .period_ns = NS_PER_SEC / session->config->rate_hz,
						 .all = session->config->all,
						 .use_proc = true});
	return err;
}

int session_open(struct session **out, const struct session_config *config)
{
	struct session *session = calloc(1, sizeof(*session));
	int err;

	if (!session) {
		log_error("out of memory");
		return -ENOMEM;
	}
	session->config = config;
	session->signal_fd = session->epoll_fd = session->dump_fd = -1;
	session->source_config.period_ns = NS_PER_SEC / config->rate_hz;
	account_invoking_user(&session->account);
	err = block_signals(session);
	if (!err)
		err = sources_open(&session->sources, source_table, &session->source_config);
	if (!err)
		err = open_tables(session);
	if (!err)
		err = snapshot_open(&session->snapshot, session);
	if (err) {
		log_error("start: %s", strerror(-err));
		session_close(session);
		return err;
	}
	*out = session;
	return 0;
}

static void close_buffers(struct session *session)
{
	size_t i;

	for (i = 0; session->processes && i < processes_count(session->processes); i++)
		profile_buffer_close(processes_at(session->processes, i)->buffer);
}

void session_close(struct session *session)
{
	if (!session)
		return;
	snapshot_close(session->snapshot);
	stream_close(session->stream);
	command_close(session->command);
	sources_close(session->sources);
	drain_close(session->drain);
	sideband_close(session->sideband);
	publisher_close(session->publisher);
	kernel_side_close(session->kernel);
	records_close(session->records);
	close_buffers(session);
	processes_close(session->processes);
	objects_close(session->objects);
	profile_memory_close(session->memory);
	free(session->pauses.items);
	fd_close(&session->signal_fd);
	fd_close(&session->epoll_fd);
	fd_close(&session->dump_fd);
	if (session->is_masked)
		sigprocmask(SIG_SETMASK, &session->old_mask, NULL);
	free(session);
}

/* ---- start --------------------------------------------------------------------- */

static void report_missing(pid_t pid)
{
	pid_t outer = procfs_find_inner_pid(pid);

	if (outer)
		log_error("pid %d: no such process here, but it is a pid inside a container; give "
			  "the host's: --pid %d",
			  (int)pid, (int)outer);
	else
		log_error("pid %d: no such process; look it up with pgrep or ps", (int)pid);
}

/* Why `pid` cannot be profiled; logs it. */
static int check_pid(pid_t pid, struct pid_info *info)
{
	int err = procfs_pid(pid, info);

	if (err) {
		log_error("pid %d: /proc: %s", (int)pid, strerror(-err));
		return err;
	}
	switch (info->state) {
	case PID_RUNS:
		return 0;
	case PID_MISSING:
		report_missing(pid);
		break;
	case PID_ZOMBIE:
		log_error("pid %d (%s): has exited already (a zombie); nothing is left to profile",
			  (int)pid, info->name);
		break;
	case PID_KERNEL:
		log_error("pid %d (%s): is a kernel thread; use --all to see what the kernel does",
			  (int)pid, info->name);
		break;
	case PID_THREAD:
		log_error("pid %d (%s): is a thread; give its process: --pid %u", (int)pid,
			  info->name, info->tgid);
		break;
	}
	return -ESRCH;
}

static int check_targets(struct session *session)
{
	const struct session_config *config = session->config;
	struct pid_info info;
	size_t i;
	int err = 0;

	for (i = 0; i < config->pid_count && !err; i++) {
		err = check_pid(config->pids[i], &info);
		if (err)
			return err;
		if (config->pids[i] == getpid()) {
			log_error("pid %d: is geckobpf itself; give another process",
				  (int)getpid());
			return -EINVAL;
		}
		if (i == 0)
			session->target = info;
		err = records_expect(session->records, (uint32_t)config->pids[i]);
	}
	return err;
}

static int open_dump(struct session *session)
{
	const char *path = session->config->dump_path;

	if (!path)
		return 0;
	session->dump_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (session->dump_fd >= 0)
		return 0;
	log_error("%s: %m", path);
	return -errno;
}

static int start_command(struct session *session)
{
	const char *slash;
	int err;

	if (!session->config->argv)
		return 0;
	err = command_start(&session->command, session->config->argv, &session->account,
			    &session->old_mask);
	if (err) {
		log_error("%s: cannot start: %s", session->config->argv[0], strerror(-err));
		return err;
	}
	slash = strrchr(session->config->argv[0], '/');
	snprintf(session->target.name, sizeof(session->target.name), "%s",
		 slash ? slash + 1 : session->config->argv[0]);
	session->target.tgid = (uint32_t)command_pid(session->command);
	return records_expect(session->records, session->target.tgid);
}

static int add_targets(struct session *session)
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

static void note_change(void *context, struct process *process)
{
	(void)publisher_note(context, process); /* without memory it is unwound by frame pointers */
}

static void unwind_raw(void *context, const struct process *process, const struct gb_sample *raw,
		       struct gb_sample *out)
{
	publisher_unwind(context, process, raw, out);
}

static int open_capture(struct session *session)
{
	const struct session_config *config = session->config;
	const struct kernel_side_config kernel_config = {
		.all = config->all,
		.kernel_stacks = config->kernel_stacks,
		.rate_hz = config->rate_hz,
		.cpu_count = (uint32_t)session->cpu_count,
		.programs = sources_programs(session->sources),
	};
	int err;

	err = kernel_side_open(&session->kernel, &kernel_config);
	if (err) {
		log_error("BPF programs: the kernel does not load them: %s; -v shows why",
			  strerror(-err));
		return err;
	}
	err = add_targets(session);
	if (!err)
		err = kernel_side_attach(session->kernel);
	if (err) {
		log_error("BPF programs: cannot attach: %s; -v shows why", strerror(-err));
		return err;
	}
	err = publisher_open(&session->publisher, session->kernel, config->unwind_bytes);
	if (err) {
		log_error("unwind tables: %s", strerror(-err));
		return err;
	}
	records_listen(session->records,
		       &(struct records_listener){.changed = note_change,
						  .unwind = unwind_raw,
						  .context = session->publisher,
						  .keeper = forget_keeper(session->publisher)});
	err = sideband_open(&session->sideband, kernel_side_mappings_error(session->kernel) != 0);
	if (!err)
		err = drain_open(&session->drain, session->kernel, session->sideband,
				 session->records, session->publisher, session->dump_fd);
	if (err)
		log_error("perf events: %s", strerror(-err));
	return err;
}

static int watch(struct session *session, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int start_watching(struct session *session)
{
	int err;

	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = session->epoll_fd < 0 ? -errno : 0;
	if (!err)
		err = watch(session, session->signal_fd);
	if (!err)
		err = watch(session, drain_fd(session->drain));
	if (!err)
		err = drain_list_tasks(session->drain);
	session->begin_ns =
		clock_now_ns() + (uint64_t)(session->config->delay_s * (double)NS_PER_SEC);
	if (err)
		log_error("sampling: cannot start: %s", strerror(-err));
	return err;
}

/* What threads ran before the recording begins is not part of it. */
static int forget_cpu_time(struct session *session)
{
	size_t i, n;

	for (i = 0; i < processes_count(session->processes); i++) {
		const struct threads *threads = &processes_at(session->processes, i)->threads;

		for (n = 0; n < threads->count; n++)
			threads->items[n]->cpu_first_ns = UINT64_MAX;
	}
	return drain_list_tasks(session->drain);
}

static void note_start(struct session *session)
{
	session->start_ns = session->end_ns = clock_now_ns();
	session->start_real_ns = clock_ns(CLOCK_REALTIME);
}

int session_begin(struct session *session)
{
	int err = phase_step(&session->phase, ACTION_BEGIN);

	if (!err && session->config->delay_s > 0)
		err = forget_cpu_time(session);
	note_start(session);
	if (!err)
		err = sources_start(session->sources, session->kernel);
	if (err)
		log_error("sampling: cannot start: %s", strerror(-err));
	return err ? err : stream_begin(session->stream);
}

static void announce(struct session *session)
{
	const struct session_config *config = session->config;
	const char *stacks = config->kernel_stacks ? "user+kernel stacks" : "user stacks";

	if (config->all)
		log_info("all processes (%zu, %zu threads), %u Hz, %s; Ctrl-C stops",
			 processes_count(session->processes),
			 processes_thread_count(session->processes), config->rate_hz, stacks);
	else if (config->pid_count > 1)
		log_info("%s (pid %u) and %zu more processes, %u Hz, %s; Ctrl-C stops",
			 session->target.name, session->target.tgid, config->pid_count - 1,
			 config->rate_hz, stacks);
	else if (session->command)
		log_info("%s (pid %u), %u Hz, %s; Ctrl-C stops", session->target.name,
			 session->target.tgid, config->rate_hz, stacks);
	else
		log_info("%s (pid %u, %u thread%s), %u Hz, %s; Ctrl-C stops", session->target.name,
			 session->target.tgid, session->target.thread_count,
			 session->target.thread_count == 1 ? "" : "s", config->rate_hz, stacks);
}

int session_start(struct session *session, int *exec_error)
{
	char problem[512] = "cannot be checked";
	int err;

	err = phase_step(&session->phase, ACTION_START);
	if (err)
		return err;
	err = preflight_check(session->config->rate_hz, problem, sizeof(problem));
	if (err) {
		log_error("%s", problem);
		return err;
	}
	err = check_targets(session);
	if (!err)
		err = save_check(session);
	if (!err)
		err = open_dump(session);
	if (!err && session->config->stream)
		err = stream_open(&session->stream, session);
	if (!err)
		err = start_command(session);
	if (!err)
		err = open_capture(session);
	if (!err)
		err = start_watching(session);
	if (!err && !(session->config->delay_s > 0))
		err = session_begin(session);
	if (err)
		return err;
	if (session->command) {
		*exec_error = command_release(session->command);
		if (*exec_error)
			return SESSION_EXEC_FAILED;
	}
	announce(session);
	return 0;
}

/* ---- from then on ----------------------------------------------------------------- */

int session_pause(struct session *session)
{
	struct time_range range = {.start_ns = clock_now_ns()};
	int err = ARRAY_ROOM(&session->pauses);

	if (!err)
		err = phase_step(&session->phase, ACTION_PAUSE);
	if (err)
		return err;
	sources_pause(session->sources);
	session->pauses.items[session->pauses.count++] = range;
	log_info("paused; another SIGUSR1 goes on");
	return 0;
}

int session_resume(struct session *session)
{
	int err = phase_step(&session->phase, ACTION_RESUME);

	if (!err)
		err = sources_resume(session->sources);
	if (err)
		return err;
	session->pauses.items[session->pauses.count - 1].end_ns = clock_now_ns();
	log_info("recording goes on");
	return 0;
}

int session_capture(struct session *session)
{
	int err = phase_step(&session->phase, ACTION_CAPTURE);

	return err ? err : snapshot_request(session->snapshot);
}

int session_stop(struct session *session)
{
	bool is_empty = session->phase < PHASE_RECORDING;
	int err = phase_step(&session->phase, ACTION_STOP);

	if (err)
		return err;
	session->end_ns = clock_now_ns();
	if (is_empty)
		note_start(session);
	sources_stop(session->sources);
	if (!session->drain)
		return 0;
	stages_enter(&session->stages, "collecting");
	err = drain_finish(session->drain);
	if (!err)
		err = drain_list_tasks(session->drain);
	stages_end(&session->stages);
	if (err)
		log_warn("recording: its last moments are missing: %s", strerror(-err));
	return 0;
}

int session_save(struct session *session)
{
	int err = phase_step(&session->phase, ACTION_SAVE), stream_err;

	if (err)
		return err;
	snapshot_finish(session->snapshot);
	/* Not at the same time: each takes a CPU. */
	snapshot_close(session->snapshot);
	session->snapshot = NULL;
	profile_memory_pause(session->memory);
	stream_err = stream_finish(session->stream);
	if (!session->stream || session->config->output || stream_err)
		err = save_profile(session);
	profile_memory_resume(session->memory);
	return err ? err : stream_err;
}

int session_wait(struct session *session)
{
	struct pollfd ready = {.fd = session->signal_fd, .events = POLLIN};
	int status = 0, stop;

	if (!session->command)
		return 0;
	while (command_wait(session->command, false, &status) == 0) {
		(void)poll(&ready, 1, -1);
		stop = session_take_signals(session);
		if (stop)
			return 128 + stop;
	}
	return status;
}
