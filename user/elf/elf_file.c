/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_file.c - see elf_file.h. Headers of 32-bit files are widened as they are read, so that no
 * caller has to ask.
 */
#include "elf/elf_file.h"
#include "base/fd.h"
#include "base/large.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_MAX_BYTES (1ULL << 30)
#define SECTION_MAX_BYTES (32ULL << 20)
#define NAMES_MAX_BYTES (16ULL << 20)
#define SECTIONS_MAX 65535

/* ---- bytes -------------------------------------------------------------------------- */

int elf_file_read(const struct elf_file *file, uint64_t offset, void *data, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return -ENODATA;
	if (file->fd >= 0)
		return fd_pread_all(file->fd, data, size, (off_t)offset);
	memcpy(data, file->image + offset, size);
	return 0;
}

int elf_file_read_part(const struct elf_file *file, uint64_t offset, uint64_t size, char **data)
{
	char *bytes;
	int err;

	if (size > PART_MAX_BYTES)
		return -ENOEXEC;
	if (offset > file->size || size > file->size - offset)
		return -ENODATA;
	bytes = large_alloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file_read(file, offset, bytes, size);
	if (err) {
		free(bytes);
		return err;
	}
	bytes[size] = '\0';
	*data = bytes;
	return 0;
}

uint64_t elf_file_next_data(const struct elf_file *file, uint64_t offset)
{
	off_t data;

	if (file->fd < 0 || offset >= file->size)
		return offset;
	data = lseek(file->fd, (off_t)offset, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? file->size : offset;
	return (uint64_t)data;
}

bool elf_file_malformed(int err)
{
	return err == -ENOEXEC || err == -ENODATA;
}

/* What is wrong with the bytes is -ENOEXEC; other errors stay. */
static int refused(int err)
{
	return elf_file_malformed(err) ? -ENOEXEC : err;
}

/* ---- the ELF header ----------------------------------------------------------------- */

static void widen_header(Elf64_Ehdr *header)
{
	Elf32_Ehdr small;

	memcpy(&small, header, sizeof(small));
	*header = (Elf64_Ehdr){
		.e_type = small.e_type,
		.e_machine = small.e_machine,
		.e_entry = small.e_entry,
		.e_phoff = small.e_phoff,
		.e_shoff = small.e_shoff,
		.e_phentsize = small.e_phentsize,
		.e_phnum = small.e_phnum,
		.e_shentsize = small.e_shentsize,
		.e_shnum = small.e_shnum,
		.e_shstrndx = small.e_shstrndx,
	};
}

/* The first bytes, however few the file has of them. */
static int read_first(const struct elf_file *file, Elf64_Ehdr *header)
{
	size_t size = file->size < sizeof(*header) ? (size_t)file->size : sizeof(*header);

	memset(header, 0, sizeof(*header));
	return refused(elf_file_read(file, 0, header, size));
}

static int read_header(struct elf_file *file, Elf64_Ehdr *header)
{
	int err = read_first(file, header);
	uint8_t class = header->e_ident[EI_CLASS];

	if (err)
		return err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (class != ELFCLASS32 && class != ELFCLASS64))
		return -ENOEXEC;
	file->is_64_bit = class == ELFCLASS64;
	if (file->size < (file->is_64_bit ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return -ENOEXEC;
	if (!file->is_64_bit)
		widen_header(header);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	file->machine = header->e_machine;
	file->entry = header->e_entry;
	return 0;
}

/* ---- segments ----------------------------------------------------------------------- */

static struct elf_segment segment_of(const char *bytes, bool is_64_bit)
{
	Elf64_Phdr large;
	Elf32_Phdr small;

	if (is_64_bit) {
		memcpy(&large, bytes, sizeof(large));
		return (struct elf_segment){large.p_type,  large.p_flags,  large.p_offset,
					    large.p_vaddr, large.p_filesz, large.p_memsz,
					    large.p_align};
	}
	memcpy(&small, bytes, sizeof(small));
	return (struct elf_segment){small.p_type,   small.p_flags, small.p_offset, small.p_vaddr,
				    small.p_filesz, small.p_memsz, small.p_align};
}

static int read_segments(struct elf_file *file, const Elf64_Ehdr *header)
{
	size_t entry_bytes = file->is_64_bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), i;
	char *bytes;
	int err;

	if (!header->e_phnum)
		return 0;
	if (header->e_phnum == PN_XNUM || header->e_phentsize != entry_bytes)
		return -ENOEXEC;
	err = elf_file_read_part(file, header->e_phoff, header->e_phnum * entry_bytes, &bytes);
	if (err)
		return refused(err);
	file->segments = calloc(header->e_phnum, sizeof(*file->segments));
	if (file->segments)
		file->segment_count = header->e_phnum;
	for (i = 0; i < file->segment_count; i++)
		file->segments[i] = segment_of(bytes + i * entry_bytes, file->is_64_bit);
	free(bytes);
	return file->segments ? 0 : -ENOMEM;
}

/* ---- sections ----------------------------------------------------------------------- */

static Elf64_Shdr section_header(const char *bytes, bool is_64_bit)
{
	Elf64_Shdr large;
	Elf32_Shdr small;

	if (is_64_bit) {
		memcpy(&large, bytes, sizeof(large));
		return large;
	}
	memcpy(&small, bytes, sizeof(small));
	return (Elf64_Shdr){
		.sh_name = small.sh_name,
		.sh_type = small.sh_type,
		.sh_flags = small.sh_flags,
		.sh_addr = small.sh_addr,
		.sh_offset = small.sh_offset,
		.sh_size = small.sh_size,
		.sh_link = small.sh_link,
		.sh_addralign = small.sh_addralign,
		.sh_entsize = small.sh_entsize,
	};
}

/* `name`: an offset in the names, of which there are `names_bytes`. */
static struct elf_section section_of(const struct elf_file *file, const Elf64_Shdr *header,
				     uint64_t names_bytes)
{
	return (struct elf_section){
		.name = header->sh_name < names_bytes ? file->names + header->sh_name : "",
		.type = header->sh_type,
		.link = header->sh_link,
		.flags = header->sh_flags,
		.address = header->sh_addr,
		.offset = header->sh_offset,
		.size = header->sh_size,
		.entry_bytes = header->sh_entsize,
		.align = header->sh_addralign,
	};
}

/* Section headers as they are in the file. */
struct raw_sections {
	char *bytes;
	uint64_t count;
	size_t entry_bytes;
	uint32_t names; /* index of the section that has the names */
	bool is_64_bit;
};

static Elf64_Shdr raw_section(const struct raw_sections *raw, uint64_t index)
{
	return section_header(raw->bytes + index * raw->entry_bytes, raw->is_64_bit);
}

/* Counts that do not fit the ELF header are in the first section header. */
static int count_sections(const struct elf_file *file, const Elf64_Ehdr *header,
			  struct raw_sections *raw)
{
	char bytes[sizeof(Elf64_Shdr)];
	Elf64_Shdr first;
	int err;

	raw->count = header->e_shnum;
	raw->names = header->e_shstrndx;
	if (raw->count && raw->names != SHN_XINDEX)
		return 0;
	err = elf_file_read(file, header->e_shoff, bytes, raw->entry_bytes);
	if (err)
		return err;
	first = section_header(bytes, file->is_64_bit);
	if (!raw->count)
		raw->count = first.sh_size;
	if (raw->names == SHN_XINDEX)
		raw->names = first.sh_link;
	return raw->count > SECTIONS_MAX ? -ENOEXEC : 0;
}

/* The names of the sections, whose bytes are *size then; 0: there are none worth reading. */
static int read_names(struct elf_file *file, const struct raw_sections *raw, uint64_t *size)
{
	Elf64_Shdr header;
	int err;

	*size = 0;
	if (!raw->names || raw->names >= raw->count)
		return 0;
	header = raw_section(raw, raw->names);
	if (header.sh_type != SHT_STRTAB || header.sh_size > NAMES_MAX_BYTES)
		return 0;
	err = elf_file_read_part(file, header.sh_offset, header.sh_size, &file->names);
	if (!err)
		*size = header.sh_size;
	return elf_file_malformed(err) ? 0 : err;
}

static int use_sections(struct elf_file *file, const struct raw_sections *raw)
{
	uint64_t names_bytes;
	size_t i;
	int err = read_names(file, raw, &names_bytes);

	if (err || !raw->count)
		return err;
	file->sections = calloc(raw->count, sizeof(*file->sections));
	if (!file->sections)
		return -ENOMEM;
	file->section_count = raw->count;
	for (i = 0; i < file->section_count; i++) {
		Elf64_Shdr header = raw_section(raw, i);

		file->sections[i] = section_of(file, &header, names_bytes);
	}
	return 0;
}

/* Without sections the segments may still be good. */
static int read_sections(struct elf_file *file, const Elf64_Ehdr *header)
{
	struct raw_sections raw = {.is_64_bit = file->is_64_bit};
	int err;

	raw.entry_bytes = file->is_64_bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	if (!header->e_shoff || header->e_shentsize != raw.entry_bytes)
		return 0;
	err = count_sections(file, header, &raw);
	if (!err)
		err = elf_file_read_part(file, header->e_shoff, raw.count * raw.entry_bytes,
					 &raw.bytes);
	if (!err)
		err = use_sections(file, &raw);
	free(raw.bytes);
	return elf_file_malformed(err) ? 0 : err;
}

/* ---- opening ------------------------------------------------------------------------ */

static int read_headers(struct elf_file *file)
{
	Elf64_Ehdr header;
	int err = read_header(file, &header);

	if (!err)
		err = read_segments(file, &header);
	return err ? err : read_sections(file, &header);
}

static int file_size(struct elf_file *file)
{
	struct stat status;

	if (fstat(file->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file->size = (uint64_t)status.st_size;
	return 0;
}

static void release(struct elf_file *file)
{
	if (!file->is_owner)
		return;
	fd_close(&file->fd);
	free((char *)file->image);
}

/* Opens what `start` says to read from. */
static int open_elf(struct elf_file **out, struct elf_file start)
{
	struct elf_file *file = malloc(sizeof(*file));
	int err = 0;

	if (!file) {
		release(&start);
		return -ENOMEM;
	}
	*file = start;
	if (!file->image)
		err = file_size(file);
	if (!err)
		err = read_headers(file);
	if (err)
		elf_file_close(file);
	else
		*out = file;
	return err;
}

int elf_file_open_fd(struct elf_file **out, int fd)
{
	return open_elf(out, (struct elf_file){.fd = fd});
}

int elf_file_adopt_fd(struct elf_file **out, int fd)
{
	return open_elf(out, (struct elf_file){.fd = fd, .is_owner = true});
}

int elf_file_open_image(struct elf_file **out, const void *image, size_t size)
{
	return open_elf(out, (struct elf_file){.fd = -1, .image = image, .size = size});
}

int elf_file_adopt_image(struct elf_file **out, char *image, size_t size)
{
	return open_elf(
		out, (struct elf_file){.fd = -1, .image = image, .size = size, .is_owner = true});
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	release(file);
	free(file->segments);
	free(file->sections);
	free(file->names);
	free(file);
}

/* ---- what is in it ------------------------------------------------------------------ */

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

bool elf_section_is_plain(const struct elf_section *section)
{
	return has_contents(section) && !(section->flags & SHF_COMPRESSED);
}

int elf_file_read_section(const struct elf_file *file, const struct elf_section *section,
			  char **data)
{
	if (!elf_section_is_plain(section))
		return -ENOEXEC;
	if (section->size > SECTION_MAX_BYTES)
		return -EFBIG;
	return elf_file_read_part(file, section->offset, section->size, data);
}
