/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.h - a raw capture: what a recording holds, as sections of a file (section.h), before anything is looked up.
 *
 *   section    content; numbers are ULEB128, texts as in base/pack.h
 *   HEAD       what the profile says of machine and configuration (struct recording_facts); then
 *              boot id | when the recording began
 *   KERNEL     a part of the kernel's symbols, the text of /proc/kallsyms; may be many, may be none, may be before HEAD
 *   FILE       mapped files, each: serial | kind | device | inode | build id | path
 *   PROCESS    program images, each: its key | what is known of it | threads | mappings; what a later one says is added
 *   BLOCKS     runs of entries (buffer/entry.h), each: key | number of the first | bytes |
 *              entries: size | bytes, oldest first
 *   LIVES      of program images, each: its key | flags | the key of what made it | exit status | the most memory that
 *              it had; flags: 1: exec made it, 2: the status is known
 *   LOSSES     what was lost, each: cause (recording/losses.h) | from when | for how long | how many; all sections count
 *   END        until when | whether it is the last | pauses |
 *              the facts of the profilingLog, at most 4096; the last one counts, and the last that has facts
 *
 *   key        tgid | start time of the process | exec id: names an image for ever
 *
 * A raw capture is written at once, or as the recording goes: then there is more of everything again and again, each
 * time in this order.
 *
 *   HEAD KERNEL    FILE PROCESS BLOCKS LOSSES END    FILE PROCESS BLOCKS END    BLOCKS END    ...
 *
 * The numbers of threads are used again while it is recorded, but not between two ENDs: BLOCKS mean what the PROCESS
 * sections up to there say. Entries of an image are numbered from 0 on, so a reader sees that some are missing, and
 * goes on at the next that needs none before it. Whatever is in sections that can be read is a profile: a file that
 * lacks its end is only shorter. Unknown kinds are skipped and counted, so newer writers can add some.
 */
#ifndef GECKOBPF_ARCHIVE_ARCHIVE_H
#define GECKOBPF_ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/section.h"
#include "base/pack.h"
#include "recording/recording.h"

struct loss;
struct object;
struct process;
struct process_archived;
struct progress;

enum archive_kind {
	ARCHIVE_HEAD = 1,
	ARCHIVE_KERNEL = 2,
	ARCHIVE_FILE = 3,
	ARCHIVE_PROCESS = 4,
	ARCHIVE_BLOCKS = 5,
	ARCHIVE_END = 6,
	ARCHIVE_LIVES = 7,
	ARCHIVE_LOSSES = 8,
};

/* Flags of LIVES. */
enum archive_life { ARCHIVE_LIFE_EXECED = 1, ARCHIVE_LIFE_ENDED = 2 };

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Gathers what is of one kind, so that it is compressed together. Zero-initialised but for `sections`, which is
 * borrowed.
 */
struct archive_writer {
	struct section_writer *sections;
	enum archive_kind kind; /* of what is in `records` */
	struct packer records, entries;
	struct packer lives; /* of the images in `records`: go into the file behind them */
	uint64_t written; /* entries */
	uint64_t missed; /* entries that were overwritten before they were written */
	uint64_t damaged; /* entries that could not be read */
};

/*
 * Each returns 0, -ENOMEM, or the section writer's error. HEAD, KERNEL, LOSSES and END go into the file at once, the others
 * when something of another kind comes, or enough of them, or archive_flush().
 */
int archive_write_head(struct archive_writer *writer, const struct recording_facts *facts);
/*
 * From the file at `path`; one that cannot be read is none: then kernel frames stay addresses. Holds no more than a
 * part in memory.
 */
int archive_write_kernel(struct archive_writer *writer, const char *path);
int archive_write_file(struct archive_writer *writer, const struct object *object);
/* The image, its threads and its mappings: all; or what changed since it was last archived, which is noted as archived. */
int archive_write_process(struct archive_writer *writer, struct process *process, bool all);
/* The entries behind those that are archived: `archived` says where they end, and is moved on. Compression is paused meanwhile. */
int archive_write_blocks(struct archive_writer *writer, const struct process *process,
			 struct process_archived *archived);
/* Beside those that were written before. */
int archive_write_losses(struct archive_writer *writer, const struct loss *losses, size_t count);
/* `is_last`: nothing follows. */
int archive_write_end(struct archive_writer *writer, const struct recording_facts *facts,
		      bool is_last);
int archive_flush(struct archive_writer *writer);
/* Frees what it holds; what was not flushed is not written. */
void archive_writer_clear(struct archive_writer *writer);

/* All of it. `kallsyms`: for archive_write_kernel(); NULL: none. `progress`: a piece of one unit; may be NULL. */
int archive_write(struct section_writer *sections, const struct recording *recording,
		  const char *kallsyms, struct progress *progress);

/* ---- reading ------------------------------------------------------------------------------- */

/* A recording that was read. All is owned; archive_close() frees it. */
struct archive {
	struct recording_facts facts; /* strings in `texts` */
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	int kallsyms_fd; /* a file with the kernel's symbols; -1: none */
	bool has_end; /* it was written to its end */
	struct section_damage damage;
	uint64_t unknown_sections; /* of kinds that are not known */
	/* sound, but what they say makes no sense, or is too much for any recording */
	uint64_t bad_sections;
	/* entries that are missing between others, of unknown images, or could not be put */
	uint64_t lost_blocks;
	uint64_t memory_left; /* of what the content of the file may take: see archive_budget.h */
	struct archive_texts *texts;
};

/*
 * 0; -EBADMSG: not a raw capture, or not even its head can be read; -EPROTONOSUPPORT: of a version that is not known;
 * -E2BIG: its content would take far more memory than the content of such a file ever does; -ENOMEM; -errno. Damage
 * behind the head is no error: it is counted.
 */
int archive_read(struct archive *out, int fd, struct progress *progress);
/* Only the facts that HEAD has; errors as above. */
int archive_read_head(struct archive *out, int fd);
void archive_close(struct archive *archive);

/*
 * Puts what `from` has and `into` lacks into `into`: both are of one boot, and `into` does not begin later. Processes,
 * threads and files that both know become one; of a thread's samples those later than the last in `into` are taken, so
 * that what two captures have of the same time counts once. Facts are the caller's. `from` is only fit to be closed
 * after that; its compression is paused. 0 or -ENOMEM; what makes no sense is left out and counted in
 * into->lost_blocks.
 */
int archive_merge(struct archive *into, struct archive *from, struct progress *progress);

/* ---- for archive_merge.c ------------------------------------------------------------------- */

/* Gives the process a buffer if it has none. 0 or -ENOMEM. */
int archive_need_buffer(struct archive *archive, struct process *process);

#endif
