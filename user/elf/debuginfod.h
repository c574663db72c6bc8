/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debuginfod.h - files by build id from the servers in DEBUGINFOD_URLS, by way of libdebuginfod,
 * which is loaded when it is asked for.
 *
 * The library keeps what it got, and what it did not get, in its cache, and has its own limits of
 * time and size, to be set by DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE.
 */
#ifndef GECKOBPF_ELF_DEBUGINFOD_H
#define GECKOBPF_ELF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

struct debuginfod_options {
	/* Called while a file is fetched; `total` 0: not known. NULL: nobody looks. */
	void (*progress)(void *context, const char *url, uint64_t bytes, uint64_t total);
	void *context;
};

/* 0; -ENOSYS: the library is not there, or this program is a static one; -ENOMEM. */
int debuginfod_open(struct debuginfod **out, const struct debuginfod_options *options);
void debuginfod_close(struct debuginfod *client);

/*
 * The file with that build id, or its separate debug file; *fd is open for reading and the
 * caller's. Its contents are the caller's to check. 0; -ENOENT: no server has it; -errno of the
 * network.
 */
int debuginfod_find(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes,
		    bool wants_debug, int *fd);

#endif
