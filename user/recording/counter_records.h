/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counter_records.h - records of counters, struct gb_counter_event: what was counted of a process at a time.
 *
 *   counter_record ──> its value ──┬──> the process's buffer, once there is one: a process without samples keeps only
 *   amounts_record ──> their sums ─┘    what was told last
 *
 * struct gb_amounts_event tells what has been added since the last one: the values are the sums, which begin with 0.
 */
#ifndef GECKOBPF_RECORDING_COUNTER_RECORDS_H
#define GECKOBPF_RECORDING_COUNTER_RECORDS_H

struct process;
struct record_kind;
struct records;

extern const struct record_kind counter_record;
extern const struct record_kind amounts_record;

/* The process has just got its buffer: what was told before goes there. */
void counter_records_begin(struct records *records, struct process *process);

#endif
