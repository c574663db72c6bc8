/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain.c - see drain.h.
 *
 * Events come from several rings, so their order is made here: what is older than the moment before the rings were
 * read, less a moment for a record on its way into its ring, is complete, and is applied sorted by time.
 */
#include "capture/drain.h"

#include "base/clock.h"
#include "base/fd.h"
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

struct drain {
	struct kernel_side *kernel;
	struct sideband *sideband;
	struct records *records;
	struct publisher *publisher;
	struct ring_buffer *samples, *control;
	int epoll_fd;
	int dump_fd;
	int dump_error;
	struct pending pending;
	uint64_t lost_to_memory;
};

static void apply(struct drain *drain, const void *record, size_t size)
{
	if (drain->dump_fd >= 0 && !drain->dump_error)
		drain->dump_error = fd_write_all(drain->dump_fd, record, size);
	records_apply(drain->records, record, size);
}

/* To be applied in the order of time, when it is complete. */
static void keep(struct drain *drain, const void *record, size_t size)
{
	if (pending_put(&drain->pending, record, size))
		drain->lost_to_memory++;
}

static void apply_pending(struct drain *drain, uint64_t before_ns);
static void publish_news(struct drain *drain);
static void on_record(void *context, const void *record, size_t size);

/*
 * All that is to be applied in order and happened before `time_ns`, at which something happened that is being read, is.
 * It is in its ring: it was on the way before that was.
 */
static void catch_up(struct drain *drain, uint64_t time_ns)
{
	(void)ring_buffer__consume(drain->control);
	sideband_read(drain->sideband, on_record, drain);
	if (!drain->pending.count)
		return;
	apply_pending(drain, time_ns);
	publish_news(drain);
}

static void on_record(void *context, const void *record, size_t size)
{
	const struct gb_record *header = record;
	struct drain *drain = context;

	if (size >= sizeof(*header) && header->kind == GB_RECORD_WAKE)
		return;
	switch (records_order(drain->records, record, size)) {
	case RECORD_IN_ORDER:
		keep(drain, record, size);
		return;
	case RECORD_AFTER_EARLIER:
		catch_up(drain, header->time_ns);
		break;
	case RECORD_AT_ONCE:
		break;
	}
	apply(drain, record, size);
}

static int on_ring_record(void *context, void *record, size_t size)
{
	on_record(context, record, size);
	return 0;
}

static int watch(struct drain *drain, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(drain->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_rings(struct drain *drain)
{
	size_t i;
	int err;

	drain->control = ring_buffer__new(kernel_side_control_fd(drain->kernel), on_ring_record,
					  drain, NULL);
	drain->samples = ring_buffer__new(kernel_side_ring_fd(drain->kernel, 0), on_ring_record,
					  drain, NULL);
	if (!drain->control || !drain->samples)
		return -errno;
	for (i = 1; i < kernel_side_ring_count(drain->kernel); i++) {
		err = ring_buffer__add(drain->samples, kernel_side_ring_fd(drain->kernel, i),
				       on_ring_record, drain);
		if (err)
			return err;
	}
	err = watch(drain, ring_buffer__epoll_fd(drain->control));
	if (!err)
		err = watch(drain, ring_buffer__epoll_fd(drain->samples));
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
	if (!drain)
		return;
	pending_clear(&drain->pending);
	ring_buffer__free(drain->control);
	ring_buffer__free(drain->samples);
	fd_close(&drain->epoll_fd);
	free(drain);
}

int drain_fd(const struct drain *drain)
{
	return drain->epoll_fd;
}

static void apply_pending(struct drain *drain, uint64_t before_ns)
{
	struct gb_record *record;

	while ((record = pending_take(&drain->pending, before_ns))) {
		apply(drain, record, record->size);
		free(record);
	}
}

/* Even if there is no news: what was waiting for its time, such as the mappings of a process that ended, may be due. */
static void publish_news(struct drain *drain)
{
	if (drain->publisher && publisher_flush(drain->publisher))
		drain->lost_to_memory++;
}

static int run(struct drain *drain, uint64_t before_ns)
{
	int taken;

	taken = ring_buffer__consume(drain->control);
	sideband_read(drain->sideband, on_record, drain);
	apply_pending(drain, before_ns);
	publish_news(drain);
	if (taken >= 0)
		taken = ring_buffer__consume(drain->samples);
	if (taken < 0)
		return taken;
	return drain->dump_error;
}

int drain_run(struct drain *drain)
{
	return run(drain, clock_now_ns() - ON_ITS_WAY_NS);
}

int drain_finish(struct drain *drain)
{
	return run(drain, UINT64_MAX);
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

	publish_news(drain);
	return err;
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
