/* SPDX-License-Identifier: BSD-2-Clause */
/* cpus.h - which CPUs are online: not what our affinity or cgroup lets us use, and with holes in the numbers. */
#ifndef GECKOBPF_CAPTURE_CPUS_H
#define GECKOBPF_CAPTURE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 8192
#define CPUS_ONLINE_PATH "/sys/devices/system/cpu/online"

/* A set of CPU numbers. */
struct cpu_set {
	unsigned char bits[CPUS_MAX / 8];
};

/* Parses a list such as "0-3,7\n". 0, or -EINVAL with *out undefined. */
int cpus_parse(const char *list, struct cpu_set *out);

/* The CPUs that are online now. 0 or -errno. */
int cpus_online(struct cpu_set *out);

bool cpus_has(const struct cpu_set *set, unsigned int cpu);
size_t cpus_count(const struct cpu_set *set);

/* What a hypervisor has taken from all CPUs, by a text as /proc/stat: in ticks of sysconf(_SC_CLK_TCK); 0: not known. */
uint64_t cpus_parse_stolen(const char *stat);
/* The same of this machine since it was started, in nanoseconds. */
uint64_t cpus_stolen_ns(void);

#endif
