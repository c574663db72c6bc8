/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.h - one open ELF program or library: its headers, and checked reads of its bytes.
 *
 * Nothing is mapped: a file that shrinks while we look gives -ENODATA, not SIGBUS. Every offset and
 * size that comes out of the file is checked against the file's size before memory is asked for.
 */
#ifndef GECKOBPF_ELF_ELF_FILE_H
#define GECKOBPF_ELF_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	Elf *elf;
	int fd; /* -1: all of it is in `image` */
	bool owns_fd;
	char *image;
	uint64_t size;
	uint16_t machine; /* EM_* */
	bool is_64_bit;
	struct elf_section *sections; /* by their ELF index */
	size_t section_count;
};

/*
 * Open a file by path, by descriptor (borrowed, only pread(2) is used on it) or in memory (copied).
 * 0; -ENOEXEC: not a little-endian ET_EXEC or ET_DYN regular file of at most 65279 sections;
 * -ENOMEM; -errno.
 */
int elf_file_open(struct elf_file **out, const char *path);
int elf_file_open_fd(struct elf_file **out, int fd);
int elf_file_open_image(struct elf_file **out, const void *image, size_t size);
/*
 * Like elf_file_open_fd() and elf_file_open_image(), but `fd` and `image` (malloc'ed) are taken
 * over, always.
 */
int elf_file_adopt_fd(struct elf_file **out, int fd);
int elf_file_adopt_image(struct elf_file **out, char *image, size_t size);
void elf_file_close(struct elf_file *file);

/* The first section of that name, or of that type, which has contents in the file; NULL: none. */
const struct elf_section *elf_file_named(const struct elf_file *file, const char *name);
const struct elf_section *elf_file_typed(const struct elf_file *file, uint32_t type);

/* `size` bytes at `offset` into the file. 0, -ENODATA: the file ends before; -errno. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size);

/*
 * All bytes of a section and a NUL after them, the caller's to free. 0; -ENOEXEC: it has no
 * contents, they are compressed or larger than 1 GiB; -ENODATA: the file ends before it does;
 * -ENOMEM; -errno.
 */
int elf_file_read_section(const struct elf_file *file, const struct elf_section *section,
			  char **data);

/*
 * Whether `err`, from one of the above, says that the bytes are wrong; if not, something is wrong
 * with us or the disk.
 */
bool elf_file_malformed(int err);

#endif
