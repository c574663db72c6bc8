/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counter_records.h - records of counters, struct gb_counter_event: what was counted of a process at a time.
 *
 *   counter_record ──> the process's buffer, once there is one: a process without samples keeps only what was told last
 */
#ifndef GECKOBPF_RECORDING_COUNTER_RECORDS_H
#define GECKOBPF_RECORDING_COUNTER_RECORDS_H

struct process;
struct record_kind;
struct records;

extern const struct record_kind counter_record;

/* The process has just got its buffer: what was told before goes there. */
void counter_records_begin(struct records *records, struct process *process);

#endif
