/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.h - the one reader of ELF programs and libraries: their headers, and checked reads of their bytes.
 *
 *   |ELF header| segments: what goes into memory |   ...   | sections: what is what |
 *
 * It opens nothing: it reads from a descriptor or from memory that it is handed. Nothing is mapped:
 * a file that shrinks while we look gives -ENODATA, not SIGBUS. Every offset and size that comes
 * out of the file is checked against the file's size before memory is asked for.
 */
#ifndef GECKOBPF_ELF_ELF_FILE_H
#define GECKOBPF_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program header. */
struct elf_segment {
	uint32_t type; /* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t offset, address;
	uint64_t file_bytes, memory_bytes;
	uint64_t align;
};

struct elf_section {
	const char *name; /* "" if it has none; lives as long as the file is open */
	uint32_t type; /* SHT_* */
	uint32_t link;
	uint64_t flags; /* SHF_* */
	uint64_t address, offset, size;
	uint64_t entry_bytes;
	uint64_t align;
};

/* Read-only to everyone but elf_file.c. */
struct elf_file {
	int fd; /* -1: all of it is in `image` */
	const char *image;
	bool is_owner; /* of whichever of the two it reads from */
	uint64_t size;
	uint16_t machine; /* EM_* */
	bool is_64_bit;
	uint64_t entry; /* the address at which it begins to run; 0: none */
	struct elf_segment *segments; /* by their index in the file, as are the sections */
	size_t segment_count;
	struct elf_section *sections;
	size_t section_count;
	char *names; /* of the sections */
};

/*
 * Open a file that is behind a descriptor, of which only pread(2) is used, or in memory. Both are
 * borrowed for as long as the file is open. Sections that cannot be read are as if there were none.
 * 0; -ENOEXEC: not a little-endian ET_EXEC or ET_DYN regular file with all of its program headers;
 * -ENOMEM; -errno.
 */
int elf_file_open_fd(struct elf_file **out, int fd);
int elf_file_open_image(struct elf_file **out, const void *image, size_t size);
/* The same, but `fd` and `image` (malloc'ed) are taken over, also where this fails. */
int elf_file_adopt_fd(struct elf_file **out, int fd);
int elf_file_adopt_image(struct elf_file **out, char *image, size_t size);
void elf_file_close(struct elf_file *file);

/* The first section of that name, or of that type, which has contents in the file; NULL: none. */
const struct elf_section *elf_file_named(const struct elf_file *file, const char *name);
const struct elf_section *elf_file_typed(const struct elf_file *file, uint32_t type);

/* `size` bytes at `offset` into the file. 0, -ENODATA: the file ends before; -errno. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size);

/* The same into new memory, with a NUL behind, the caller's to free; at most 1 GiB. -ENOEXEC: more; or -ENOMEM. */
int elf_file_read_part(const struct elf_file *file, uint64_t offset, uint64_t size, char **data);

/* The first byte from `offset` on that is not in a hole of the file; its size: there is none. */
uint64_t elf_file_next_data(const struct elf_file *file, uint64_t offset);

/* Whether a section has contents, as they are. */
bool elf_section_is_plain(const struct elf_section *section);

/*
 * All bytes of a section and a NUL after them, the caller's to free. 0; -ENOEXEC: it has no
 * contents, or compressed ones; -EFBIG: it is larger than 32 MiB; -ENODATA: the file ends before it does;
 * -ENOMEM; -errno.
 */
int elf_file_read_section(const struct elf_file *file, const struct elf_section *section,
			  char **data);

/*
 * Whether `err`, from one of the above, says that the bytes are wrong; if not, there are too many (-EFBIG), or something
 * is wrong with us or the disk.
 */
bool elf_file_malformed(int err);

#endif
