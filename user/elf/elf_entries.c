/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_entries.c - see elf_entries.h. */
#include "elf/elf_entries.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define PIECE_BYTES (64 << 10)

struct walk {
	const struct elf_file *file;
	uint64_t at, left; /* where the next entry is, and how many are left */
	size_t entry_bytes;
	uint64_t *left_bytes;
	char *piece;
};

/* Goes on where the file has something. */
static void skip_hole(struct walk *walk)
{
	uint64_t hole = elf_file_next_data(walk->file, walk->at) - walk->at;
	uint64_t skipped = hole / walk->entry_bytes;

	if (skipped > walk->left)
		skipped = walk->left;
	walk->at += skipped * walk->entry_bytes;
	walk->left -= skipped;
}

/* Reads the next piece; *count: how many entries it has, 0 at the end. */
static int read_piece(struct walk *walk, size_t *count)
{
	uint64_t bytes;
	int err;

	skip_hole(walk);
	*count = PIECE_BYTES / walk->entry_bytes;
	if (*count > walk->left)
		*count = (size_t)walk->left;
	bytes = *count * walk->entry_bytes;
	if (bytes > *walk->left_bytes)
		return -EFBIG;
	*walk->left_bytes -= bytes;
	err = elf_file_read(walk->file, walk->at, walk->piece, bytes);
	walk->at += bytes;
	walk->left -= *count;
	return err;
}

int elf_entries_walk(const struct elf_file *file, const struct elf_section *section,
		     size_t entry_bytes, uint64_t *left_bytes, elf_entries_fn *tell, void *context)
{
	struct walk walk = {file,        section->offset, section->size / entry_bytes,
			    entry_bytes, left_bytes,      NULL};
	size_t count;
	int err;

	if (!elf_section_is_plain(section))
		return -ENOEXEC;
	if (section->offset > file->size || section->size > file->size - section->offset)
		return -ENODATA;
	walk.piece = malloc(PIECE_BYTES);
	if (!walk.piece)
		return -ENOMEM;
	do {
		err = read_piece(&walk, &count);
		if (!err && count)
			err = tell(context, walk.piece, count);
	} while (!err && count);
	free(walk.piece);
	return err;
}
