/* SPDX-License-Identifier: BSD-2-Clause */
/* recorder.h - drives the one session of `geckobpf record`, and lets signals and --control drive it. */
#ifndef GECKOBPF_CMD_RECORDER_H
#define GECKOBPF_CMD_RECORDER_H

struct record_options;

/* Records and saves; what there is to say is printed. Returns the exit status. */
int recorder_run(struct record_options *options);

#endif
