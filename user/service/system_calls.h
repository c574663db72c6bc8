/* SPDX-License-Identifier: BSD-2-Clause */
/* system_calls.h - which system calls a process that parses may make. */
#ifndef GECKOBPF_SERVICE_SYSTEM_CALLS_H
#define GECKOBPF_SERVICE_SYSTEM_CALLS_H

/*
 * From now on all but those that need nothing but memory and descriptors that it has fail with -EPERM: no files are opened,
 * no sockets, no processes. For good. 0 or -errno: the kernel has no such filters.
 */
int system_calls_restrict(void);

#endif
