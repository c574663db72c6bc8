/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made.h - a recording that nobody recorded: as large as asked for, the same every time, put into the real buffer.
 *
 * Threads are sampled in turns, each once a millisecond and never exactly. Their stacks are 25 frames deep and walk a tree of 4096
 * functions as real ones do: the next stack leaves the one before it near the leaf (at the leaf itself in a third of all cases, one frame
 * above it in a third of the others, and so on) and goes down another way, so it has 4 frames in the mean that the one before it has not. A leaf is at one of 8 places of its function.
 *
 *   stacks = 0     every sample goes on with the walk of its thread: no thread has a stack twice
 *   stacks = n     n stacks of one walk; each sample has any of them
 *
 * The functions are those of made.S, a library beside the program.
 */
#ifndef GECKOBPF_BENCH_MADE_H
#define GECKOBPF_BENCH_MADE_H

#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "profile/profile.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "geckobpf_abi.h"
#include "measure.h"

#define MADE_DEPTH 25
#define MADE_FUNCTIONS 4096
#define MADE_FUNCTION_BYTES 256
#define MADE_BASE 0x7f0000000000ULL
#define MADE_OFFSET 0x1000 /* of the library's code in its file */
#define MADE_TID 100000
/* After 104 days of uptime: more nanoseconds than a double tells apart. */
#define MADE_START_NS ((1ULL << 53) + 1)

struct made_config {
	uint32_t processes, threads; /* in all; thread i is in process i % processes */
	uint32_t stacks;
	uint64_t samples;
};

/* The way to a leaf: which call each function makes. Of the stacks of one walk each is later in the order of these. */
struct made_walk {
	uint32_t calls[MADE_DEPTH];
	uint32_t functions[MADE_DEPTH];
	struct frame frames[MADE_DEPTH]; /* root first */
	uint64_t random;
};

struct made {
	struct made_config config;
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct thread **threads;
	struct made_walk *walks; /* one for each thread, or one for each stack */
};

/* ---- stacks ---------------------------------------------------------------------------- */

/* Goes another way from frame `level` on. */
static inline void made_descend(struct made_walk *walk, uint32_t level)
{
	uint32_t i;

	for (i = level; i < MADE_DEPTH; i++) {
		uint64_t caller = i ? walk->functions[i - 1] : MADE_FUNCTIONS;

		walk->functions[i] =
			(uint32_t)(mix(caller << 32 | walk->calls[i]) % MADE_FUNCTIONS);
	}
	/* The caller returns to behind another of its calls. */
	for (i = level ? level - 1 : 0; i < MADE_DEPTH; i++) {
		uint64_t call = i + 1 < MADE_DEPTH ? walk->calls[i + 1] : walk->random % 8;

		walk->frames[i].value =
			MADE_BASE + walk->functions[i] * MADE_FUNCTION_BYTES + 4 * (1 + call % 63);
	}
}

static inline void made_walk_begin(struct made_walk *walk, uint64_t seed)
{
	memset(walk, 0, sizeof(*walk));
	walk->random = mix(seed);
	walk->calls[2] = (uint32_t)seed; /* below main, as threads are */
	made_descend(walk, 0);
}

static inline void made_walk_on(struct made_walk *walk)
{
	uint32_t level = MADE_DEPTH - 1, i;
	uint64_t dice = walk->random = mix(walk->random + 1);

	while (level > 3 && dice % 3) {
		dice /= 3;
		level--;
	}
	walk->calls[level]++;
	for (i = level + 1; i < MADE_DEPTH; i++)
		walk->calls[i] = 0;
	made_descend(walk, level);
}

static inline int made_open_walks(struct made *made)
{
	uint32_t count = made->config.stacks ? made->config.stacks : made->config.threads, i;

	made->walks = calloc(count, sizeof(*made->walks));
	if (!made->walks)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		if (!i || !made->config.stacks) {
			made_walk_begin(&made->walks[i], i + 1);
			continue;
		}
		made->walks[i] = made->walks[i - 1];
		made_walk_on(&made->walks[i]);
	}
	return 0;
}

/* ---- samples --------------------------------------------------------------------------- */

static inline uint64_t made_time_ns(const struct made_config *config, uint64_t sample)
{
	uint64_t round = sample / config->threads, turn = sample % config->threads;

	return MADE_START_NS + round * NS_PER_MS + turn * (NS_PER_MS / config->threads) +
	       mix(sample) % 999;
}

static inline const struct frame *made_frames(struct made *made, uint64_t sample)
{
	struct made_walk *walk;

	if (made->config.stacks)
		return made->walks[mix(sample) % made->config.stacks].frames;
	walk = &made->walks[sample % made->config.threads];
	made_walk_on(walk);
	return walk->frames;
}

static inline int made_put_samples(struct made *made)
{
	struct sample_entry sample = {
		.weight = 1, .user_end = GB_STACK_COMPLETE, .frame_count = MADE_DEPTH};
	uint64_t i;
	int err = 0;

	for (i = 0; i < made->config.samples && !err; i++) {
		const struct thread *thread = made->threads[i % made->config.threads];

		sample.thread = thread->number;
		sample.time_ns = made_time_ns(&made->config, i);
		sample.cpu_ns = sample.run_ns = sample.time_ns - MADE_START_NS;
		sample.frames = made_frames(made, i);
		err = profile_buffer_put_sample(thread->process->buffer, &sample);
	}
	return err;
}

/* ---- who is sampled ---------------------------------------------------------------------- */

static inline int made_find_library(char *path, size_t path_bytes)
{
	static const char name[] = "libmade.so";
	ssize_t length = readlink("/proc/self/exe", path, path_bytes);
	char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;

	if (!slash || path_bytes - (size_t)(slash + 1 - path) < sizeof(name))
		return -ENAMETOOLONG;
	memcpy(slash + 1, name, sizeof(name));
	return access(path, R_OK) ? -errno : 0;
}

static inline int made_add_process(struct made *made, struct process *process)
{
	char path[PATH_MAX];
	const struct object_sighting sighting = {.pid = 1, .device = 1, .inode = 1, .path = path};
	const struct profile_buffer_config config = {
		.memory = made->memory,
		.process_id = process->number,
		.period_ns = NS_PER_MS,
	};
	struct mapping mapping = {.start = MADE_BASE,
				  .end = MADE_BASE + MADE_FUNCTIONS * MADE_FUNCTION_BYTES,
				  .offset = MADE_OFFSET};
	int err = made_find_library(path, sizeof(path));

	if (!err)
		err = objects_get(made->objects, &sighting, &mapping.object);
	if (!err)
		err = address_space_add(&process->space, &mapping);
	process->is_root = true;
	return err ? err : profile_buffer_open(&process->buffer, &config);
}

static inline int made_add_thread(struct made *made, uint32_t index)
{
	uint32_t tgid = MADE_TID + index % made->config.processes;
	const struct gb_task task = {.tgid = tgid,
				     .tid = MADE_TID + index,
				     .start_ns = 1 + index,
				     .group_start_ns = 1 + tgid - MADE_TID};
	struct thread *thread;
	int err = processes_thread(made->processes, &task, &thread);

	if (err)
		return err;
	snprintf(thread->name, sizeof(thread->name), "worker %u", index & 0xffff);
	memcpy(thread->process->name, "made", sizeof("made"));
	made->threads[index] = thread;
	return thread->process->buffer ? 0 : made_add_process(made, thread->process);
}

static inline void made_close(struct made *made)
{
	size_t i;

	for (i = 0; made->processes && i < processes_count(made->processes); i++)
		profile_buffer_close(processes_at(made->processes, i)->buffer);
	processes_close(made->processes);
	objects_close(made->objects);
	profile_memory_close(made->memory);
	free(made->threads);
	free(made->walks);
}

/* Puts all samples. `made` is to be closed whatever comes of it. */
static inline int made_open(struct made *made, const struct made_config *config)
{
	uint32_t i;
	int err = config->threads && config->processes ? 0 : -EINVAL;

	*made = (struct made){.config = *config};
	if (!err)
		err = processes_open(&made->processes);
	if (!err)
		err = objects_open(&made->objects, 0);
	if (!err)
		err = profile_memory_open(
			&made->memory, &(struct profile_memory_config){.max_bytes = BUFFER_BYTES});
	if (!err)
		err = made_open_walks(made);
	made->threads = err ? NULL : calloc(config->threads, sizeof(*made->threads));
	if (!err && !made->threads)
		err = -ENOMEM;
	for (i = 0; i < config->threads && !err; i++)
		err = made_add_thread(made, i);
	return err ? err : made_put_samples(made);
}

/* What a profile or a raw capture of it says of machine and configuration. */
static inline struct recording_facts made_facts(const struct made_config *config)
{
	static const char *const none[] = {NULL};

	return (struct recording_facts){
		.product = "made",
		.version = "0",
		.physical_cpus = 64,
		.logical_cpus = 64,
		.start_real_ns = 1767225600000000000, /* 2026-01-01 */
		.start_ns = MADE_START_NS,
		.end_ns = made_time_ns(config, config->samples),
		.interval_ns = NS_PER_MS,
		.buffer_bytes = BUFFER_BYTES,
		.threads = none,
		.features = none,
	};
}

#endif
