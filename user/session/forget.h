/* SPDX-License-Identifier: BSD-2-Clause */
/* forget.h - when a session forgets what ended long ago: see capture/expire.h for what goes. */
#ifndef GECKOBPF_SESSION_FORGET_H
#define GECKOBPF_SESSION_FORGET_H

#include <stdint.h>

#include "recording/expire.h"

struct publisher;
struct session;

/* What the publisher keeps by the numbers of processes and files, for struct records_listener. */
struct expire_keeper forget_keeper(struct publisher *publisher);

/* To be called about once a second, when all that was in the rings has been applied. */
void forget_old(struct session *session, uint64_t now_ns);

#endif
