/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain.c - see drain.h.
 *
 * Events come from several rings, so their order is made here: what is older than the moment before the rings were
 * read, less a moment for a record on its way into its ring, is complete, and is applied sorted by time. If the control
 * ring was not read to its end, that is so up to the last record that was read.
 */
#include "capture/drain.h"

#include "base/clock.h"
#include "base/fd.h"
#include "capture/budget.h"
#include "capture/kernel_side.h"
#include "capture/pending.h"
#include "capture/publish.h"
#include "recording/records.h"
#include "capture/sideband.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ON_ITS_WAY_NS (200 * NS_PER_US)
/* A step is for events first, then for samples, so long each. */
#define HALF_STEP_NS (40 * NS_PER_MS)
/* How often what events say is published while there are more of them. */
#define PUBLISH_NS (5 * NS_PER_MS)
/* What is waited for tables at the end, for samples that need them. */
#define FINISH_HELD_NS NS_PER_SEC
/* Events that are read from the control ring before those that are there are applied. */
#define READ_EVENTS 4096

struct drain {
	struct kernel_side *kernel;
	struct sideband *sideband;
	struct records *records;
	struct publisher *publisher;
	struct ring_buffer *control;
	struct {
		struct ring_buffer **items;
		size_t count;
		size_t turn; /* the one to be read next */
	} samples;
	int epoll_fd;
	int dump_fd;
	int dump_error;
	struct pending pending;
	uint64_t known_ns; /* all events before it are applied or pending */
	size_t read; /* from the control ring, at a time */
	struct budget budget; /* of what is done now */
	bool has_news; /* events were applied, and nothing published since */
	uint64_t published_ns;
	bool is_finishing; /* the programs are gone, so nothing is published for them */
	bool is_behind;
	bool leaves_out; /* it counts what is in the rings, and nothing else */
	struct drain_left_out left_out;
	uint64_t lost_to_memory;
};

static void apply(struct drain *drain, const void *record, size_t size)
{
	if (drain->dump_fd >= 0 && !drain->dump_error)
		drain->dump_error = fd_write_all(drain->dump_fd, record, size);
	records_apply(drain->records, record, size);
}

/* ---- events ------------------------------------------------------------------------ */

/* To be applied in the order of time, when it is complete. */
static void keep(struct drain *drain, const void *record, size_t size)
{
	if (pending_put(&drain->pending, record, size))
		drain->lost_to_memory++;
}

static void on_record(void *context, const void *record, size_t size);

/* As many as are read at a time. What happened before `before_ns` is in the rings, or was read. */
static void read_events(struct drain *drain, uint64_t before_ns)
{
	drain->read = 0;
	drain->known_ns = before_ns;
	(void)ring_buffer__consume(drain->control);
	sideband_read(drain->sideband, on_record, drain);
}

static void publish_news(struct drain *drain, bool may_wait)
{
	drain->has_news = false;
	if (drain->publisher && publisher_flush(drain->publisher, may_wait))
		drain->lost_to_memory++;
	drain->published_ns = clock_now_ns();
}

/* While there is more: a program that loads a hundred libraries is to have its first ones before the last is opened. */
static void publish_first_news(struct drain *drain)
{
	if (!drain->is_finishing && clock_now_ns() - drain->published_ns >= PUBLISH_NS)
		publish_news(drain, false);
}

/* All that are known and happened before `before_ns`; fewer, if that takes too long. */
static void apply_pending(struct drain *drain, uint64_t before_ns, struct budget *budget)
{
	struct gb_record *record;

	if (before_ns > drain->known_ns)
		before_ns = drain->known_ns;
	while (!budget->is_spent && (record = pending_take(&drain->pending, before_ns))) {
		apply(drain, record, record->size);
		free(record);
		drain->has_news = true;
		publish_first_news(drain);
		(void)budget_spend(budget, 1);
	}
}

/*
 * All that is to be applied in order and happened before `time_ns`, at which something happened that is being read, is,
 * however long that takes. It is in its ring: it was on the way before that was.
 */
static void catch_up(struct drain *drain, uint64_t time_ns)
{
	struct budget endless = {.end_ns = UINT64_MAX};

	do {
		read_events(drain, time_ns);
		apply_pending(drain, time_ns, &endless);
	} while (drain->known_ns < time_ns);
	if (drain->has_news)
		publish_news(drain, true);
}

static int take_events(struct drain *drain, uint64_t before_ns)
{
	struct budget *budget = &drain->budget;

	*budget = budget_of(HALF_STEP_NS);
	do {
		if (pending_first_ns(&drain->pending) >= drain->known_ns)
			read_events(drain, before_ns);
		apply_pending(drain, before_ns, budget);
	} while (drain->known_ns < before_ns && !budget->is_spent);
	/* Without news, too: what was waiting for its time, such as the mappings of a process that ended, may be due. */
	if (!drain->is_finishing)
		publish_news(drain, true);
	drain->is_behind = budget->is_spent;
	return drain->dump_error;
}

/* ---- rings ------------------------------------------------------------------------- */

static void leave_out(struct drain *drain, const struct gb_record *record)
{
	struct drain_left_out *left_out = &drain->left_out;

	left_out->bytes += record->size;
	if (record->kind == GB_RECORD_SAMPLE || record->kind == GB_RECORD_RAW)
		left_out->samples++;
	else
		left_out->events++;
	if (!left_out->since_ns || record->time_ns < left_out->since_ns)
		left_out->since_ns = record->time_ns;
}

static void on_record(void *context, const void *record, size_t size)
{
	const struct gb_record *header = record;
	struct drain *drain = context;

	if (size >= sizeof(*header) && header->kind == GB_RECORD_WAKE)
		return;
	if (drain->leaves_out) {
		leave_out(drain, header);
		return;
	}
	switch (records_order(drain->records, record, size)) {
	case RECORD_IN_ORDER:
		keep(drain, record, size);
		return;
	case RECORD_AFTER_EARLIER:
		catch_up(drain, header->time_ns);
		(void)budget_spend(&drain->budget, BUDGET_PARTS);
		break;
	case RECORD_AT_ONCE:
		break;
	}
	apply(drain, record, size);
}

static int on_control_record(void *context, void *record, size_t size)
{
	const struct gb_record *header = record;
	struct drain *drain = context;

	on_record(drain, record, size);
	if (drain->leaves_out || header->kind == GB_RECORD_WAKE || ++drain->read < READ_EVENTS)
		return 0;
	if (drain->known_ns > header->time_ns - ON_ITS_WAY_NS)
		drain->known_ns = header->time_ns - ON_ITS_WAY_NS;
	return -EAGAIN;
}

static int on_sample_record(void *context, void *record, size_t size)
{
	struct drain *drain = context;

	on_record(drain, record, size);
	return budget_spend(&drain->budget, 1) && !drain->leaves_out ? -EAGAIN : 0;
}

/* Each ring has its turn, also if one takes all the time there is. */
static int take_samples(struct drain *drain)
{
	struct budget *budget = &drain->budget;
	size_t i;

	*budget = budget_of(HALF_STEP_NS);
	for (i = 0; i < drain->samples.count && !budget->is_spent; i++) {
		int taken = ring_buffer__consume(drain->samples.items[drain->samples.turn]);

		drain->samples.turn = (drain->samples.turn + 1) % drain->samples.count;
		if (taken < 0 && taken != -EAGAIN)
			return taken;
	}
	drain->is_behind = drain->is_behind || budget->is_spent;
	return drain->dump_error;
}

/* ---- open, close ------------------------------------------------------------------- */

static int watch(struct drain *drain, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(drain->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_ring(struct drain *drain, int fd, ring_buffer_sample_fn take,
		     struct ring_buffer **out)
{
	*out = ring_buffer__new(fd, take, drain, NULL);
	return *out ? watch(drain, ring_buffer__epoll_fd(*out)) : -errno;
}

static int open_rings(struct drain *drain)
{
	const size_t count = kernel_side_ring_count(drain->kernel);
	size_t i;
	int err;

	drain->samples.items = calloc(count, sizeof(struct ring_buffer *));
	if (!drain->samples.items)
		return -ENOMEM;
	drain->samples.count = count;
	err = open_ring(drain, kernel_side_control_fd(drain->kernel), on_control_record,
			&drain->control);
	for (i = 0; i < count && !err; i++)
		err = open_ring(drain, kernel_side_ring_fd(drain->kernel, i), on_sample_record,
				&drain->samples.items[i]);
	if (!err)
		err = sideband_watch(drain->sideband, drain->epoll_fd);
	return err;
}

int drain_open(struct drain **out, struct kernel_side *kernel, struct sideband *sideband,
	       struct records *records, struct publisher *publisher, int dump_fd)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int err;

	if (!drain)
		return -ENOMEM;
	drain->kernel = kernel;
	drain->sideband = sideband;
	drain->records = records;
	drain->publisher = publisher;
	drain->dump_fd = dump_fd;
	drain->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = drain->epoll_fd < 0 ? -errno : open_rings(drain);
	if (err) {
		drain_close(drain);
		return err;
	}
	*out = drain;
	return 0;
}

void drain_close(struct drain *drain)
{
	size_t i;

	if (!drain)
		return;
	pending_clear(&drain->pending);
	ring_buffer__free(drain->control);
	for (i = 0; i < drain->samples.count; i++)
		ring_buffer__free(drain->samples.items[i]);
	free(drain->samples.items);
	fd_close(&drain->epoll_fd);
	free(drain);
}

int drain_fd(const struct drain *drain)
{
	return drain->epoll_fd;
}

/* ---- draining ---------------------------------------------------------------------- */

static int run(struct drain *drain, uint64_t before_ns)
{
	int err = take_events(drain, before_ns);

	records_release(drain->records, false);
	return err ? err : take_samples(drain);
}

int drain_run(struct drain *drain)
{
	return run(drain, clock_now_ns() - ON_ITS_WAY_NS);
}

static void leave_out_rest(struct drain *drain)
{
	struct gb_record *record;
	size_t i;

	drain->leaves_out = true;
	while ((record = pending_take(&drain->pending, UINT64_MAX))) {
		leave_out(drain, record);
		free(record);
	}
	(void)ring_buffer__consume(drain->control);
	sideband_read(drain->sideband, on_record, drain);
	for (i = 0; i < drain->samples.count; i++)
		(void)ring_buffer__consume(drain->samples.items[i]);
}

/* What they wait for comes in a moment, as a rule. */
static void release_held(struct drain *drain)
{
	const uint64_t end_ns = clock_now_ns() + FINISH_HELD_NS;

	while (records_hold_samples(drain->records) && clock_now_ns() < end_ns) {
		(void)publisher_settle(drain->publisher, PUBLISHER_SLICE_NS);
		records_release(drain->records, false);
	}
	records_release(drain->records, true);
}

int drain_finish(struct drain *drain, uint64_t limit_ns)
{
	const uint64_t end_ns = clock_now_ns() + limit_ns;
	int err;

	drain->is_finishing = true;
	do
		err = run(drain, UINT64_MAX);
	while (!err && drain->is_behind && clock_now_ns() < end_ns);
	release_held(drain);
	if (drain->is_behind)
		leave_out_rest(drain);
	return err;
}

const struct drain_left_out *drain_get_left_out(const struct drain *drain)
{
	return &drain->left_out;
}

bool drain_is_behind(const struct drain *drain)
{
	return drain->is_behind;
}

bool drain_is_pending(const struct drain *drain)
{
	return drain->pending.count > 0;
}

static void take_task(void *context, const void *record, size_t size)
{
	apply(context, record, size);
}

int drain_list_tasks(struct drain *drain)
{
	int err = kernel_side_list_tasks(drain->kernel, take_task, drain);

	publish_news(drain, true);
	return err;
}

static void note_task(void *context, const void *record, size_t size)
{
	keep(context, record, size);
}

int drain_note_tasks(struct drain *drain)
{
	return kernel_side_list_tasks(drain->kernel, note_task, drain);
}

int drain_call_roll(struct drain *drain)
{
	uint64_t now = clock_now_ns();
	int err;

	records_call_roll(drain->records);
	err = drain_list_tasks(drain);
	if (!err)
		records_end_roll(drain->records, now);
	return err;
}

void drain_stop_publishing(struct drain *drain)
{
	drain->publisher = NULL;
	records_release(drain->records, true);
}

uint64_t drain_lost(const struct drain *drain)
{
	return drain->lost_to_memory;
}

int drain_update(struct drain *drain)
{
	int err = sideband_update(drain->sideband);

	return err ? err : sideband_watch(drain->sideband, drain->epoll_fd);
}
