/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_profile.h - which stacks had how many samples and how much CPU time, in which thread: what reports and the
 * formats of other tools are made of.
 *
 *   source <── process <── thread ──> counts: (stack, samples, CPU ns)
 *   (a file)                                     │
 *                             stack: (prefix, function) <── its callees
 *                                         function: (name, lib)
 *
 * Texts, functions and stacks are numbered in order of first use and exist once, whoever has them; a stack's prefix has
 * a smaller number than the stack. A loader adds from the left to the right: what is added belongs to the last thing
 * added on its left. Several files may be loaded into one profile.
 */
#ifndef GECKOBPF_FORMAT_STACK_PROFILE_H
#define GECKOBPF_FORMAT_STACK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_NONE UINT32_MAX

/* The stack, and the function in it, of CPU time that no sample accounts for. It has no samples. */
#define STACK_OF_NONE 0

/* Names are numbers of texts. Times are milliseconds since the source's start. */

struct stack_source {
	uint32_t path, product, version; /* `version`: of geckobpf; STACK_NONE: not known */
	double start_real_ms; /* since the epoch */
	double duration_ms;
	uint64_t interval_ns; /* what a sample stands for */
	/* What the recording says of its losses; all 0 without a log. */
	bool has_log;
	uint64_t samples_lost, events_lost, samples_overwritten;
	bool is_ring; /* a flight recorder: what was overwritten is no loss */
	uint64_t ticks,
		ticks_missed; /* timer ticks that found a target, and those that did not come in time */
	uint64_t stacks_complete, stacks_truncated;
};

struct stack_process {
	uint32_t source;
	uint32_t name, pid; /* the pid of an image after an exec is "42.1" */
	double born_ms, died_ms; /* `died_ms`: NAN if it lived on */
};

struct stack_count {
	uint32_t stack;
	uint64_t samples, cpu_ns;
};

struct stack_counts {
	struct stack_count *items;
	size_t count, capacity;
};

struct stack_thread {
	uint32_t process;
	uint32_t name, tid;
	double born_ms, died_ms;
	double first_ms, last_ms; /* of its rows; NAN: it has none */
	struct stack_counts counts; /* by rising number of the stack, each once */
};

struct stack_function {
	uint32_t name, lib; /* `lib`: STACK_NONE if none */
};

struct stack {
	uint32_t prefix; /* the caller's; STACK_NONE: a root */
	uint32_t function;
};

struct stack_profile {
	struct intern *texts, *functions, *stacks;
	struct {
		struct stack_source *items;
		size_t count, capacity;
	} sources;
	struct {
		struct stack_process *items;
		size_t count, capacity;
	} processes;
	struct {
		struct stack_thread *items;
		size_t count, capacity;
	} threads;
};

/* 0 or -ENOMEM. */
int stack_profile_open(struct stack_profile **out);
void stack_profile_close(struct stack_profile *profile);

/* ---- for loaders: each returns 0 or -ENOMEM -------------------------------------- */

int stack_profile_add_text(struct stack_profile *profile, const char *text, size_t length,
			   uint32_t *id);
int stack_profile_add_source(struct stack_profile *profile, const struct stack_source *source);
/* Adds a number that a recording says of itself to what the source says of its losses, if it is one of those. */
void stack_source_add_fact(struct stack_source *source, const char *name, uint64_t value);
/* The same of a text. */
void stack_source_add_text(struct stack_source *source, const char *name, const char *text);
/* Whether anything was lost. Stacks that are cut are not. */
bool stack_source_has_losses(const struct stack_source *source);
/* `source` of it is set to the last one. */
int stack_profile_add_process(struct stack_profile *profile, const struct stack_process *process);
/* `process` of it is set to the last one; its counts are empty. */
int stack_profile_add_thread(struct stack_profile *profile, const struct stack_thread *thread);
/* "name (in lib)", or a name. */
int stack_profile_add_function(struct stack_profile *profile, const char *text, size_t length,
			       uint32_t *function);
/* `prefix` and `function` are numbers it has given, or STACK_NONE for a root's prefix. */
int stack_profile_add_stack(struct stack_profile *profile, uint32_t prefix, uint32_t function,
			    uint32_t *stack);
/* To the last thread, in any order. */
int stack_profile_add_count(struct stack_profile *profile, const struct stack_count *count);
/* All counts of the last thread are there. */
void stack_profile_end_thread(struct stack_profile *profile);

/* Sorts them by stack, and makes one of those of the same stack. */
void stack_counts_merge(struct stack_counts *counts);

/* ---- for what is made of it ------------------------------------------------------- */

/* Valid until stack_profile_close(). */
const char *stack_profile_text(const struct stack_profile *profile, uint32_t id);
struct stack_function stack_profile_function(const struct stack_profile *profile, uint32_t id);
struct stack stack_profile_stack(const struct stack_profile *profile, uint32_t id);
uint32_t stack_profile_function_count(const struct stack_profile *profile);
const struct stack_source *stack_profile_source_of(const struct stack_profile *profile,
						   const struct stack_thread *thread);

#endif
