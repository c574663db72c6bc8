/* SPDX-License-Identifier: BSD-2-Clause */
/* retention.h - how long a session keeps what has ended: it says when, recording/expire.h what goes. */
#ifndef GECKOBPF_SESSION_RETENTION_H
#define GECKOBPF_SESSION_RETENTION_H

#include <stdint.h>

#include "recording/expire.h"

struct publisher;
struct session;

/* What the publisher keeps by the numbers of processes and files, for struct records_listener. */
struct expire_keeper retention_keeper(struct publisher *publisher);

/* To be called about once a second, when all that was in the rings has been applied. */
void retention_apply(struct session *session, uint64_t now_ns);

#endif
