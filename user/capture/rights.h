/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rights.h - what we may do: capabilities without which nothing is recorded, those without which something is missing,
 * and who forbids what a capability allows. Found out by recording with each set of them (docs/troubleshooting.md).
 */
#ifndef GECKOBPF_CAPTURE_RIGHTS_H
#define GECKOBPF_CAPTURE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/capability.h>

struct error;

/*
 * Whether recording takes that capability of those that are held: one that includes others only where these are not
 * held themselves, as on kernels that do not know them.
 */
bool rights_records_with(cap_t held, cap_value_t value);

/* Whether we have all that is needed to record. 0 or -EPERM. */
int rights_check(struct error *error);

/*
 * What is missing in recordings for want of other capabilities: "without CAP_X this; without CAP_Y that". "": nothing is,
 * or it is not known.
 */
void rights_describe_missing(char *text, size_t text_bytes);

/*
 * Who may have refused BPF programs or perf events with `err`, though the capabilities are there: a remedy for `error`,
 * which keeps what it has if nobody is known.
 */
void rights_advise(int err, struct error *error);

/* What shows the names of kernel functions, when /proc/kallsyms hides them: a remedy for `error`. */
void rights_advise_kernel_names(struct error *error);

#endif
