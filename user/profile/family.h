/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * family.h - who descends from whom: each process of a recording belongs to its nearest ancestor that has a track.
 *
 *   make (track) ── sh (none) ── cc (none) ── cc1 (track) ── as            of make: sh, cc, cc1; of cc1: as
 */
#ifndef GECKOBPF_PROFILE_FAMILY_H
#define GECKOBPF_PROFILE_FAMILY_H

#include <stddef.h>
#include <stdint.h>

struct family;
struct process;
struct recording;
struct tracks;

/* A process as it was last: of images that exec replaced only the begin counts. */
struct family_member {
	uint32_t owner; /* number of the process that it belongs to */
	uint64_t born_ns; /* when its first image that is known began; 0: before the recording */
	const struct process *process;
};

/* Borrows nothing but the processes. 0, -ENOMEM, -errno of tracks_find(). */
int family_open(struct family **out, const struct recording *recording, struct tracks *tracks);
/* NULL is fine. */
void family_close(struct family *family);

/* Those that belong to a process, in order of their begin; NULL: none. `family` NULL: it is not known. */
const struct family_member *family_of(const struct family *family, const struct process *owner,
				      size_t *count);

#endif
