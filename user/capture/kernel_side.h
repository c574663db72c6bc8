/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_side.h - the BPF programs: loaded, attached, told whom to profile, asked what they counted.
 *
 * Open loads what every recording needs and the programs of its sources; attach starts the task and scheduler programs;
 * those of the sources they attach themselves (source.h). Wraps the skeleton; only drain.c and the sources see libbpf
 * besides.
 */
#ifndef GECKOBPF_CAPTURE_KERNEL_SIDE_H
#define GECKOBPF_CAPTURE_KERNEL_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "geckobpf_abi.h"

struct gb_chunk;
struct gb_mapping;
struct gb_names;
struct gb_page;
struct gb_process_map;
struct gb_unwind_rule;
struct geckobpf;
struct kernel_side;

#define KERNEL_SIDE_SAVED_BYTES (15UL << 20)

struct kernel_side_config {
	bool all; /* every process on the machine */
	bool kernel_stacks;
	bool off_cpu; /* sleeps are sampled, too */
	uint32_t counters; /* of processes: a bit for each enum gb_counter */
	const struct gb_names *threads; /* only those with such names have samples; NULL: all */
	uint64_t period_ns; /* of the timers */
	uint32_t rate_hz; /* samples a second and CPU, for the size of the rings */
	uint32_t cpu_count; /* online CPUs, for the same */
	bool saves_memory; /* smaller maps, and rings of a quarter: KERNEL_SIDE_SAVED_BYTES less */
	const char *const
		*programs; /* names of the optional ones to be loaded; ends with NULL; NULL: none */
};

/* 0 or -errno; what libbpf and the verifier said goes to the log (debug). */
int kernel_side_open(struct kernel_side **out, const struct kernel_side_config *config);
void kernel_side_close(struct kernel_side *kernel);

/* 0: the control ring says at once that a target has mapped code; -errno: why this kernel does not allow it. */
int kernel_side_mappings_error(const struct kernel_side *kernel);
/* 0: bytes of sockets are counted, or are not wanted; -ENOENT: this kernel has no place to count them, -errno. */
int kernel_side_network_error(const struct kernel_side *kernel);

/* How stacks of sleeps are taken on this kernel, if they are wanted. */
enum gb_sleep_way kernel_side_sleep_way(const struct kernel_side *kernel);

/* Sleeps count from now on; or no longer, and those that are under way are sent. 0 or -errno. */
void kernel_side_begin_sleeps(struct kernel_side *kernel);
int kernel_side_end_sleeps(struct kernel_side *kernel);

/* Starts the task and scheduler programs. From now on no fork, exec or exit of a target is missed. */
int kernel_side_attach(struct kernel_side *kernel);

/* Stops them: nothing more comes into the control ring. Tasks can still be listed. */
void kernel_side_detach(struct kernel_side *kernel);

/* Makes `tgid` a target. `armed`: at once; otherwise from its exec on. `follow`: its future children as well. */
int kernel_side_add_target(struct kernel_side *kernel, uint32_t tgid, bool armed, bool follow);

/*
 * Makes the descendants of followed targets, which run already, targets that are followed: to be called when the programs
 * are attached, so that none is forked meanwhile that neither finds. 0 or -errno.
 */
int kernel_side_adopt_children(struct kernel_side *kernel);

/* For sources, which attach their programs and set what these read. Lives as long as `kernel`. */
struct geckobpf *kernel_side_skeleton(struct kernel_side *kernel);

/* Hands a GB_TASK_SEEN record for every thread of every target to `take`. 0 or -errno. */
int kernel_side_list_tasks(struct kernel_side *kernel,
			   void (*take)(void *context, const void *record, size_t size),
			   void *context);

size_t kernel_side_ring_count(const struct kernel_side *kernel);
/* Map descriptors of sample ring `index`, and of the control ring. */
int kernel_side_ring_fd(const struct kernel_side *kernel, size_t index);
int kernel_side_control_fd(const struct kernel_side *kernel);
size_t kernel_side_ring_bytes(const struct kernel_side *kernel); /* all sample rings together */
/* The same, before there are any: about a second of samples. */
size_t kernel_side_rings_total(uint32_t rate_hz, uint32_t cpu_count);

/* The tables of the unwinder, as memory that the kernel reads too; they live as long as `kernel`. */
struct kernel_tables {
	struct gb_page *pages; /* GB_MAX_PAGES */
	struct gb_unwind_rule *rules; /* GB_MAX_RULES */
	struct gb_mapping *mappings; /* GB_MAX_MAPPINGS */
};

/* 0 or -errno. */
int kernel_side_map_tables(struct kernel_side *kernel, struct kernel_tables *out);
/* Makes row pool `index` (0, 1, 2, ...); *chunks gets its GB_POOL_CHUNKS chunks. 0 or -errno. */
int kernel_side_add_pool(struct kernel_side *kernel, uint32_t index, struct gb_chunk **chunks);
/* Where the unwinder finds the mappings of process `tgid`. 0 or -errno. */
int kernel_side_set_process(struct kernel_side *kernel, uint32_t tgid,
			    const struct gb_process_map *value);
/* Takes the mappings at `first` from process `tgid`; does nothing if it has others by now. */
void kernel_side_drop_process(struct kernel_side *kernel, uint32_t tgid, uint32_t first);

/* The counters, CPUs added up: enum gb_stat indexes stats[GB_STAT_COUNT]. 0 or -errno. */
int kernel_side_stats(const struct kernel_side *kernel, uint64_t *stats);

/* Runs and nanoseconds of all our programs, for the benchmark; needs kernel.bpf_stats_enabled. */
struct program_cost {
	const char *name;
	uint64_t runs, ns;
	uint64_t missed; /* runs that the kernel skipped because of recursion */
};
size_t kernel_side_costs(const struct kernel_side *kernel, struct program_cost *costs,
			 size_t capacity);

#endif
