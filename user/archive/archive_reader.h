/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_reader.h - what archive_read.c, archive_facts.c, archive_images.c and archive_numbers.c share; no other file
 * includes it.
 */
#ifndef GECKOBPF_ARCHIVE_ARCHIVE_READER_H
#define GECKOBPF_ARCHIVE_ARCHIVE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pack.h"
#include "recording/fact_list.h"
#include "recording/losses.h"

#define MAX_ITEMS (1U << 24) /* of a list in one section; and serials of files */

struct archive;
struct object;
struct thread;
struct time_range;

/* What became of a thread number of the file. */
struct number_use {
	uint64_t since_ns; /* of its last alias */
	uint32_t owner; /* number of the thread that has it now */
	bool has_owner;
	bool is_taken; /* a thread here has this number */
};

/* What the reader remembers of an image. */
struct archive_image {
	struct number_use *items;
	size_t count, capacity;
	uint64_t next_entry;
	bool has_entries;
	bool is_torn; /* the next entry that can be used is one that needs none before it */
};

/* Strings and arrays that the facts point to, files by their serial, images by the number of their process. */
struct archive_texts {
	char **items;
	size_t count, capacity;
	const char **threads, **features;
	struct time_range *pauses;
	struct fact_list log;
	struct losses losses;
	struct {
		struct object **items;
		size_t count, capacity;
	} files;
	struct {
		struct archive_image *items;
		size_t count, capacity;
	} images;
	bool has_head;
	/* What has been spent of what a file may cost its reader. */
	uint64_t number_count; /* places for thread numbers, in all images */
	uint64_t refused; /* threads and mappings, for that would be too many */
};

/* How many items follow, each of at least one byte. */
uint64_t archive_unpack_count(struct unpacker *in);

/* Each reads all records of a section. */
void archive_read_processes(struct archive *archive, struct unpacker *in);
void archive_read_lives(struct archive *archive, struct unpacker *in);
void archive_read_blocks(struct archive *archive, struct unpacker *in);

/* What the samples of `thread`, of that image, say is `said`; `is_new`: it has no number here yet. 0 or -ENOMEM. */
int archive_number_thread(struct archive *archive, struct archive_image *image,
			  struct thread *thread, uint32_t said, bool is_new);

/*
 * To be called when all sections were read: puts the aliases in order. The number of a thread that ended means no
 * thread a while later, unless the file gives it to another. 0 or -ENOMEM.
 */
int archive_close_numbers(struct archive *archive);

#endif
