/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_layout.h - where the bytes of an ELF file go in memory, and which build it is.
 *
 *   file     |hdr|....text....|...data...|    offset: what /proc/PID/maps speaks of
 *             |        |           |
 *   memory   base   address     address       address: what symbols speak of
 *
 * Holds no reference to the file it was read from.
 */
#ifndef GECKOBPF_ELF_ELF_LAYOUT_H
#define GECKOBPF_ELF_ELF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/build_id.h"

struct elf_file;
struct elf_segment;

struct elf_layout {
	struct elf_segment *segments; /* those of type PT_LOAD */
	size_t segment_count;
	uint64_t base; /* lowest segment's address, down to the page; 0 without segments */
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: none */
};

/* 0 or -ENOMEM. A file without segments or build id is fine. */
int elf_layout_read(struct elf_layout *layout, const struct elf_file *file);
/* Frees what elf_layout_read() made; also right for a zeroed one. */
void elf_layout_free(struct elf_layout *layout);

/*
 * The virtual address of what is mapped as code from `offset` bytes into the file. 0, or -ENOENT: that part is not
 * loaded.
 */
int elf_layout_address(const struct elf_layout *layout, uint64_t offset, uint64_t *address);

/* [*first, *end): the offsets around `offset` that are of the same code segment; of none: only itself. */
void elf_layout_extent(const struct elf_layout *layout, uint64_t offset, uint64_t *first,
		       uint64_t *end);

/* Whether the file has the code in it, as a debug file has not. */
bool elf_layout_has_code(const struct elf_layout *layout);

/*
 * For a debug file, which does not tell where in the file its code was: the code that was mapped
 * from `offset` on, `bytes` of it. 0; -ENOENT: that is not all of one segment's code.
 */
int elf_layout_place_code(struct elf_layout *layout, uint64_t offset, uint64_t bytes);

#endif
