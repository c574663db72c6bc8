/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.h - a raw capture: what a recording holds, as sections of a file (section.h), before anything is looked up.
 *
 *   section    content; numbers are ULEB128, texts as in base/pack.h
 *   HEAD       what the profile says of machine and configuration (struct profile_facts); then boot id | when the recording began
 *   KERNEL     a part of the kernel's symbols, the text of /proc/kallsyms; may be many, may be none
 *   FILE       a mapped file: number | kind | device | inode | build id | path
 *   PROCESS    a program image: its key | what is known of it | threads | mappings; a later one replaces it
 *   BLOCKS     its key | entries of its buffer, each: size | bytes (buffer/entry.h), oldest first
 *   END        until when | pauses | the facts of the profilingLog; the last one counts
 *
 *   key        tgid | start time of the process | exec id: names an image for ever
 *
 * Whatever is in sections that can be read is a profile: a file that lacks its end is only shorter. Unknown kinds are skipped and
 * counted, so newer writers can add some.
 */
#ifndef GECKOBPF_ARCHIVE_ARCHIVE_H
#define GECKOBPF_ARCHIVE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "archive/section.h"
#include "gecko/profile.h"

struct object;
struct process;
struct progress;

enum archive_kind {
	ARCHIVE_HEAD = 1,
	ARCHIVE_KERNEL = 2,
	ARCHIVE_FILE = 3,
	ARCHIVE_PROCESS = 4,
	ARCHIVE_BLOCKS = 5,
	ARCHIVE_END = 6,
};

/* ---- writing: each writes one section or more; 0, -ENOMEM, or the section writer's error ---- */

int archive_write_head(struct section_writer *writer, const struct profile_facts *facts);
/* From the file at `path`; one that cannot be read is none: then kernel frames stay addresses. Holds no more than a part in memory. */
int archive_write_kernel(struct section_writer *writer, const char *path);
int archive_write_file(struct section_writer *writer, const struct object *object);
int archive_write_process(struct section_writer *writer, const struct process *process);
/* The entries from position *from on, which becomes the one after the last; 0: all. Compression is paused meanwhile. */
int archive_write_blocks(struct section_writer *writer, const struct process *process,
			 uint64_t *from);
int archive_write_end(struct section_writer *writer, const struct profile_facts *facts);

/* All of it. `kallsyms`: for archive_write_kernel(); NULL: none. `progress`: a piece of one unit; may be NULL. */
int archive_write(struct section_writer *writer, const struct profile_input *input,
		  const char *kallsyms, struct progress *progress);

/* ---- reading ------------------------------------------------------------------------------- */

/* A recording that was read. All is owned; archive_close() frees it. */
struct archive {
	struct profile_facts facts; /* strings in `texts` */
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	int kallsyms_fd; /* a file with the kernel's symbols; -1: none */
	struct section_damage damage;
	uint64_t unknown_sections; /* of kinds that are not known */
	uint64_t bad_sections; /* sound, but what they say makes no sense */
	uint64_t lost_blocks; /* entries that could not be put */
	struct archive_texts *texts;
};

/*
 * 0; -EBADMSG: not a raw capture, or not even its head can be read; -EPROTONOSUPPORT: of a version that is not known; -ENOMEM;
 * -errno. Damage behind the head is no error: it is counted.
 */
int archive_read(struct archive *out, int fd, struct progress *progress);
/* Only the facts that HEAD has; errors as above. */
int archive_read_head(struct archive *out, int fd);
void archive_close(struct archive *archive);

/*
 * Puts what `from` has and `into` lacks into `into`: both are of one boot, and `into` does not begin later. Processes, threads and
 * files that both know become one; of a thread's samples those later than the last in `into` are taken, so that what two
 * captures have of the same time counts once. Facts are the caller's. `from` is only fit to be closed after that; its compression is
 * paused. 0 or -ENOMEM; what makes no sense is left out and counted in into->lost_blocks.
 */
int archive_merge(struct archive *into, struct archive *from, struct progress *progress);

/* ---- for archive_merge.c ------------------------------------------------------------------- */

/* The image of the key; NULL: not met so far. */
struct process *archive_find_image(const struct archive *archive, uint32_t tgid, uint64_t key_ns,
				   uint32_t exec_id);
int archive_need_buffer(struct archive *archive, struct process *process);

#endif
