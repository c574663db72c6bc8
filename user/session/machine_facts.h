/* SPDX-License-Identifier: BSD-2-Clause */
/* machine_facts.h - what the profile says of the machine. */
#ifndef GECKOBPF_SESSION_MACHINE_FACTS_H
#define GECKOBPF_SESSION_MACHINE_FACTS_H

#include <stddef.h>
#include <stdint.h>

struct machine_facts {
	char oscpu[256]; /* "Linux 6.18.44 x86_64" */
	char cpu_name[128]; /* "" if not known */
	uint32_t physical_cpus, logical_cpus; /* cores, online CPUs */
	char boot_id[64]; /* "" if not known */
	char device[160]; /* vendor and product, "" if not known */
};

/* Never fails: what cannot be read stays empty or 0. */
void machine_facts_read(struct machine_facts *out);

/* What the firmware below the directory `root` calls the machine, into `out`; "" if it does not say. */
void machine_facts_device(const char *root, char *out, size_t out_bytes);

#endif
