/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_side.c - see kernel_side.h. */
#include "capture/kernel_side.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/kernel_programs.h"
#include "target/procfs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/types.h>

#include "geckobpf.skel.h"
#include "geckobpf_abi.h"
#include "geckobpf_names.h"

#define MAX_RINGS 64
#define CPUS_PER_RING 8
#define MIN_RING_TOTAL (8UL << 20) /* raw samples of a large program that starts come 64 KiB each */
#define MAX_RING_TOTAL (512UL << 20)
#define FEWER_PROCESSES 8192 /* in maps that are to be small */
#define BYTES_PER_SAMPLE 512 /* of a usual stack; one second of them must fit */

#define MAX_READINGS 100 /* of the list of tasks, each of which found descendants of targets */

/* A map's memory, mapped here as well. */
struct shared_memory {
	void *memory;
	size_t bytes;
};

struct kernel_side {
	struct geckobpf *skel;
	struct {
		struct shared_memory *items;
		size_t count, capacity;
	} shared;
	int ring_fds[MAX_RINGS];
	size_t ring_count;
	size_t ring_bytes; /* of one ring */
	struct kernel_programs programs;
};

/* libbpf's messages, one level down: its warnings explain our errors to those who ask with -v. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_DEBUG)
		log_at(LOG_DEBUG, format, args);
	return 0;
}

static size_t power_of_two_above(size_t value)
{
	size_t result = 4096;

	while (result < value)
		result *= 2;
	return result;
}

size_t kernel_side_rings_total(uint32_t rate_hz, uint32_t cpu_count)
{
	const size_t total = (size_t)rate_hz * cpu_count * BYTES_PER_SAMPLE;

	if (total < MIN_RING_TOTAL)
		return MIN_RING_TOTAL;
	return power_of_two_above(total > MAX_RING_TOTAL ? MAX_RING_TOTAL : total);
}

/* One ring for up to eight CPUs, then more. */
static void size_rings(struct kernel_side *kernel, const struct kernel_side_config *config)
{
	const size_t total = kernel_side_rings_total(config->rate_hz, config->cpu_count);

	kernel->ring_count = 1;
	while (kernel->ring_count < MAX_RINGS &&
	       kernel->ring_count * CPUS_PER_RING < config->cpu_count)
		kernel->ring_count *= 2;
	kernel->ring_bytes = power_of_two_above(total / kernel->ring_count);
	if (config->saves_memory)
		kernel->ring_bytes = power_of_two_above(kernel->ring_bytes / 4);
}

static void name_ancestors(__u32 ancestors[GB_ANCESTORS])
{
	struct pid_info info = {.parent = (uint32_t)getppid()};
	size_t i;

	for (i = 0; i < GB_ANCESTORS && info.parent; i++) {
		ancestors[i] = info.parent;
		if (procfs_pid((pid_t)info.parent, &info))
			break;
	}
}

static void configure(struct kernel_side *kernel, const struct kernel_side_config *config)
{
	struct geckobpf__rodata *rodata = kernel->skel->rodata;

	rodata->cfg_own_tgid = (__u32)getpid();
	name_ancestors(rodata->cfg_ancestors);
	rodata->cfg_all = config->all;
	rodata->cfg_kernel_stacks = config->kernel_stacks;
	rodata->cfg_off_cpu = config->off_cpu;
	rodata->cfg_counters = config->counters;
	rodata->cfg_picks_threads = config->threads != NULL;
	if (config->threads)
		memcpy(rodata->cfg_thread_names, config->threads, sizeof(rodata->cfg_thread_names));
	rodata->cfg_period_ns = config->period_ns;
	rodata->cfg_ring_mask = (__u32)kernel->ring_count - 1;
	rodata->cfg_wake_bytes = kernel->ring_bytes / 4;
	rodata->cfg_control_wake_bytes = bpf_map__max_entries(kernel->skel->maps.control) / 4;
}

enum gb_sleep_way kernel_side_sleep_way(const struct kernel_side *kernel)
{
	return kernel->programs.sleep_way;
}

int kernel_side_mappings_error(const struct kernel_side *kernel)
{
	return kernel->programs.mappings_error;
}

int kernel_side_network_error(const struct kernel_side *kernel)
{
	return kernel->programs.network_error;
}

/* A place for every CPU there can be; and for sleeps if they are wanted. */
static int size_maps(struct kernel_side *kernel)
{
	int cpus = libbpf_num_possible_cpus(), err;

	if (cpus < 0)
		return cpus;
	err = bpf_map__set_max_entries(kernel->skel->maps.scratch, (__u32)cpus * GB_SLOTS);
	if (!err && !kernel->programs.has_sleeps)
		err = bpf_map__set_max_entries(kernel->skel->maps.sleepers, 1);
	return err;
}

/* Their elements are there from the start, so what has room for all processes that there can be takes megabytes. */
static int save_memory(struct kernel_side *kernel)
{
	int err = bpf_map__set_max_entries(kernel->skel->maps.targets, FEWER_PROCESSES);

	if (!err && kernel->programs.has_sleeps)
		err = bpf_map__set_max_entries(kernel->skel->maps.sleepers, FEWER_PROCESSES);
	return err ? err
		   : bpf_map__set_max_entries(kernel->skel->maps.process_maps, FEWER_PROCESSES);
}

static int make_rings(struct kernel_side *kernel)
{
	int outer = bpf_map__fd(kernel->skel->maps.samples);
	__u32 i;

	for (i = 0; i < kernel->ring_count; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sample_ring", 0, 0,
					(__u32)kernel->ring_bytes, NULL);

		if (fd < 0)
			return fd;
		kernel->ring_fds[i] = fd;
		if (bpf_map_update_elem(outer, &i, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

int kernel_side_open(struct kernel_side **out, const struct kernel_side_config *config)
{
	struct kernel_side *kernel = calloc(1, sizeof(*kernel));
	size_t i;
	int err;

	if (!kernel)
		return -ENOMEM;
	for (i = 0; i < MAX_RINGS; i++)
		kernel->ring_fds[i] = -1;
	libbpf_set_print(print_libbpf);
	kernel->skel = geckobpf__open();
	if (!kernel->skel) {
		err = -errno;
		goto fail;
	}
	size_rings(kernel, config);
	configure(kernel, config);
	err = kernel_programs_choose(&kernel->programs, kernel->skel, config);
	if (!err)
		err = size_maps(kernel);
	if (!err && config->saves_memory)
		err = save_memory(kernel);
	if (!err)
		err = geckobpf__load(kernel->skel);
	if (!err)
		err = make_rings(kernel);
	if (err)
		goto fail;
	*out = kernel;
	return 0;
fail:
	kernel_side_close(kernel);
	return err;
}

void kernel_side_close(struct kernel_side *kernel)
{
	size_t i;

	if (!kernel)
		return;
	for (i = 0; i < MAX_RINGS; i++)
		if (kernel->ring_fds[i] >= 0)
			close(kernel->ring_fds[i]);
	for (i = 0; i < kernel->shared.count; i++)
		munmap(kernel->shared.items[i].memory, kernel->shared.items[i].bytes);
	free(kernel->shared.items);
	geckobpf__destroy(kernel->skel);
	free(kernel);
}

int kernel_side_attach(struct kernel_side *kernel)
{
	return kernel_programs_attach(kernel->skel);
}

void kernel_side_detach(struct kernel_side *kernel)
{
	kernel_programs_detach(kernel->skel);
}

int kernel_side_add_target(struct kernel_side *kernel, uint32_t tgid, bool armed, bool follow)
{
	const struct gb_target target = {.armed = armed, .follow = follow};

	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.targets), &tgid, &target, BPF_ANY))
		return -errno;
	return 0;
}

struct geckobpf *kernel_side_skeleton(struct kernel_side *kernel)
{
	return kernel->skel;
}

/* Those that are whole, of so many bytes; returns how many they are. */
static size_t take_records(const char *records, size_t bytes,
			   void (*take)(void *context, const void *record, size_t size),
			   void *context)
{
	size_t used = 0;

	while (bytes - used >= sizeof(struct gb_record)) {
		const struct gb_record *record = (const void *)(records + used);

		if (record->size < sizeof(*record) || record->size > bytes - used)
			break;
		take(context, record, record->size);
		used += record->size;
	}
	return used;
}

static int read_tasks(int fd, void (*take)(void *context, const void *record, size_t size),
		      void *context)
{
	_Alignas(struct gb_record) char records[8192];
	size_t have = 0;

	for (;;) {
		ssize_t got = read(fd, records + have, sizeof(records) - have);
		size_t used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		have += (size_t)got;
		used = take_records(records, have, take, context);
		have -= used;
		memmove(records, records + used, have); /* the beginning of one */
	}
}

static int read_iterator(const struct bpf_link *link,
			 void (*take)(void *context, const void *record, size_t size),
			 void *context)
{
	int fd, err;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	err = read_tasks(fd, take, context);
	close(fd);
	return err;
}

int kernel_side_list_tasks(struct kernel_side *kernel,
			   void (*take)(void *context, const void *record, size_t size),
			   void *context)
{
	return read_iterator(kernel->skel->links.list_tasks, take, context);
}

static void count_task(void *context, const void *record, size_t size)
{
	size_t *count = context;

	(void)record, (void)size;
	++*count;
}

/* A reading finds all generations whose pids rise from parent to child, which is the rule. */
int kernel_side_adopt_children(struct kernel_side *kernel)
{
	struct bpf_link *link = bpf_program__attach(kernel->skel->progs.adopt_children);
	size_t count = 1, all = 0;
	int err = link ? 0 : -errno, i;

	for (i = 0; i < MAX_READINGS && count && !err; i++) {
		count = 0;
		err = read_iterator(link, count_task, &count);
		all += count;
	}
	bpf_link__destroy(link);
	log_debug("%zu descendants of the targets run already%s", all,
		  count ? "; perhaps there are more" : "");
	return err;
}

void kernel_side_begin_sleeps(struct kernel_side *kernel)
{
	kernel->skel->data->sleeps_since_ns = clock_now_ns();
	kernel->skel->data->sleeps_until_ns = 0;
}

int kernel_side_end_sleeps(struct kernel_side *kernel)
{
	size_t count = 0;

	if (!kernel->skel->links.list_sleepers || kernel->skel->data->sleeps_until_ns)
		return 0;
	kernel->skel->data->sleeps_until_ns = clock_now_ns();
	return read_iterator(kernel->skel->links.list_sleepers, count_task, &count);
}

size_t kernel_side_ring_count(const struct kernel_side *kernel)
{
	return kernel->ring_count;
}

int kernel_side_ring_fd(const struct kernel_side *kernel, size_t index)
{
	return kernel->ring_fds[index];
}

int kernel_side_control_fd(const struct kernel_side *kernel)
{
	return bpf_map__fd(kernel->skel->maps.control);
}

size_t kernel_side_ring_bytes(const struct kernel_side *kernel)
{
	return kernel->ring_bytes * kernel->ring_count;
}

/* ---- unwind tables ---------------------------------------------------------------- */

static int map_memory(struct kernel_side *kernel, int fd, size_t bytes, void *out)
{
	/* Populated: it is about to be filled, and a fault a page costs more than the filling. */
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	int err;

	if (memory == MAP_FAILED)
		return -errno;
	err = ARRAY_ROOM(&kernel->shared);
	if (err) {
		munmap(memory, bytes);
		return err;
	}
	kernel->shared.items[kernel->shared.count++] = (struct shared_memory){memory, bytes};
	memcpy(out, &memory, sizeof(memory));
	return 0;
}

int kernel_side_map_tables(struct kernel_side *kernel, struct kernel_tables *out)
{
	int err;

	err = map_memory(kernel, bpf_map__fd(kernel->skel->maps.pages),
			 GB_MAX_PAGES * sizeof(*out->pages), &out->pages);
	if (!err)
		err = map_memory(kernel, bpf_map__fd(kernel->skel->maps.rules),
				 GB_MAX_RULES * sizeof(*out->rules), &out->rules);
	if (!err)
		err = map_memory(kernel, bpf_map__fd(kernel->skel->maps.mappings),
				 GB_MAX_MAPPINGS * sizeof(*out->mappings), &out->mappings);
	return err;
}

int kernel_side_add_pool(struct kernel_side *kernel, uint32_t index, struct gb_chunk **chunks)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd, err;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "row_pool", sizeof(__u32), sizeof(struct gb_chunk),
			    GB_POOL_CHUNKS, &options);
	if (fd < 0)
		return fd;
	err = map_memory(kernel, fd, GB_POOL_CHUNKS * sizeof(**chunks), chunks);
	if (!err &&
	    bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.row_pools), &index, &fd, BPF_ANY))
		err = -errno;
	close(fd); /* the outer map and the memory keep it */
	return err;
}

int kernel_side_set_process(struct kernel_side *kernel, uint32_t tgid,
			    const struct gb_process_map *value)
{
	int fd = bpf_map__fd(kernel->skel->maps.process_maps);

	return bpf_map_update_elem(fd, &tgid, value, BPF_ANY) ? -errno : 0;
}

void kernel_side_drop_process(struct kernel_side *kernel, uint32_t tgid, uint32_t first)
{
	int fd = bpf_map__fd(kernel->skel->maps.process_maps);
	struct gb_process_map value;

	if (!bpf_map_lookup_elem(fd, &tgid, &value) && value.first == first)
		(void)bpf_map_delete_elem(fd, &tgid);
}

/* ---- counters --------------------------------------------------------------------- */

int kernel_side_stats(const struct kernel_side *kernel, uint64_t *stats)
{
	int cpus = libbpf_num_possible_cpus(), cpu, err = 0;
	uint64_t *values;
	__u32 i;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (i = 0; i < GB_STAT_COUNT && !err; i++) {
		stats[i] = 0;
		if (bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.stats), &i, values))
			err = -errno;
		for (cpu = 0; cpu < cpus && !err; cpu++)
			stats[i] += values[cpu];
	}
	free(values);
	return err;
}

size_t kernel_side_costs(const struct kernel_side *kernel, struct program_cost *costs,
			 size_t capacity)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, kernel->skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (count == capacity)
			break;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue; /* it was not loaded */
		costs[count++] = (struct program_cost){.name = bpf_program__name(program),
						       .runs = info.run_cnt,
						       .ns = info.run_time_ns,
						       .missed = info.recursion_misses};
	}
	return count;
}
