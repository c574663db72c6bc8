/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_frame.h - .eh_frame taken apart: common descriptions (CIE) and the functions that refer to them (FDE).
 *
 *   record:  length (4, or 0xffffffff and 8) | 0, or how far back its CIE is (4) | ...
 *   CIE:     version | "zRS..." | code and data alignment | return address column | augmentation | program
 *   FDE:     start | length of the function | augmentation | program
 *
 * A record that makes no sense is counted and left out. Each is looked at once, however many refer
 * to it.
 */
#ifndef GECKOBPF_UNWIND_EH_FRAME_H
#define GECKOBPF_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cursor.h"
#include "unwind/limits.h"
#include "unwind/pointer.h"

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column; /* DWARF register */
	uint32_t offset; /* of the record */
	uint32_t program, program_bytes; /* call frame instructions, an offset and how many */
	uint8_t encoding; /* of the pointers in its FDEs */
	bool has_lengths; /* augmentation "z": FDEs say how long theirs is */
	bool is_signal; /* "S" */
	bool is_bad;
};

struct fde {
	uint32_t start; /* offset in the text */
	uint32_t size; /* > 0 and within the text */
	uint32_t cie; /* index */
	uint32_t program, program_bytes;
	bool is_signal; /* for others to set: the code that a signal handler returns to */
	bool is_outermost; /* for others to set: nothing called it, whatever it says */
};

struct eh_frame {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t address; /* of bytes[0] */
	/* a zero word is the end; otherwise zero words between records are skipped */
	bool is_open_ended;
	uint64_t text; /* address of the text, which FDEs are to describe */
	uint64_t text_bytes; /* < 2^32 */

	struct cie *cies; /* sorted by offset */
	size_t cie_count, cie_capacity;
	struct fde *fdes; /* in the order of the file */
	size_t fde_count, fde_capacity;
	uint64_t seen; /* FDEs met, bad ones too */
	uint64_t bad; /* FDEs left out */
	bool is_cut; /* there are more than UNWIND_FUNCTIONS_MAX or UNWIND_CIES_MAX: the others are not here */
};

/*
 * Finds all records; the members up to text_bytes are given, the others zero. `size` is at most UNWIND_EH_FRAME_MAX_BYTES. 0 or -ENOMEM.
 * eh_frame_close() also where this failed.
 */
int eh_frame_scan(struct eh_frame *frame);
void eh_frame_close(struct eh_frame *frame);

static inline struct cursor eh_frame_program(const struct eh_frame *frame, uint32_t program,
					     uint32_t bytes)
{
	return cursor_over(frame->bytes + program, bytes);
}

#endif
