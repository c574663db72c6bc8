/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - one way in which samples come about: a timer, and in time switches, probes, counters.
 *
 * A source is a file with a `struct source`, a file of BPF programs, and a row in source_table.c. Its programs are in
 * optional sections, SEC("?..."), and only those of the sources that a recording wants are loaded. What it keeps for
 * one recording is its state, which it alone understands.
 */
#ifndef GECKOBPF_CAPTURE_SOURCE_H
#define GECKOBPF_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_side;

/* What a recording wants of its sources. */
struct source_config {
	uint64_t period_ns; /* of the timer; 0: no timer */
	bool off_cpu; /* and sleeps */
};

struct source_counter {
	const char *name; /* in the profile's log */
	unsigned int stat; /* enum gb_stat */
};

struct source {
	const char *name;
	const char *event; /* what the profile says that it samples; NULL: nothing of its own */
	const char *const *programs; /* names of its BPF programs; ends with NULL */
	const struct source_counter *counters; /* ends with a row without a name */

	bool (*is_wanted)(const struct source_config *config);
	/* `kernel` is borrowed, and has the programs loaded. 0 or -errno. */
	int (*open)(void **state, struct kernel_side *kernel, const struct source_config *config);
	/* Samples come when it returns. 0 or -errno: none do. */
	int (*start)(void *state);
	/* None come until it is resumed. Fine in any state. */
	void (*pause)(void *state);
	/* As start. */
	int (*resume)(void *state);
	/* Takes in CPUs that came online, lets go of those that left. Called only while samples come. 0 or -errno. */
	int (*follow_cpus)(void *state);
	/* No more will come. Fine in any state. */
	void (*stop)(void *state);
	void (*close)(void *state);
};

/* All there are; ends with NULL. */
extern const struct source *const source_table[];

#endif
