/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sideband.h - executable mappings and execs of all processes, as the kernel's perf events tell them.
 *
 * One dummy perf event and one ring a CPU, all processes; MMAP2 (with build ids where the kernel has them) and COMM
 * become struct map_record. Their times are CLOCK_MONOTONIC, like those of the BPF records.
 */
#ifndef GECKOBPF_CAPTURE_SIDEBAND_H
#define GECKOBPF_CAPTURE_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sideband;

typedef void (*sideband_take)(void *context, const void *record, size_t size);

/*
 * Starts on all online CPUs. `wakes_at_once`: the rings become readable with every record, not only when they are a
 * quarter full. 0 or -errno of perf_event_open(2) or mmap(2).
 */
int sideband_open(struct sideband **out, bool wakes_at_once);
void sideband_close(struct sideband *sideband);

/* Also watches CPUs that came online since. 0 or -errno. */
int sideband_update(struct sideband *sideband);

/* Nothing more comes. What there is can still be read. */
void sideband_stop(struct sideband *sideband);

/* Hands over all that is there, CPU by CPU: in order of time only within one CPU. */
void sideband_read(struct sideband *sideband, sideband_take take, void *context);

/* Whether records of mappings bring build ids; kernels before 5.12 have none. */
bool sideband_has_build_ids(const struct sideband *sideband);

/* Records that the kernel could not write because a ring was full. */
uint64_t sideband_lost(const struct sideband *sideband);

/* Adds the rings' descriptors to epoll set `epoll_fd`; readable as sideband_open() was told. 0 or -errno. */
int sideband_watch(struct sideband *sideband, int epoll_fd);

#endif
