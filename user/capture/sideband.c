/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sideband.c - see sideband.h.
 *
 * A ring is one page of header and 2^n pages of data:
 *
 *   data_tail (ours) .. data_head (the kernel's), both ever growing, taken modulo the size
 *
 * The kernel's store-release of data_head pairs with our load-acquire, our store-release of data_tail with its load. A
 * record that wraps around the end is copied together first.
 */
#include "capture/sideband.h"

#include "capture/cpus.h"
#include "recording/map_records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (256 * 1024)

struct side_ring {
	unsigned int cpu;
	int fd;
	struct perf_event_mmap_page *page;
	bool is_watched;
};

struct sideband {
	struct side_ring *items;
	size_t count, capacity;
	size_t page_bytes;
	uint32_t wake_bytes;
	bool has_build_ids; /* 5.12 and later */
	uint64_t lost;
	union { /* a record put together; perf records are at most 64 KiB */
		struct perf_event_header header;
		unsigned char bytes[1 << 16];
	} whole;
	union { /* the record made of it */
		struct map_record record;
		unsigned char bytes[sizeof(struct map_record) + (1 << 16)];
	} made;
};

/* The body of PERF_RECORD_MMAP2, behind the header. */
struct mmap2_body {
	uint32_t pid, tid;
	uint64_t address, length, offset;
	union {
		struct {
			uint32_t major_number, minor_number;
			uint64_t inode, inode_generation;
		};
		struct {
			uint8_t build_id_size;
			uint8_t reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t protection, flags;
	char path[];
};

struct comm_body {
	uint32_t pid, tid;
	char comm[];
};

struct lost_body {
	uint64_t id, lost;
};

/* What PERF_SAMPLE_TID | PERF_SAMPLE_TIME puts at the end of every record. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static int open_event(unsigned int cpu, bool with_build_ids, uint32_t wake_bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.build_id = with_build_ids,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = wake_bytes,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_ring(struct sideband *sideband, unsigned int cpu, struct side_ring *out)
{
	int fd = open_event(cpu, sideband->has_build_ids, sideband->wake_bytes);
	void *page;

	if (fd == -EINVAL && sideband->has_build_ids) {
		sideband->has_build_ids = false;
		fd = open_event(cpu, false, sideband->wake_bytes);
	}
	if (fd < 0)
		return fd;
	page = mmap(NULL, sideband->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (page == MAP_FAILED) {
		int err = -errno;

		close(fd);
		return err;
	}
	*out = (struct side_ring){.cpu = cpu, .fd = fd, .page = page};
	return 0;
}

static bool is_watched(const struct sideband *sideband, unsigned int cpu)
{
	size_t i;

	for (i = 0; i < sideband->count; i++)
		if (sideband->items[i].cpu == cpu)
			return true;
	return false;
}

int sideband_update(struct sideband *sideband)
{
	struct cpu_set online;
	unsigned int cpu;
	int err;

	err = cpus_online(&online);
	for (cpu = 0; !err && cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(&online, cpu) || is_watched(sideband, cpu))
			continue;
		if (sideband->count == sideband->capacity)
			return -ENOSPC; /* more CPUs than were possible */
		err = open_ring(sideband, cpu, &sideband->items[sideband->count]);
		if (err == -ENODEV || err == -ENXIO)
			err = 0; /* it went offline meanwhile */
		else if (!err)
			sideband->count++;
	}
	return err;
}

int sideband_open(struct sideband **out, bool wakes_at_once)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	long possible = sysconf(_SC_NPROCESSORS_CONF);
	int err;

	if (!sideband)
		return -ENOMEM;
	sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sideband->has_build_ids = true; /* until the kernel says no */
	sideband->wake_bytes = wakes_at_once ? 1 : RING_BYTES / 4;
	sideband->capacity = possible > 0 ? (size_t)possible : 1;
	sideband->items = calloc(sideband->capacity, sizeof(*sideband->items));
	err = sideband->items ? sideband_update(sideband) : -ENOMEM;
	if (err) {
		sideband_close(sideband);
		return err;
	}
	*out = sideband;
	return 0;
}

void sideband_close(struct sideband *sideband)
{
	size_t i;

	if (!sideband)
		return;
	for (i = 0; i < sideband->count; i++) {
		munmap(sideband->items[i].page, sideband->page_bytes + RING_BYTES);
		close(sideband->items[i].fd);
	}
	free(sideband->items);
	free(sideband);
}

void sideband_stop(struct sideband *sideband)
{
	size_t i;

	for (i = 0; i < sideband->count; i++)
		(void)ioctl(sideband->items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* The time is the last thing in the record. */
static uint64_t record_time(const struct perf_event_header *header)
{
	struct sample_id id;

	memcpy(&id, (const char *)header + header->size - sizeof(id), sizeof(id));
	return id.time_ns;
}

static void start_record(struct sideband *sideband, uint16_t kind, uint32_t tgid, uint64_t time_ns)
{
	memset(&sideband->made.record, 0, sizeof(sideband->made.record));
	sideband->made.record.hdr.kind = kind;
	sideband->made.record.hdr.size = sizeof(struct map_record);
	sideband->made.record.hdr.time_ns = time_ns;
	sideband->made.record.tgid = tgid;
}

static void take_mmap2(struct sideband *sideband, const struct perf_event_header *header,
		       sideband_take take, void *context)
{
	const struct mmap2_body *body = (const void *)(header + 1);
	struct map_record *record = &sideband->made.record;
	size_t fixed = sizeof(*header) + sizeof(*body) + sizeof(struct sample_id), length;

	if (header->size <= fixed)
		return;
	length = strnlen(body->path, header->size - fixed);
	start_record(sideband, RECORD_MAP, body->pid, record_time(header));
	record->start = body->address;
	record->end = body->address + body->length;
	record->offset = body->offset;
	if (!(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		record->device = makedev(body->major_number, body->minor_number);
		record->inode = body->inode;
	} else if (body->build_id_size <= BUILD_ID_MAX_BYTES) {
		record->build_id.size = body->build_id_size;
		memcpy(record->build_id.bytes, body->build_id, body->build_id_size);
	}
	memcpy(record->path, body->path, length);
	record->path[length] = '\0';
	record->hdr.size += (uint32_t)length + 1;
	take(context, record, record->hdr.size);
}

static void take_record(struct sideband *sideband, const struct perf_event_header *header,
			sideband_take take, void *context)
{
	const void *body = header + 1;

	if (header->type == PERF_RECORD_MMAP2) {
		take_mmap2(sideband, header, take, context);
	} else if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC &&
		   header->size >=
			   sizeof(*header) + sizeof(struct comm_body) + sizeof(struct sample_id)) {
		start_record(sideband, RECORD_IMAGE, ((const struct comm_body *)body)->pid,
			     record_time(header));
		take(context, &sideband->made.record, sizeof(struct map_record));
	} else if (header->type == PERF_RECORD_LOST &&
		   header->size >= sizeof(*header) + sizeof(struct lost_body)) {
		sideband->lost += ((const struct lost_body *)body)->lost;
	}
}

/* Copies `size` bytes at ring position `at`, around the end if need be. */
static void copy_out(const unsigned char *data, uint64_t at, void *to, size_t size)
{
	size_t offset = at % RING_BYTES;
	size_t first = size < RING_BYTES - offset ? size : RING_BYTES - offset;

	memcpy(to, data + offset, first);
	memcpy((char *)to + first, data, size - first);
}

static void read_ring(struct sideband *sideband, struct side_ring *ring, sideband_take take,
		      void *context)
{
	const unsigned char *data = (const unsigned char *)ring->page + sideband->page_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct perf_event_header *header = &sideband->whole.header;

	while (tail < head) {
		copy_out(data, tail, header, sizeof(*header));
		if (header->size < sizeof(*header) || header->size > head - tail)
			break; /* not a record: give up what is there rather than loop */
		copy_out(data, tail, header, header->size);
		take_record(sideband, header, take, context);
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void sideband_read(struct sideband *sideband, sideband_take take, void *context)
{
	size_t i;

	for (i = 0; i < sideband->count; i++)
		read_ring(sideband, &sideband->items[i], take, context);
}

bool sideband_has_build_ids(const struct sideband *sideband)
{
	return sideband->has_build_ids;
}

uint64_t sideband_lost(const struct sideband *sideband)
{
	return sideband->lost;
}

int sideband_watch(struct sideband *sideband, int epoll_fd)
{
	size_t i;

	for (i = 0; i < sideband->count; i++) {
		struct side_ring *ring = &sideband->items[i];
		struct epoll_event event = {.events = EPOLLIN, .data.fd = ring->fd};

		if (ring->is_watched)
			continue;
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ring->fd, &event))
			return -errno;
		ring->is_watched = true;
	}
	return 0;
}
