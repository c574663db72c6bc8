/* SPDX-License-Identifier: BSD-2-Clause */
/* session.c - see session.h: what it is made of, and what may be done to it; start.c and step.c do the rest. */
#include "session/session.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "capture/cpus.h"
#include "capture/compile_pool.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/preflight.h"
#include "capture/publish.h"
#include "capture/sideband.h"
#include "capture/sources.h"
#include "reader/hurry.h"
#include "recording/records.h"
#include "session/file_door.h"
#include "session/no_samples.h"
#include "session/save.h"
#include "session/sampling_period.h"
#include "session/snapshot.h"
#include "session/state.h"
#include "session/stream.h"
#include "target/command.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

/* Descriptors that are not for mapped files: rings, events, pipes, output. Two a CPU come on top. */
#define RESERVED_DESCRIPTORS 256
/* What is still under way at the end is waited for no longer. */
#define COLLECT_NS (1800 * NS_PER_MS)

/* ---- open, close ---------------------------------------------------------------- */

/* Half of what the process may have, less what is needed besides: work on a file takes another one. */
static size_t descriptor_budget(size_t cpu_count)
{
	size_t reserved = RESERVED_DESCRIPTORS + 2 * cpu_count;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < reserved)
		return 0;
	return ((size_t)limit.rlim_cur - reserved) / 2;
}

static int open_records(struct session *session)
{
	const struct records_config config = {
		.processes = session->processes,
		.objects = session->objects,
		.memory = session->memory,
		.period_ns = sampling_period_ns(session->config->rate_hz),
		.all = session->config->all,
		.use_proc = true,
	};

	return records_open(&session->records, &config);
}

static int open_tables(struct session *session)
{
	const struct profile_memory_config memory = {.max_bytes = session->config->buffer_bytes,
						     .compresses = true};
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
		err = profile_memory_open(&session->memory, &memory);
	if (!err)
		err = open_records(session);
	return err;
}

static int open_all(struct session *session)
{
	int err;

	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = session->epoll_fd < 0 ? -errno : 0;
	if (!err)
		err = sources_open(&session->sources, source_table, &session->source_config);
	if (!err)
		err = open_tables(session);
	if (!err)
		err = snapshot_open(&session->snapshot, session);
	return err;
}

int session_open(struct session **out, const struct session_config *config, struct error *error)
{
	struct session *session;
	int err = preflight_mounts(error);

	if (err)
		return err;
	session = calloc(1, sizeof(*session));
	if (!session)
		return error_set(error, -ENOMEM, NULL, "out of memory");
	session->config = config;
	session->on_event = config->on_event;
	session->context = config->context;
	session->rescues = config->rescues;
	session->cancel = (struct cancel){config->is_cancelled, config->context, false, 0};
	session->dump_fd = -1;
	session->source_config.period_ns = sampling_period_ns(config->rate_hz);
	session->source_config.off_cpu = config->off_cpu;
	account_invoking_user(&session->account);
	err = open_all(session);
	if (err) {
		session_close(session);
		return error_set(error, err, "start", "%s", strerror(-err));
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
	compile_pool_close(session->pool);
	file_door_close(session->door);
	hurry_close();
	kernel_side_close(session->kernel);
	records_close(session->records);
	close_buffers(session);
	processes_close(session->processes);
	objects_close(session->objects);
	profile_memory_close(session->memory);
	free(session->pauses.items);
	fd_close(&session->epoll_fd);
	fd_close(&session->dump_fd);
	free(session);
}

/* ---- what may be done to it ----------------------------------------------------- */

int session_pause(struct session *session)
{
	struct time_range range = {0};
	int err = ARRAY_ROOM(&session->pauses);

	if (!err)
		err = phase_step(&session->phase, ACTION_PAUSE);
	if (err)
		return err;
	sources_pause(session->sources);
	range.start_ns = clock_now_ns(); /* no sample before session_resume() is later */
	session->pauses.items[session->pauses.count++] = range;
	session_tell(session, SESSION_PAUSED);
	return 0;
}

int session_resume(struct session *session)
{
	enum phase next = session->phase;
	uint64_t now_ns = clock_now_ns(); /* samples come from then on */
	int err = phase_step(&next, ACTION_RESUME);

	if (!err)
		err = sources_resume(session->sources);
	if (err)
		return err;
	session->phase = next;
	session->pauses.items[session->pauses.count - 1].end_ns = now_ns;
	session_tell(session, SESSION_RESUMED);
	return 0;
}

int session_capture(struct session *session)
{
	int err = phase_step(&session->phase, ACTION_CAPTURE);

	return err ? err : snapshot_request(session->snapshot);
}

bool session_is_capturing(const struct session *session)
{
	return session->snapshot && snapshot_is_busy(session->snapshot);
}

static void collect_rest(struct session *session)
{
	struct error error = {0};
	int err;

	stages_enter(&session->stages, "collecting");
	/* First, since threads go on while all this is done. */
	err = drain_note_tasks(session->drain);
	kernel_side_detach(session->kernel);
	sideband_stop(session->sideband);
	if (!err)
		err = drain_finish(session->drain, COLLECT_NS);
	stages_end(&session->stages);
	if (!err)
		return;
	error_set(&error, err, "recording", "its last moments are missing: %s", strerror(-err));
	session_tell_error(session, SESSION_WARNING, &error);
}

int session_stop(struct session *session)
{
	bool is_empty = session->phase < PHASE_RECORDING;
	int err = phase_step(&session->phase, ACTION_STOP);

	if (err)
		return err;
	sources_stop(session->sources);
	session->end_ns = clock_now_ns(); /* no sample is later */
	if (is_empty) {
		session->start_ns = session->end_ns;
		session->start_real_ns = clock_ns(CLOCK_REALTIME);
	}
	if (!session->drain)
		return 0;
	(void)session_watch_rings(session, false); /* nothing of interest comes any more */
	collect_rest(session);
	file_door_take_time(session->door);
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
	if (!err && !stream_err)
		no_samples_tell(session);
	return err ? err : stream_err;
}

pid_t session_command_pid(const struct session *session)
{
	return session->command ? command_pid(session->command) : 0;
}

bool session_command_ended(struct session *session, int *status)
{
	*status = 0;
	return !session->command || command_wait(session->command, false, status) != 0;
}

/* ---- looking at it --------------------------------------------------------------- */

enum phase session_phase(const struct session *session)
{
	return session->phase;
}

int session_fd(const struct session *session)
{
	return session->epoll_fd;
}

void session_get_target(const struct session *session, struct session_target *out)
{
	*out = (struct session_target){
		.name = session->target.name,
		.tgid = session->target.tgid,
		.thread_count = session->target.thread_count,
		.processes = processes_count(session->processes),
		.threads = processes_thread_count(session->processes),
	};
}

void session_get_status(const struct session *session, uint64_t now_ns, struct session_status *out)
{
	const struct records_counts *counts = records_counts(session->records);
	const struct chunk_store_stats chunks = profile_memory_get_stats(session->memory).chunks;
	uint64_t stats[GB_STAT_COUNT] = {0};

	*out = (struct session_status){.phase = session->phase};
	if (session->kernel)
		(void)kernel_side_stats(session->kernel, stats);
	if (session->phase == PHASE_WAITING && session->begin_ns > now_ns)
		out->until_begin_ns = session->begin_ns - now_ns;
	if (session->phase > PHASE_WAITING && now_ns > session->start_ns)
		out->elapsed_ns = now_ns - session->start_ns;
	out->samples = counts->samples;
	out->lost = stats[GB_STAT_RING_FULL] + counts->put_failed;
	out->buffer_bytes = chunks.unreleased_bytes + chunks.released_bytes;
}
