/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.c - see elf_file.h.
 *
 * libelf decodes the headers; what it would do with absurd counts is kept from it by a look at the
 * ELF header first. The contents of sections are read here.
 */
#include "elf/elf_file.h"
#include "base/fd.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTION_MAX_BYTES (1ULL << 30)
#define NAMES_MAX_BYTES (16ULL << 20)

union elf_header {
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr small;
	Elf64_Ehdr large;
};

int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return -ENODATA;
	if (file->fd >= 0)
		return fd_pread_all(file->fd, data, size, (off_t)offset);
	memcpy(data, file->image + offset, size);
	return 0;
}

bool elf_file_malformed(int err)
{
	return err == -ENOEXEC || err == -ENODATA;
}

/*
 * Counts that do not fit the ELF header are refused: libelf would take them from the first section
 * header, and allocate whatever it says.
 */
static bool header_accepted(const Elf64_Ehdr *header)
{
	return (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       (header->e_shnum != 0 || header->e_shoff == 0) && header->e_phnum != PN_XNUM;
}

static void widen_header(const Elf32_Ehdr *small, Elf64_Ehdr *large)
{
	*large = (Elf64_Ehdr){
		.e_type = small->e_type,
		.e_machine = small->e_machine,
		.e_shoff = small->e_shoff,
		.e_phnum = small->e_phnum,
		.e_shnum = small->e_shnum,
	};
}

static int check_header(struct elf_file *file)
{
	union elf_header raw = {0};
	Elf64_Ehdr header;
	int err;

	if (file->size < sizeof(raw.small))
		return -ENOEXEC;
	err = elf_file_read(file, 0, &raw, file->size < sizeof(raw) ? file->size : sizeof(raw));
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (memcmp(raw.ident, ELFMAG, SELFMAG) || raw.ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (raw.ident[EI_CLASS] == ELFCLASS32)
		widen_header(&raw.small, &header);
	else if (raw.ident[EI_CLASS] == ELFCLASS64 && file->size >= sizeof(raw.large))
		header = raw.large;
	else
		return -ENOEXEC;
	if (!header_accepted(&header))
		return -ENOEXEC;
	file->is_64_bit = raw.ident[EI_CLASS] == ELFCLASS64;
	file->machine = header.e_machine;
	return 0;
}

/* The index of the section with the sections' names, or 0 when there is none worth reading. */
static size_t names_section(struct elf_file *file)
{
	GElf_Shdr header;
	size_t index;

	if (elf_getshdrstrndx(file->elf, &index) ||
	    !gelf_getshdr(elf_getscn(file->elf, index), &header))
		return 0;
	return header.sh_size <= NAMES_MAX_BYTES ? index : 0;
}

static void read_section_header(struct elf_file *file, Elf_Scn *scn, size_t names)
{
	struct elf_section *section = &file->sections[elf_ndxscn(scn)];
	const char *name = NULL;
	GElf_Shdr header;

	if (!gelf_getshdr(scn, &header))
		return;
	if (names)
		name = elf_strptr(file->elf, names, header.sh_name);
	*section = (struct elf_section){
		.name = name ? name : "",
		.type = header.sh_type,
		.link = header.sh_link,
		.flags = header.sh_flags,
		.address = header.sh_addr,
		.offset = header.sh_offset,
		.size = header.sh_size,
		.entry_bytes = header.sh_entsize,
		.align = header.sh_addralign,
	};
}

/*
 * Section headers that cannot be read leave the file without sections; its segments may still be
 * good.
 */
static int read_section_headers(struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t count, names, i;

	if (elf_getshdrnum(file->elf, &count) || !count)
		return 0;
	file->sections = calloc(count, sizeof(*file->sections));
	if (!file->sections)
		return -ENOMEM;
	file->section_count = count;
	for (i = 0; i < count; i++)
		file->sections[i].name = "";
	names = names_section(file);
	while ((scn = elf_nextscn(file->elf, scn)))
		read_section_header(file, scn, names);
	return 0;
}

static int open_elf(struct elf_file **out, struct elf_file *file)
{
	int err = check_header(file);

	if (err)
		goto fail;
	elf_version(EV_CURRENT);
	if (file->fd >= 0)
		file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	else
		file->elf = elf_memory(file->image, file->size);
	err = -ENOEXEC;
	if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
		goto fail;
	err = read_section_headers(file);
	if (err)
		goto fail;
	*out = file;
	return 0;
fail:
	elf_file_close(file);
	return err;
}

static int open_fd(struct elf_file **out, int fd, bool owns_fd)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	struct stat status;
	int err = -ENOMEM;

	if (!file) {
		if (owns_fd)
			close(fd);
		return err;
	}
	file->fd = fd;
	file->owns_fd = owns_fd;
	if (fstat(fd, &status))
		err = -errno;
	else
		err = S_ISREG(status.st_mode) ? 0 : -ENOEXEC;
	if (err) {
		elf_file_close(file);
		return err;
	}
	file->size = (uint64_t)status.st_size;
	return open_elf(out, file);
}

int elf_file_open_fd(struct elf_file **out, int fd)
{
	return open_fd(out, fd, false);
}

int elf_file_adopt_fd(struct elf_file **out, int fd)
{
	return open_fd(out, fd, true);
}

/* O_NONBLOCK: a FIFO at that path must not hold us up. */
int elf_file_open(struct elf_file **out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return open_fd(out, fd, true);
}

int elf_file_adopt_image(struct elf_file **out, char *image, size_t size)
{
	struct elf_file *file = calloc(1, sizeof(*file));

	if (!file) {
		free(image);
		return -ENOMEM;
	}
	file->fd = -1;
	file->image = image;
	file->size = size;
	return open_elf(out, file);
}

int elf_file_open_image(struct elf_file **out, const void *image, size_t size)
{
	char *copy;

	if (!size)
		return -ENOEXEC;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, image, size);
	return elf_file_adopt_image(out, copy, size);
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->owns_fd)
		close(file->fd);
	free(file->sections);
	free(file->image);
	free(file);
}

static bool has_contents(const struct elf_section *section)
{
	return section->type != SHT_NULL && section->type != SHT_NOBITS && section->size;
}

const struct elf_section *elf_file_named(const struct elf_file *file, const char *name)
{
	size_t i;

	for (i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (has_contents(section) && !strcmp(section->name, name))
			return section;
	}
	return NULL;
}

const struct elf_section *elf_file_typed(const struct elf_file *file, uint32_t type)
{
	size_t i;

	for (i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (has_contents(section) && section->type == type)
			return section;
	}
	return NULL;
}

int elf_file_read_section(const struct elf_file *file, const struct elf_section *section,
			  char **data)
{
	char *bytes;
	int err;

	if (!has_contents(section) || section->size > SECTION_MAX_BYTES ||
	    section->flags & SHF_COMPRESSED)
		return -ENOEXEC;
	if (section->offset > file->size || section->size > file->size - section->offset)
		return -ENODATA;
	bytes = malloc(section->size + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file_read(file, section->offset, bytes, section->size);
	if (err) {
		free(bytes);
		return err;
	}
	bytes[section->size] = '\0';
	*data = bytes;
	return 0;
}
