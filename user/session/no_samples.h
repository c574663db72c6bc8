/* SPDX-License-Identifier: BSD-2-Clause */
/* no_samples.h - why a recording that is over has no sample, and what to do about it. */
#ifndef GECKOBPF_SESSION_NO_SAMPLES_H
#define GECKOBPF_SESSION_NO_SAMPLES_H

struct session;

/* Tells the owner, as a warning. Does nothing if there are samples, or if some were lost: that is told anyway. */
void no_samples_tell(struct session *session);

#endif
