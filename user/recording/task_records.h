/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_records.h - records of threads and processes that come, go, and change their names and images: struct
 * gb_task_event.
 */
#ifndef GECKOBPF_RECORDING_TASK_RECORDS_H
#define GECKOBPF_RECORDING_TASK_RECORDS_H

struct record_kind;

extern const struct record_kind task_record;

#endif
