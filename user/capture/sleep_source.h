/* SPDX-License-Identifier: BSD-2-Clause */
/* sleep_source.h - the time that threads are off the CPU: samples that weigh as many periods as they stand for. */
#ifndef GECKOBPF_CAPTURE_SLEEP_SOURCE_H
#define GECKOBPF_CAPTURE_SLEEP_SOURCE_H

struct source;

extern const struct source sleep_source;

#endif
