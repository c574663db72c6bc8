/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_text.h - what `geckobpf record` prints while it records: what happens, and the line that says how far it is.
 */
#ifndef GECKOBPF_CMD_RECORD_TEXT_H
#define GECKOBPF_CMD_RECORD_TEXT_H

struct session;
struct session_config;
struct session_event;
struct session_status;

/* Says what is profiled, and how. */
void record_text_announce(const struct session *session, const struct session_config *config);

/* Says what there is to say of the event; of some there is nothing. */
void record_text_event(const struct session_event *event);

/* `duration_s`: 0: without an end. */
void record_text_status(const struct session_status *status, double duration_s);

#endif
