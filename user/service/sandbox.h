/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandbox.h - a reader process gives up what it does not need, for good.
 *
 *            capabilities                                     system calls          memory
 *   opener   to look into processes and at files of others    all                   as it was
 *   parser   none                                             memory, descriptors   SANDBOX_MEMORY_BYTES; files of its
 *                                                             that it has           own, in memory, SANDBOX_FILE_BYTES
 *
 * Both: no new privileges, no core files, few descriptors, and no life without the client.
 */
#ifndef GECKOBPF_SERVICE_SANDBOX_H
#define GECKOBPF_SERVICE_SANDBOX_H

#include "reader/reader.h"

#define SANDBOX_MEMORY_BYTES (1ULL << 30)
#define SANDBOX_FILE_BYTES (256ULL << 20)
#define SANDBOX_DESCRIPTORS 64

/* What the system does not allow to give up; it serves all the same. */
enum sandbox_lack {
	SANDBOX_NO_SECCOMP = 1,
	SANDBOX_CAPABLE = 2, /* capabilities are left */
	SANDBOX_ALL = 3,
};

void sandbox_enter(enum reader_role role);
uint32_t sandbox_lacks(void);

#endif
