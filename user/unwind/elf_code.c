/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_code.c - see elf_code.h. */
#include "unwind/elf_code.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/large.h"
#include "unwind/pointer.h"
#include "unwind/x86_64.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EH_FRAME_MAX_BYTES (1ULL << 30)
#define NAMES_MAX_BYTES (16ULL << 20)
#define SECTIONS_MAX 65535
#define PAGE_COUNT_MAX ((1ULL << 20) - 1) /* offsets in the text fit 32 bits */
#define PAGE_BYTES (1ULL << UNWIND_PAGE_BITS)

int elf_code_read(const struct elf_code *code, uint64_t offset, void *data, size_t size)
{
	if (offset > code->size || size > code->size - offset)
		return -ENODATA;
	if (code->source->fd >= 0)
		return fd_pread_all(code->source->fd, data, size, (off_t)offset);
	memcpy(data, (const char *)code->source->image + offset, size);
	return 0;
}

static const struct unwind_segment *segment_at(const struct elf_code *code, uint64_t address)
{
	size_t i;

	for (i = 0; i < code->segment_count; i++) {
		const struct unwind_segment *segment = &code->segments[i];

		if (address >= segment->address && address - segment->address < segment->bytes)
			return segment;
	}
	return NULL;
}

size_t elf_code_peek(const struct elf_code *code, uint64_t address, void *data, size_t size)
{
	const struct unwind_segment *segment = segment_at(code, address);
	uint64_t skip;

	if (!segment)
		return 0;
	skip = address - segment->address;
	if (size > segment->bytes - skip)
		size = segment->bytes - skip;
	return elf_code_read(code, segment->offset + skip, data, size) ? 0 : size;
}

/* `count` headers of `size` bytes at `offset`, the caller's to free. */
static int read_headers(const struct elf_code *code, uint64_t offset, size_t count, size_t size,
			void *headers)
{
	void *all;
	int err;

	if (offset > code->size || count * size > code->size - offset)
		return -ENODATA;
	all = large_alloc(count * size);
	if (!all)
		return -ENOMEM;
	err = elf_code_read(code, offset, all, count * size);
	if (err)
		free(all);
	else
		*(void **)headers = all;
	return err;
}

static int read_elf_header(const struct elf_code *code, Elf64_Ehdr *header)
{
	int err = elf_code_read(code, 0, header, sizeof(*header));

	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != MACHINE_ELF)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	if (!header->e_phnum || header->e_phnum == PN_XNUM ||
	    header->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	return 0;
}

static int add_segment(struct elf_code *code, const Elf64_Phdr *header)
{
	struct unwind_segment segment = {.address = header->p_vaddr,
					 .offset = header->p_offset,
					 .bytes = header->p_filesz,
					 .is_code = header->p_flags & PF_X};
	int err;

	if (segment.offset >= code->size || !segment.bytes)
		return 0;
	if (segment.bytes > code->size - segment.offset)
		segment.bytes = code->size - segment.offset;
	if (segment.address > UINT64_MAX - PAGE_BYTES - segment.bytes)
		return 0;
	err = array_reserve((void **)&code->segments, &code->segment_capacity,
			    code->segment_count + 1, sizeof(segment));
	if (err)
		return err;
	code->segments[code->segment_count++] = segment;
	return 0;
}

/* The text grows by the pages of `segment`. */
static void span_text(struct elf_code *code, const struct unwind_segment *segment)
{
	uint64_t first = segment->address >> UNWIND_PAGE_BITS;
	uint64_t end = ((segment->address + segment->bytes - 1) >> UNWIND_PAGE_BITS) + 1;

	if (code->page_count && code->first_page < first)
		first = code->first_page;
	if (code->page_count && code->first_page + code->page_count > end)
		end = code->first_page + code->page_count;
	code->first_page = first;
	code->page_count = end - first;
}

static int use_program_header(struct elf_code *code, const Elf64_Phdr *header)
{
	size_t before = code->segment_count;
	int err;

	if (header->p_type == PT_GNU_EH_FRAME)
		code->eh_frame_hdr = header->p_vaddr;
	if (header->p_type != PT_LOAD)
		return 0;
	err = add_segment(code, header);
	if (!err && code->segment_count > before && header->p_flags & PF_X)
		span_text(code, &code->segments[before]);
	return err;
}

static int read_program_headers(struct elf_code *code, const Elf64_Ehdr *header)
{
	Elf64_Phdr *headers;
	size_t i;
	int err;

	err = read_headers(code, header->e_phoff, header->e_phnum, sizeof(*headers), &headers);
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	for (i = 0; i < header->e_phnum && !err; i++)
		err = use_program_header(code, &headers[i]);
	free(headers);
	if (err)
		return err;
	if (!code->page_count || code->page_count > PAGE_COUNT_MAX)
		return -ENOEXEC;
	code->code_start = code->first_page << UNWIND_PAGE_BITS;
	code->code_end = code->code_start + (code->page_count << UNWIND_PAGE_BITS);
	return 0;
}

/* Whether the section has this name and bytes that lie in the file. */
static bool section_is(const struct elf_code *code, const Elf64_Shdr *section, const char *names,
		       uint64_t names_bytes, const char *name)
{
	size_t size = strlen(name) + 1;

	if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS || !section->sh_size ||
	    section->sh_flags & SHF_COMPRESSED)
		return false;
	if (section->sh_name > names_bytes || size > names_bytes - section->sh_name ||
	    memcmp(names + section->sh_name, name, size) != 0)
		return false;
	return section->sh_offset < code->size &&
	       section->sh_size <= code->size - section->sh_offset;
}

/*
 * Old linkers put everything that is not written to into one segment, symbols and all. The sections tell what of it is
 * code.
 */
static void narrow_code(struct elf_code *code, const Elf64_Shdr *sections, size_t count)
{
	uint64_t start = UINT64_MAX, end = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];

		if (!(section->sh_flags & SHF_EXECINSTR) || section->sh_type == SHT_NOBITS ||
		    section->sh_addr > UINT64_MAX - section->sh_size)
			continue;
		if (section->sh_addr < start)
			start = section->sh_addr;
		if (section->sh_addr + section->sh_size > end)
			end = section->sh_addr + section->sh_size;
	}
	if (start > code->code_start && start < code->code_end)
		code->code_start = start;
	if (end > code->code_start && end < code->code_end)
		code->code_end = end;
}

/* Takes the section for `part` if it has the name and is the first that does. */
static void use_as(struct elf_part *part, const struct elf_code *code, const Elf64_Shdr *section,
		   const char *names, uint64_t names_bytes, const char *name)
{
	if (!part->bytes && section_is(code, section, names, names_bytes, name))
		*part = (struct elf_part){section->sh_addr, section->sh_offset, section->sh_size};
}

static void use_section(struct elf_code *code, const Elf64_Shdr *section, const char *names,
			uint64_t bytes)
{
	if (!code->eh_frame.bytes && section_is(code, section, names, bytes, ".eh_frame"))
		code->eh_frame = (struct elf_eh_frame){section->sh_addr, section->sh_offset,
						       section->sh_size, false};
	use_as(&code->init, code, section, names, bytes, ".init");
	use_as(&code->fini, code, section, names, bytes, ".fini");
	use_as(&code->go_functions, code, section, names, bytes, ".gopclntab");
	use_as(&code->go_functions, code, section, names, bytes, ".data.rel.ro.gopclntab");
	use_as(&code->go_module, code, section, names, bytes, ".go.module");
	use_as(&code->go_build, code, section, names, bytes, ".go.buildinfo");
	use_as(&code->relocated, code, section, names, bytes, ".data.rel.ro");
	use_as(&code->relocations, code, section, names, bytes, ".rela.dyn");
}

static int find_sections(struct elf_code *code, const Elf64_Shdr *sections, size_t count,
			 const Elf64_Shdr *strings)
{
	uint64_t bytes = strings->sh_size;
	char *names;
	size_t i;
	int err;

	if (strings->sh_type != SHT_STRTAB || !bytes || bytes > NAMES_MAX_BYTES)
		return 0;
	err = read_headers(code, strings->sh_offset, 1, bytes, &names);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		use_section(code, &sections[i], names, bytes);
	free(names);
	return 0;
}

/* Counts that do not fit the ELF header are in the first section header. */
static int section_counts(const struct elf_code *code, const Elf64_Ehdr *header, uint64_t *count,
			  uint32_t *names)
{
	Elf64_Shdr first;
	int err;

	*count = header->e_shnum;
	*names = header->e_shstrndx;
	if (*count && *names != SHN_XINDEX)
		return 0;
	err = elf_code_read(code, header->e_shoff, &first, sizeof(first));
	if (err)
		return err;
	if (!*count)
		*count = first.sh_size;
	if (*names == SHN_XINDEX)
		*names = first.sh_link;
	return 0;
}

static int find_by_section(struct elf_code *code, const Elf64_Ehdr *header)
{
	Elf64_Shdr *sections;
	uint64_t count;
	uint32_t names;
	int err;

	if (!header->e_shoff || header->e_shentsize != sizeof(*sections))
		return 0;
	err = section_counts(code, header, &count, &names);
	if (err)
		return err;
	if (count > SECTIONS_MAX || names >= count)
		return 0;
	err = read_headers(code, header->e_shoff, count, sizeof(*sections), &sections);
	if (err)
		return err;
	narrow_code(code, sections, count);
	err = find_sections(code, sections, count, &sections[names]);
	free(sections);
	return err;
}

/*
 * .eh_frame_hdr: version 1, the encodings of three values, the first of which is the address of .eh_frame. That one
 * then reaches to the end of its segment at most.
 */
static void find_by_header(struct elf_code *code)
{
	const struct unwind_segment *segment;
	struct pointer_base base;
	struct cursor cursor;
	uint8_t bytes[16];
	uint64_t address;
	size_t got = elf_code_peek(code, code->eh_frame_hdr, bytes, sizeof(bytes));

	base = (struct pointer_base){bytes, code->eh_frame_hdr};
	cursor = cursor_over(bytes, got);
	if (got < 5 || bytes[0] != 1 || !cursor_skip(&cursor, 4) ||
	    !pointer_read(&cursor, bytes[1], &base, &address))
		return;
	segment = segment_at(code, address);
	if (!segment)
		return;
	address -= segment->address;
	code->eh_frame = (struct elf_eh_frame){
		.address = segment->address + address,
		.offset = segment->offset + address,
		.bytes = segment->bytes - address,
		.is_open_ended = true,
	};
}

static int file_size(const struct unwind_source *source, uint64_t *size)
{
	struct stat status;

	*size = source->image_bytes;
	if (source->fd < 0)
		return 0;
	if (fstat(source->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	*size = (uint64_t)status.st_size;
	return 0;
}

int elf_code_open(struct elf_code *code, const struct unwind_source *source)
{
	Elf64_Ehdr header;
	int err;

	*code = (struct elf_code){.source = source};
	err = file_size(source, &code->size);
	if (!err)
		err = read_elf_header(code, &header);
	if (!err)
		err = read_program_headers(code, &header);
	if (err)
		return err;
	err = find_by_section(code, &header);
	if (err && err != -ENODATA)
		return err;
	if (!code->eh_frame.bytes && code->eh_frame_hdr)
		find_by_header(code);
	if (code->eh_frame.bytes > EH_FRAME_MAX_BYTES)
		code->eh_frame.bytes = EH_FRAME_MAX_BYTES;
	return 0;
}

void elf_code_close(struct elf_code *code)
{
	free(code->segments);
	*code = (struct elf_code){0};
}

int elf_code_read_eh_frame(const struct elf_code *code, uint8_t **bytes)
{
	return read_headers(code, code->eh_frame.offset, 1, code->eh_frame.bytes, bytes);
}

int elf_code_read_part(const struct elf_code *code, const struct elf_part *part, uint8_t **bytes)
{
	return read_headers(code, part->offset, 1, part->bytes, bytes);
}
