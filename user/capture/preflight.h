/* SPDX-License-Identifier: BSD-2-Clause */
/* preflight.h - what must hold before anything is started, found out beforehand so that the error can name it. */
#ifndef GECKOBPF_CAPTURE_PREFLIGHT_H
#define GECKOBPF_CAPTURE_PREFLIGHT_H

#include <stdint.h>

struct error;

/* kernel.perf_event_max_sample_rate, in Hz; 0: not known. */
uint32_t preflight_max_rate_hz(void);

/* Kernel, what it shows of itself, namespaces, capabilities, and that `rate_hz` is allowed. 0 or -errno. */
int preflight_check(uint32_t rate_hz, struct error *error);

/* Whether /proc, /sys and its list of CPUs are there, without which nothing else can be found out. 0 or -ENOTSUP. */
int preflight_mounts(struct error *error);

/*
 * Whether a kernel with these uname(2) strings can be used; `version` counts where a distribution's release does not
 * tell the patch level ("6.1.0-47-amd64", "#1 SMP Debian 6.1.192-2"). 0 or -errno.
 */
int preflight_kernel(const char *release, const char *version, struct error *error);

#endif
