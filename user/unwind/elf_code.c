/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_code.c - see elf_code.h. */
#include "unwind/elf_code.h"
#include "base/array.h"
#include "elf/elf_file.h"
#include "unwind/limits.h"
#include "unwind/pointer.h"
#include "unwind/arch.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define EH_FRAME_COST 4 /* bytes of memory for each byte of it, with what is made of it */
#define PAGE_BYTES (1ULL << UNWIND_PAGE_BITS)

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
	return elf_file_read(code->file, segment->offset + skip, data, size) ? 0 : size;
}

static int add_segment(struct elf_code *code, const struct elf_segment *from)
{
	struct unwind_segment segment = {.address = from->address,
					 .offset = from->offset,
					 .bytes = from->file_bytes,
					 .is_code = from->flags & PF_X};
	uint64_t size = code->file->size;
	int err;

	if (segment.offset >= size || !segment.bytes)
		return 0;
	if (segment.bytes > size - segment.offset)
		segment.bytes = size - segment.offset;
	if (segment.address > UINT64_MAX - PAGE_BYTES - segment.bytes)
		return 0;
	if (code->segment_count == UNWIND_SEGMENTS_MAX)
		return -ENOEXEC;
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

static int use_segment(struct elf_code *code, const struct elf_segment *segment)
{
	size_t before = code->segment_count;
	int err;

	if (segment->type == PT_GNU_EH_FRAME)
		code->eh_frame_hdr = segment->address;
	if (segment->type != PT_LOAD)
		return 0;
	err = add_segment(code, segment);
	if (!err && code->segment_count > before && segment->flags & PF_X)
		span_text(code, &code->segments[before]);
	return err;
}

static int use_segments(struct elf_code *code)
{
	size_t i;
	int err = 0;

	for (i = 0; i < code->file->segment_count && !err; i++)
		err = use_segment(code, &code->file->segments[i]);
	if (err)
		return err;
	if (!code->page_count)
		return -ENOEXEC;
	if (code->page_count > UNWIND_PAGES_MAX)
		return -EFBIG;
	code->code_start = code->first_page << UNWIND_PAGE_BITS;
	code->code_end = code->code_start + (code->page_count << UNWIND_PAGE_BITS);
	return 0;
}

/*
 * Old linkers put everything that is not written to into one segment, symbols and all. The sections tell what of it is
 * code.
 */
static void narrow_code(struct elf_code *code)
{
	const struct elf_file *file = code->file;
	uint64_t start = UINT64_MAX, end = 0;
	size_t i;

	for (i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (!(section->flags & SHF_EXECINSTR) || section->type == SHT_NOBITS ||
		    section->address > UINT64_MAX - section->size)
			continue;
		if (section->address < start)
			start = section->address;
		if (section->address + section->size > end)
			end = section->address + section->size;
	}
	if (start > code->code_start && start < code->code_end)
		code->code_start = start;
	if (end > code->code_start && end < code->code_end)
		code->code_end = end;
}

/* The section of that name, if its bytes are all in the file. */
static struct elf_part part_named(const struct elf_code *code, const char *name)
{
	const struct elf_section *section = elf_file_named(code->file, name);
	uint64_t size = code->file->size;

	if (!section || section->flags & SHF_COMPRESSED || section->offset >= size ||
	    section->size > size - section->offset)
		return (struct elf_part){0};
	return (struct elf_part){section->address, section->offset, section->size};
}

static void use_sections(struct elf_code *code)
{
	struct elf_part frames = part_named(code, ".eh_frame");

	code->eh_frame = (struct elf_eh_frame){
		.address = frames.address, .offset = frames.offset, .bytes = frames.bytes};
	code->init = part_named(code, ".init");
	code->fini = part_named(code, ".fini");
	code->go_functions = part_named(code, ".gopclntab");
	if (!code->go_functions.bytes)
		code->go_functions = part_named(code, ".data.rel.ro.gopclntab");
	code->go_module = part_named(code, ".go.module");
	code->go_build = part_named(code, ".go.buildinfo");
	code->relocated = part_named(code, ".data.rel.ro");
	code->relocations = part_named(code, ".rela.dyn");
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

/* A hole of the file is zeros that cost nothing to have: what is behind it is not read. */
static void cut_frames(struct elf_code *code)
{
	struct elf_eh_frame *frames = &code->eh_frame;
	uint64_t bytes = frames->bytes;
	off_t hole = -1;

	if (bytes && code->file->fd >= 0)
		hole = lseek(code->file->fd, (off_t)frames->offset, SEEK_HOLE);
	if (hole >= 0 && (uint64_t)hole - frames->offset < bytes)
		bytes = (uint64_t)hole - frames->offset;
	if (bytes > UNWIND_EH_FRAME_MAX_BYTES)
		bytes = UNWIND_EH_FRAME_MAX_BYTES;
	frames->is_cut = bytes < frames->bytes && !frames->is_open_ended;
	frames->bytes = bytes;
}

static int open_source(struct elf_code *code, const struct unwind_source *source)
{
	int err;

	if (source->fd >= 0)
		err = elf_file_open_fd(&code->file, source->fd);
	else
		err = elf_file_open_image(&code->file, source->image, source->image_bytes);
	if (err)
		return err;
	return code->file->is_64_bit && code->file->machine == MACHINE_ELF ? 0 : -ENOEXEC;
}

int elf_code_open(struct elf_code *code, const struct unwind_source *source)
{
	int err;

	*code = (struct elf_code){0};
	err = open_source(code, source);
	if (!err)
		err = use_segments(code);
	if (err)
		return err;
	narrow_code(code);
	use_sections(code);
	if (!code->eh_frame.bytes && code->eh_frame_hdr)
		find_by_header(code);
	cut_frames(code);
	return 0;
}

void elf_code_close(struct elf_code *code)
{
	elf_file_close(code->file);
	free(code->segments);
	*code = (struct elf_code){0};
}

static int read_bytes(const struct elf_code *code, uint64_t offset, uint64_t size, uint8_t **bytes)
{
	char *data;
	int err = elf_file_read_part(code->file, offset, size, &data);

	if (!err)
		*bytes = (uint8_t *)data;
	return err;
}

int elf_code_read_eh_frame(const struct elf_code *code, uint8_t **bytes)
{
	return read_bytes(code, code->eh_frame.offset, code->eh_frame.bytes, bytes);
}

int elf_code_read_part(const struct elf_code *code, const struct elf_part *part, uint8_t **bytes)
{
	if (part->bytes > UNWIND_READ_MAX_BYTES - EH_FRAME_COST * code->eh_frame.bytes)
		return -EFBIG;
	return read_bytes(code, part->offset, part->bytes, bytes);
}
