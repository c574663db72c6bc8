/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sources.h - the sources of one recording, as one: those rows of a table that it wants.
 *
 *   open ──> (the programs are loaded) ──> start ──> pause, resume ... ──> stop ──> close
 */
#ifndef GECKOBPF_CAPTURE_SOURCES_H
#define GECKOBPF_CAPTURE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_side;
struct source;
struct source_config;
struct sources;

/* `table` ends with NULL; it and `config` are borrowed. 0 or -ENOMEM. */
int sources_open(struct sources **out, const struct source *const *table,
		 const struct source_config *config);
/* NULL is fine. */
void sources_close(struct sources *sources);

/* The names of all their BPF programs; ends with NULL; lives as long as `sources`. */
const char *const *sources_programs(const struct sources *sources);
/* Whether the BPF program takes samples: it is a source's. */
bool sources_has_program(const struct sources *sources, const char *name);

/* From its return on, samples come, of all sources; on -errno of none. */
int sources_start(struct sources *sources, struct kernel_side *kernel);
void sources_pause(struct sources *sources);
/* 0; -errno: all are paused. */
int sources_resume(struct sources *sources);
/* Once in a while: CPUs come online and leave. 0 or -errno. */
int sources_follow_cpus(struct sources *sources);
/* NULL is fine, and those that were not started. */
void sources_stop(struct sources *sources);

size_t sources_count(const struct sources *sources);
const struct source *sources_at(const struct sources *sources, size_t index);

#endif
