/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - session_start(): from a session that knows what is wanted to one that records.
 *
 * Order matters: the probes run before the threads and mappings that exist are listed, so that there is no gap between
 * what was listed and what is reported; the sources come last, and the command is released after them.
 */
#include "base/clock.h"
#include "base/error.h"
#include "capture/compile_pool.h"
#include "capture/cpus.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/preflight.h"
#include "capture/publish.h"
#include "capture/rights.h"
#include "capture/sideband.h"
#include "capture/sources.h"
#include "reader/hurry.h"
#include "recording/records.h"
#include "session/confinement.h"
#include "session/file_door.h"
#include "session/retention.h"
#include "session/save.h"
#include "session/state.h"
#include "session/stream.h"
#include "session/targets.h"
#include "target/command.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Nothing is lost by waiting for tables as long as no samples are taken. */
#define START_PATIENCE_NS (3 * NS_PER_SEC)
/* And from then on: programs bring the most files when they begin, and the rings are empty yet. */
#define BEGIN_PATIENCE_NS NS_PER_SEC

static int open_dump(struct session *session, struct error *error)
{
	const char *path = session->config->dump_path;

	if (!path)
		return 0;
	session->dump_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (session->dump_fd >= 0)
		return 0;
	return error_set(error, -errno, path, "%s", strerror(errno));
}

/* ---- the kernel's side ---------------------------------------------------------- */

static int load(struct session *session, struct error *error)
{
	const struct session_config *config = session->config;
	const struct kernel_side_config kernel_config = {
		.all = config->all,
		.kernel_stacks = config->kernel_stacks,
		.off_cpu = config->off_cpu,
		.counters = config->counters,
		.threads = config->threads ? &session->thread_names : NULL,
		.period_ns = session->source_config.period_ns,
		.rate_hz = config->rate_hz,
		.cpu_count = (uint32_t)session->cpu_count,
		.saves_memory = config->saves_memory,
		.programs = sources_programs(session->sources),
	};
	int err = kernel_side_open(&session->kernel, &kernel_config);

	if (err) {
		error_set(error, err, "BPF programs", "the kernel does not load them: %s",
			  strerror(-err));
		error_advise(error, "-v shows why");
		rights_advise(err, error);
	}
	return err;
}

static int attach(struct session *session, struct error *error)
{
	int err = targets_add(session);

	if (!err)
		err = kernel_side_attach(session->kernel);
	if (!err && session->config->pid_count && session->config->children)
		err = kernel_side_adopt_children(session->kernel);
	if (err) {
		error_set(error, err, "BPF programs", "cannot attach: %s", strerror(-err));
		error_advise(error, "-v shows why");
		rights_advise(err, error);
	}
	return err;
}

static void note_change(void *context, struct process *process)
{
	(void)publisher_note(context, process); /* without memory it is unwound by frame pointers */
}

static bool unwind_raw(void *context, const struct process *process, const struct gb_sample *raw,
		       struct gb_sample *out, uint32_t *awaited)
{
	return publisher_unwind(context, process, raw, out, awaited);
}

static bool is_awaited(void *context, uint32_t file)
{
	return publisher_is_awaited(context, file);
}

static int open_publisher(struct session *session, struct error *error)
{
	int err = publisher_open(&session->publisher, session->kernel,
				 session->config->unwind_bytes, session->pool, &session->patience);

	if (err)
		return error_set(error, err, "unwind tables", "%s", strerror(-err));
	records_listen(session->records,
		       &(struct records_listener){.changed = note_change,
						  .unwind = unwind_raw,
						  .is_awaited = is_awaited,
						  .context = session->publisher,
						  .keeper = retention_keeper(session->publisher)});
	return 0;
}

static int open_drain(struct session *session, struct error *error)
{
	int err =
		sideband_open(&session->sideband, kernel_side_mappings_error(session->kernel) != 0);

	if (!err)
		err = drain_open(&session->drain, session->kernel, session->sideband,
				 session->records, session->publisher, session->dump_fd);
	if (!err)
		return 0;
	error_set(error, err, "perf events", "%s", strerror(-err));
	rights_advise(err, error);
	return err;
}

/* They start while the BPF programs load. */
static int open_readers(struct session *session, struct error *error)
{
	int err = hurry_open();

	if (!err)
		err = compile_pool_open(&session->pool);
	if (!err)
		err = file_door_open(&session->door, &session->patience);
	session->patience.left_ns = START_PATIENCE_NS;
	return err ? error_set(error, err, "readers of files", "%s", strerror(-err)) : 0;
}

static int open_capture(struct session *session, struct error *error)
{
	int err = load(session, error);

	if (!err)
		err = attach(session, error);
	if (!err)
		err = open_publisher(session, error);
	if (!err)
		err = open_drain(session, error);
	return err;
}

static int list_tasks(struct session *session, struct error *error)
{
	int err = session_watch(session, drain_fd(session->drain));

	session->is_watching = !err;
	if (!err)
		err = drain_list_tasks(session->drain);
	if (!err)
		(void)publisher_settle(session->publisher, START_PATIENCE_NS);
	session->begin_ns =
		clock_now_ns() + (uint64_t)(session->config->delay_s * (double)NS_PER_SEC);
	return err ? error_set(error, err, "sampling", "cannot start: %s", strerror(-err)) : 0;
}

/* ---- samples -------------------------------------------------------------------- */

/* What threads ran before the recording begins is not part of it. */
static int forget_cpu_time(struct session *session)
{
	size_t i, n;

	for (i = 0; i < processes_count(session->processes); i++) {
		const struct threads *threads = &processes_at(session->processes, i)->threads;

		for (n = 0; n < threads->count; n++)
			threads->items[n]->cpu_first_ns = UINT64_MAX;
	}
	return drain_note_tasks(session->drain);
}

int session_begin(struct session *session, struct error *error)
{
	int err = phase_step(&session->phase, ACTION_BEGIN);

	session->stolen_at_start_ns = cpus_stolen_ns();
	if (!err)
		err = forget_cpu_time(session);
	session->start_ns = session->end_ns = clock_now_ns();
	session->start_real_ns = clock_ns(CLOCK_REALTIME);
	if (!err)
		err = sources_start(session->sources, session->kernel);
	session->patience = (struct patience){BEGIN_PATIENCE_NS, session->start_ns};
	session->loss_watch.looked_ns = session->start_ns;
	cost_watch_begin(&session->cost_watch, session->start_ns);
	if (err) {
		error_set(error, err, "sampling", "cannot start: %s", strerror(-err));
		rights_advise(err, error);
		return err;
	}
	return stream_begin(session->stream, error);
}

static int release_command(struct session *session, struct error *error)
{
	int err = session->command ? command_release(session->command) : 0;

	if (!err)
		return 0;
	error_set(error, err, session->config->argv[0], "%s", strerror(-err));
	return SESSION_EXEC_FAILED;
}

/* Before it records, for it can be mended now. */
static void warn_of_rights(struct session *session)
{
	struct error warning = {0};
	char missing[256];

	rights_describe_missing(missing, sizeof(missing));
	if (!missing[0])
		return;
	error_set(&warning, 0, "capabilities", "%s", missing);
	session_tell_error(session, SESSION_WARNING, &warning);
}

int session_start(struct session *session, struct error *error)
{
	int err = phase_step(&session->phase, ACTION_START);

	if (err)
		return error_set(error, err, NULL, "%s", strerror(-err));
	err = preflight_check(session->config->rate_hz, error);
	if (!err)
		warn_of_rights(session);
	if (!err)
		err = targets_check(session, error);
	if (!err)
		err = save_check(session, error);
	if (!err)
		err = open_dump(session, error);
	if (!err && session->config->stream)
		err = stream_open(&session->stream, session, error);
	if (!err)
		err = targets_start_command(session, error);
	if (!err)
		err = open_readers(session, error);
	if (!err)
		err = confinement_begin(session, error);
	if (!err)
		err = open_capture(session, error);
	if (!err)
		err = stream_name_kernel(session->stream, error);
	if (!err)
		err = list_tasks(session, error);
	if (!err && !(session->config->delay_s > 0))
		err = session_begin(session, error);
	if (!err)
		err = release_command(session, error);
	if (!err && session->phase == PHASE_RECORDING)
		session_tell(session, SESSION_STARTED);
	return err;
}
