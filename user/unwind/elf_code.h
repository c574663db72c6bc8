/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_code.h - where an ELF file of this machine has its code and the description of its stack frames.
 */
#ifndef GECKOBPF_UNWIND_ELF_CODE_H
#define GECKOBPF_UNWIND_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

struct elf_file;

/* Where .eh_frame is; bytes == 0: there is none. */
struct elf_eh_frame {
	uint64_t address;
	uint64_t offset;
	uint64_t bytes;
	bool is_open_ended; /* `bytes` is only a bound: a zero word ends it */
	bool is_cut; /* it is longer, or goes on behind a hole of the file */
};

/* A section; bytes == 0: there is none. */
struct elf_part {
	uint64_t address;
	uint64_t offset;
	uint64_t bytes;
};

struct elf_code {
	struct elf_file *file;
	struct unwind_segment *segments;
	size_t segment_count, segment_capacity;
	uint64_t first_page, page_count; /* that executable segments span */
	/* addresses within, that executable sections span; else all of it */
	uint64_t code_start, code_end;
	uint64_t eh_frame_hdr; /* offset in the file; 0: none */
	struct elf_eh_frame eh_frame;
	struct elf_part go_functions; /* .gopclntab */
	struct elf_part go_module; /* .go.module, from Go 1.26 on */
	/*
	 * .go.buildinfo, .data.rel.ro and .rela.dyn: where the table is if the system's linker made
	 * the file position-independent.
	 */
	struct elf_part go_build, relocated, relocations;
	struct elf_part init, fini;
};

/* 0; -ENOEXEC and -EFBIG: see unwind_table_compile(); -ENOMEM; -errno. elf_code_close() also where this failed. */
int elf_code_open(struct elf_code *code, const struct unwind_source *source);
void elf_code_close(struct elf_code *code);

/* At most `size` bytes at a virtual address into `data`; returns how many there are in the file, 0 on errors. */
size_t elf_code_peek(const struct elf_code *code, uint64_t address, void *data, size_t size);

/* All of a part, which is not empty, the caller's to free. 0; -ENODATA; -EFBIG; -ENOMEM; -errno. */
int elf_code_read_part(const struct elf_code *code, const struct elf_part *part, uint8_t **bytes);

/* All of .eh_frame, the caller's to free. 0; -ENODATA; -ENOMEM; -errno. */
int elf_code_read_eh_frame(const struct elf_code *code, uint8_t **bytes);

#endif
