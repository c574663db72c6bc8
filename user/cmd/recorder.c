/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recorder.c - see recorder.h.
 *
 *   SIGINT SIGTERM SIGHUP   stop and save; while it saves: stop that
 *   SIGUSR1                 pause, or go on
 *   SIGUSR2                 write a profile of what there is, and go on
 *
 * All signals come through a descriptor, so that they are looked at between two steps of the session and nowhere else.
 */
#include "cmd/recorder.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/log_writer.h"
#include "cmd/control.h"
#include "cmd/priority.h"
#include "cmd/progress_text.h"
#include "cmd/record_options.h"
#include "cmd/record_text.h"
#include "session/memory_plan.h"
#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127
#define MIB ((uint64_t)1 << 20)
#define WAIT_QUIETLY_NS (NS_PER_SEC / 2) /* most commands end with the recording */
#define STATUS_NS (200 * NS_PER_MS)

struct recorder {
	struct record_options *options;
	struct session *session;
	struct progress_view progress;
	struct priority priority;
	struct control *control; /* NULL: it was not asked for */
	int signal_fd;
	sigset_t old_mask;
	struct limits old_limits;
	bool has_losses; /* of what was saved last */
	bool is_stopped; /* through --control */
	unsigned int stop_count; /* signals that asked to stop */
	bool wants_pause; /* what was asked for last */
	bool wants_capture;
	uint64_t next_status_ns;
};

/* ---- signals ------------------------------------------------------------------- */

static int open_signals(struct recorder *recorder)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	sigset_t mask;
	size_t i;

	sigemptyset(&mask);
	for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&mask, taken[i]);
	if (sigprocmask(SIG_BLOCK, &mask, &recorder->old_mask))
		return -errno;
	/* A reader of our stdout that goes away is an error of write(2), not our death. */
	signal(SIGPIPE, SIG_IGN);
	recorder->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return recorder->signal_fd < 0 ? -errno : 0;
}

/* The terminal sends its signals to the command too; those that another process sends us are passed on. */
static void pass_on(struct recorder *recorder, const struct signalfd_siginfo *info)
{
	pid_t command = session_command_pid(recorder->session);

	if (command && info->ssi_code != SI_KERNEL)
		(void)kill(command, (int)info->ssi_signo);
}

/* Reads all that are there. The last one that asks to stop, or 0. */
static int take_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;
	int stop = 0;

	while (read(recorder->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGUSR1:
			recorder->wants_pause = !recorder->wants_pause;
			break;
		case SIGUSR2:
			recorder->wants_capture = true;
			break;
		default:
			stop = (int)info.ssi_signo;
			recorder->stop_count++;
			pass_on(recorder, &info);
		}
	}
	return stop;
}

static bool is_cancelled(void *context)
{
	return take_signals(context) != 0;
}

static void warn(const struct recorder *recorder, const char *signal_name, const char *what,
		 int err)
{
	log_warn("%s: %s: cannot %s: %s", signal_name, phase_name(session_phase(recorder->session)),
		 what, strerror(-err));
}

static void follow_pause(struct recorder *recorder)
{
	bool is_paused = session_phase(recorder->session) == PHASE_PAUSED;
	int err;

	if (recorder->wants_pause == is_paused)
		return;
	err = is_paused ? session_resume(recorder->session) : session_pause(recorder->session);
	if (!err)
		return;
	warn(recorder, "SIGUSR1", is_paused ? "go on" : "pause", err);
	recorder->wants_pause = is_paused;
}

static void follow_capture(struct recorder *recorder)
{
	int err;

	if (!recorder->wants_capture || session_is_capturing(recorder->session))
		return;
	recorder->wants_capture = false;
	err = session_capture(recorder->session);
	if (err)
		warn(recorder, "SIGUSR2", "capture", err);
}

/* ---- --control ----------------------------------------------------------------- */

static int do_command(struct recorder *recorder, enum control_command command)
{
	switch (command) {
	case CONTROL_PAUSE:
		return session_pause(recorder->session);
	case CONTROL_RESUME:
		return session_resume(recorder->session);
	case CONTROL_CAPTURE:
		return session_capture(recorder->session);
	case CONTROL_STOP:
		recorder->is_stopped = true;
		return 0;
	case CONTROL_NONE:
		break;
	}
	return -EINVAL;
}

static void explain(struct recorder *recorder, enum control_command command, int err)
{
	const char *name = control_command_name(command);

	if (err == -EPERM)
		control_send(recorder->control, "error %s: %s", name,
			     phase_name(session_phase(recorder->session)));
	else if (err == -EBUSY)
		control_send(recorder->control, "error %s: another one is being written", name);
	else if (err)
		control_send(recorder->control, "error %s: %s", name, strerror(-err));
}

static void follow_control(struct recorder *recorder)
{
	enum control_command command;
	int err;

	control_read(recorder->control);
	while (!recorder->is_stopped &&
	       (command = control_next(recorder->control)) != CONTROL_NONE) {
		err = do_command(recorder, command);
		if (err)
			explain(recorder, command, err);
		else
			control_send(recorder->control, "ok %s", control_command_name(command));
		recorder->wants_pause = session_phase(recorder->session) == PHASE_PAUSED;
	}
	control_flush(recorder->control);
}

static bool has_losses(const struct session_saved *saved)
{
	const struct counters *counters = &saved->counters;

	return counters->lost || counters->events_lost || saved->profile.damaged || saved->missed ||
	       (counters->overwritten && !counters->is_ring);
}

static void on_event(void *context, const struct session_event *event)
{
	struct recorder *recorder = context;

	if (event->kind == SESSION_SAVED && !event->capture)
		recorder->has_losses = has_losses(&event->saved);
	record_text_event(event);
	control_tell(recorder->control, event);
}

/* ---- the loop ------------------------------------------------------------------ */

/* Waits until the session has something to do, a signal or a command comes, or `until_ns`. */
static int wait_for_work(struct recorder *recorder, uint64_t until_ns)
{
	struct pollfd fds[2 + CONTROL_FDS] = {
		{.fd = session_fd(recorder->session), .events = POLLIN},
		{.fd = recorder->signal_fd, .events = POLLIN},
	};
	const uint64_t now_ns = clock_now_ns();
	const uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec wait = {.tv_sec = (time_t)(wait_ns / NS_PER_SEC),
				      .tv_nsec = (long)(wait_ns % NS_PER_SEC)};

	control_poll(recorder->control, fds + 2);
	return ppoll(fds, 2 + CONTROL_FDS, &wait, NULL) < 0 && errno != EINTR ? -errno : 0;
}

static void show_status(struct recorder *recorder, uint64_t now_ns)
{
	struct session_status status;

	/* A command writes to the same terminal, and would write behind it. */
	if (recorder->options->progress != &progress_bar || recorder->options->config.argv ||
	    now_ns < recorder->next_status_ns)
		return;
	recorder->next_status_ns = now_ns + STATUS_NS;
	session_get_status(recorder->session, now_ns, &status);
	record_text_status(&status, recorder->options->config.duration_s);
}

/* 0: it goes on; 1: it is over; -errno. */
static int step(struct recorder *recorder, uint64_t *next_ns, struct error *error)
{
	int result = session_step(recorder->session, clock_now_ns(), next_ns, error);

	if (result < 0)
		return result;
	if (take_signals(recorder))
		return 1;
	follow_pause(recorder);
	follow_capture(recorder);
	follow_control(recorder);
	if (recorder->is_stopped)
		return 1;
	show_status(recorder, clock_now_ns());
	return result;
}

static int loop(struct recorder *recorder)
{
	struct error error = {0};
	uint64_t next_ns;
	int result = 0;

	while (!result) {
		result = step(recorder, &next_ns, &error);
		if (!result)
			result = wait_for_work(recorder, next_ns);
	}
	log_status_clear();
	/* Asked for together with the end. */
	follow_capture(recorder);
	if (result > 0)
		return 0;
	if (!error.number)
		error_set(&error, result, "recording", "stopped early: %s", strerror(-result));
	log_problem(LOG_ERROR, &error);
	return result;
}

/* ---- the command goes on ------------------------------------------------------- */

static void tell_wait(const struct recorder *recorder)
{
	struct session_target target;

	session_get_target(recorder->session, &target);
	log_fresh_line();
	if (recorder->stop_count)
		log_info("%s (pid %u) was told to end, and geckobpf waits for that; another Ctrl-C "
			 "leaves "
			 "it running",
			 target.name, target.tgid);
	else
		log_info("%s (pid %u) goes on, and geckobpf waits for its end; Ctrl-C ends it, a "
			 "second "
			 "one leaves it running",
			 target.name, target.tgid);
}

static void tell_left(const struct recorder *recorder)
{
	struct session_target target;

	session_get_target(recorder->session, &target);
	log_info("%s (pid %u) is left running", target.name, target.tgid);
}

/*
 * Waits for the command, if there is one, and returns what a shell would report. The first signal is the command's (the
 * terminal sends it to both, and what others send us is passed on); the second one is ours.
 */
static int wait_for_command(struct recorder *recorder)
{
	uint64_t tell_ns = clock_now_ns() + WAIT_QUIETLY_NS;
	int status, stop;

	while (!session_command_ended(recorder->session, &status)) {
		if (clock_now_ns() >= tell_ns) {
			tell_wait(recorder);
			tell_ns = UINT64_MAX;
		}
		(void)wait_for_work(recorder, tell_ns);
		stop = take_signals(recorder);
		if (stop && recorder->stop_count > 1) {
			tell_left(recorder);
			return 128 + stop;
		}
		if (stop)
			tell_ns = clock_now_ns() + WAIT_QUIETLY_NS;
	}
	return status;
}

/* ---- from the start to the end --------------------------------------------------- */

static int exec_failed(const char *name, int err)
{
	bool is_missing = err == -ENOENT || err == -ENOTDIR;
	bool is_number = name[strspn(name, "0123456789")] == '\0';

	log_error("%s: %s; %s", name, is_missing ? "command not found" : strerror(-err),
		  is_number    ? "to profile a process, give --pid"
		  : is_missing ? "check its name and $PATH"
			       : "check that it is an executable file");
	return is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int start_failed(const struct recorder *recorder, int err, const struct error *error)
{
	if (err == SESSION_EXEC_FAILED)
		return exec_failed(recorder->options->config.argv[0], error->number);
	log_problem(LOG_ERROR, error);
	return EXIT_FAILURE;
}

static void raise_priority(struct recorder *recorder)
{
	priority_raise(&recorder->priority);
	if (recorder->priority.error)
		log_debug("priority: not raised: %s", strerror(-recorder->priority.error));
	else if (recorder->priority.now)
		log_debug("priority: %s while it records", recorder->priority.now);
	recorder->options->config.priority = recorder->priority.now;
}

/* Rather less than to be killed on the way. */
static void fit_memory(struct session_config *config)
{
	const uint32_t cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t room = memory_plan_room("");
	const struct session_config asked = *config;

	if (!memory_plan_fit(config, cpu_count, room))
		return;
	log_warn("memory: %" PRIu64 " MiB are left here, and a recording may take %" PRIu64
		 ": --buffer-size is %" PRIu64 " and --unwind-memory %" PRIu64 " MiB",
		 room / MIB, memory_plan_most(&asked, cpu_count) / MIB, config->buffer_bytes / MIB,
		 config->unwind_bytes / MIB);
	if (memory_plan_most(config, cpu_count) > room)
		log_warn("memory: even so it may take %" PRIu64
			 " MiB, and be killed; raise the limit of the container or service, or "
			 "record a raw "
			 "capture (-o FILE.gbpf), which takes less at the end",
			 memory_plan_most(config, cpu_count) / MIB);
}

static void tell_peak(void)
{
	struct rusage usage;

	if (!getrusage(RUSAGE_SELF, &usage))
		log_debug(
			"memory: %ld MB were resident at most, with what is shared with the kernel",
			usage.ru_maxrss / 1000);
}

/* With a command, which may have left the cursor anywhere, and may go on. */
static void share_terminal(struct recorder *recorder)
{
	int status;

	if (!recorder->options->config.argv)
		return;
	if (recorder->progress.style == &progress_bar &&
	    !session_command_ended(recorder->session, &status))
		recorder->progress.style = NULL;
	log_fresh_line();
}

static int record(struct recorder *recorder)
{
	struct error error = {0};
	int err, status;

	err = session_start(recorder->session, &error);
	if (err)
		return start_failed(recorder, err, &error);
	record_text_announce(recorder->session, &recorder->options->config);
	err = loop(recorder);
	if (session_stop(recorder->session))
		err = -EIO;
	priority_ease(&recorder->priority);
	control_send(recorder->control, "stopped");
	control_flush(recorder->control);
	share_terminal(recorder);
	if (session_save(recorder->session))
		err = -EIO;
	control_flush(recorder->control);
	tell_peak();
	status = wait_for_command(recorder);
	if (err || !recorder->options->is_strict || !recorder->has_losses)
		return err ? EXIT_FAILURE : status;
	log_error("--strict: samples or events were lost; it is said above which, and why");
	return EXIT_FAILURE;
}

static int open_session(struct recorder *recorder, struct error *error)
{
	struct session_config *config = &recorder->options->config;
	int err = open_signals(recorder);

	if (!err && recorder->options->control_in >= 0)
		err = control_open(&recorder->control, recorder->options->control_in,
				   recorder->options->control_out);
	if (err)
		return error_set(error, err, "start", "%s", strerror(-err));
	limits_raise(&recorder->old_limits);
	fit_memory(config);
	if (!recorder->options->keeps_priority)
		raise_priority(recorder);
	recorder->progress.style = recorder->options->progress;
	config->progress = &recorder->progress;
	config->legacy.mask = &recorder->old_mask;
	config->legacy.limits = &recorder->old_limits;
	config->on_event = on_event;
	config->is_cancelled = is_cancelled;
	config->context = recorder;
	return session_open(&recorder->session, config, error);
}

int recorder_run(struct record_options *options)
{
	struct recorder recorder = {.options = options, .signal_fd = -1};
	struct error error = {0};
	int status = EXIT_FAILURE;

	if (log_writer_open())
		log_debug("messages: no thread writes them");
	if (open_session(&recorder, &error))
		log_problem(LOG_ERROR, &error);
	else
		status = record(&recorder);
	session_close(recorder.session);
	control_close(recorder.control);
	if (recorder.signal_fd >= 0)
		close(recorder.signal_fd);
	log_writer_close();
	/* Signals stay blocked: one that came too late for anything must not change the exit status. */
	return status;
}
