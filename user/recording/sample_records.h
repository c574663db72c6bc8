/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample_records.h - records of samples, struct gb_sample: with frames, or raw, with registers and stack memory that
 * are yet to be unwound.
 *
 *   raw_record ── records_listener.unwind ──> sample_record ── sample_frames.h ──> the process's buffer
 */
#ifndef GECKOBPF_RECORDING_SAMPLE_RECORDS_H
#define GECKOBPF_RECORDING_SAMPLE_RECORDS_H

struct record_kind;

extern const struct record_kind sample_record, raw_record;

#endif
