/* SPDX-License-Identifier: BSD-2-Clause */
/* preflight.h - what must hold before anything is started, found out beforehand so that the error can name it. */
#ifndef GECKOBPF_CAPTURE_PREFLIGHT_H
#define GECKOBPF_CAPTURE_PREFLIGHT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Kernel, BTF, capabilities, pid namespace, and that `rate_hz` is allowed. 0; or -errno with one line in `problem` that
 * names the object, the cause and the remedy.
 */
int preflight_check(uint32_t rate_hz, char *problem, size_t problem_bytes);

/*
 * Whether a kernel with these uname(2) strings can be used; `version` counts where a distribution's release does not tell the
 * patch level ("6.1.0-47-amd64", "#1 SMP Debian 6.1.192-2"). As above.
 */
int preflight_kernel(const char *release, const char *version, char *problem, size_t problem_bytes);

#endif
