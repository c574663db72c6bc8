/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_layout.c - see elf_layout.h. */
#include "elf/elf_layout.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096ULL
/* Notes of programs take some hundred bytes. Of longer ones only the beginning is read. */
#define NOTES_MAX_BYTES 4096

/* ---- build id ----------------------------------------------------------------- */

/*
 * A note:  | name_bytes u32 | data_bytes u32 | type u32 | name, padded | data, padded |
 * Returns how many bytes of `notes` it takes, 0 if it is cut off.
 */
struct note {
	uint32_t type;
	const char *name, *data;
	uint32_t name_bytes, data_bytes;
};

static size_t parse_note(const char *notes, size_t left, size_t align, struct note *note)
{
	uint32_t header[3];
	uint64_t data_at, end;

	if (left < sizeof(header))
		return 0;
	memcpy(header, notes, sizeof(header));
	data_at = (sizeof(header) + (uint64_t)header[0] + align - 1) & ~(uint64_t)(align - 1);
	end = data_at + header[1];
	if (end > left)
		return 0;
	*note = (struct note){
		.type = header[2],
		.name = notes + sizeof(header),
		.data = notes + data_at,
		.name_bytes = header[0],
		.data_bytes = header[1],
	};
	end = (end + align - 1) & ~(uint64_t)(align - 1);
	return end < left ? (size_t)end : left;
}

static size_t find_build_id(const char *notes, size_t left, size_t align, uint8_t *bytes)
{
	struct note note;
	size_t taken;

	while ((taken = parse_note(notes, left, align, &note))) {
		if (note.type == NT_GNU_BUILD_ID && note.name_bytes == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(note.name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note.data_bytes &&
		    note.data_bytes <= ELF_BUILD_ID_MAX_BYTES) {
			memcpy(bytes, note.data, note.data_bytes);
			return note.data_bytes;
		}
		notes += taken;
		left -= taken;
	}
	return 0;
}

static size_t build_id_at(const struct elf_file *file, uint64_t offset, uint64_t size,
			  uint64_t align, uint8_t *bytes)
{
	char notes[NOTES_MAX_BYTES];

	if (size > sizeof(notes))
		size = sizeof(notes);
	if (elf_file_read(file, offset, notes, size))
		return 0;
	return find_build_id(notes, size, align == 8 ? 8 : 4, bytes);
}

/* Sections first: in a separate debug file, program headers do not say where notes are. */
static size_t build_id_in_sections(const struct elf_file *file, uint8_t *bytes)
{
	size_t found = 0, i;

	for (i = 0; i < file->section_count && !found; i++) {
		const struct elf_section *section = &file->sections[i];

		if (section->type == SHT_NOTE)
			found = build_id_at(file, section->offset, section->size, section->align,
					    bytes);
	}
	return found;
}

static size_t build_id_in_segments(const struct elf_file *file, uint8_t *bytes)
{
	size_t found = 0, count, i;
	GElf_Phdr header;

	if (elf_getphdrnum(file->elf, &count))
		return 0;
	for (i = 0; i < count && !found; i++)
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_NOTE)
			found = build_id_at(file, header.p_offset, header.p_filesz, header.p_align,
					    bytes);
	return found;
}

size_t elf_layout_build_id(const struct elf_file *file, uint8_t *bytes)
{
	size_t found = build_id_in_sections(file, bytes);

	return found ? found : build_id_in_segments(file, bytes);
}

/* ---- segments ----------------------------------------------------------------- */

static void add_segment(struct elf_layout *layout, const GElf_Phdr *header)
{
	uint64_t page = header->p_vaddr & ~(PAGE_BYTES - 1);

	if (!layout->segment_count || page < layout->base)
		layout->base = page;
	layout->segments[layout->segment_count++] = (struct elf_segment){
		.offset = header->p_offset,
		.address = header->p_vaddr,
		.file_bytes = header->p_filesz,
		.memory_bytes = header->p_memsz,
		.executable = header->p_flags & PF_X,
	};
}

static int read_segments(struct elf_layout *layout, const struct elf_file *file)
{
	GElf_Phdr header;
	size_t count, i;

	if (elf_getphdrnum(file->elf, &count))
		return -ENOEXEC;
	if (!count)
		return 0;
	layout->segments = calloc(count, sizeof(*layout->segments));
	if (!layout->segments)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD)
			add_segment(layout, &header);
	return 0;
}

int elf_layout_read(struct elf_layout *layout, const struct elf_file *file)
{
	struct elf_layout found = {0};
	int err = read_segments(&found, file);

	if (err)
		return err;
	found.build_id_bytes = elf_layout_build_id(file, found.build_id);
	*layout = found;
	return 0;
}

void elf_layout_free(struct elf_layout *layout)
{
	free(layout->segments);
	*layout = (struct elf_layout){0};
}

bool elf_layout_has_code(const struct elf_layout *layout)
{
	size_t i;

	for (i = 0; i < layout->segment_count; i++)
		if (layout->segments[i].executable && layout->segments[i].file_bytes)
			return true;
	return false;
}

/* Code is mapped in whole pages, all of a segment at once. */
static bool is_mapped_as(const struct elf_segment *segment, uint64_t bytes)
{
	uint64_t lead = segment->address & (PAGE_BYTES - 1);

	if (!segment->executable || segment->memory_bytes > UINT64_MAX - 2 * PAGE_BYTES)
		return false;
	return ((segment->memory_bytes + lead + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)) == bytes;
}

int elf_layout_place_code(struct elf_layout *layout, uint64_t offset, uint64_t bytes)
{
	struct elf_segment *code = NULL;
	size_t i;

	for (i = 0; i < layout->segment_count; i++) {
		struct elf_segment *segment = &layout->segments[i];

		if (!is_mapped_as(segment, bytes)) {
			segment->file_bytes = 0;
			continue;
		}
		if (code)
			return -ENOENT; /* either of them could be meant */
		code = segment;
	}
	if (!code)
		return -ENOENT;
	code->offset = offset + (code->address & (PAGE_BYTES - 1));
	code->file_bytes = code->memory_bytes;
	return 0;
}

/*
 * How well a segment explains an offset: 0 not at all; 1 it is in the same page, so it is mapped
 * along with the segment; more if the segment itself has it. Two segments often share a page; the
 * code is what we are asked about.
 */
static int segment_fits(const struct elf_segment *segment, uint64_t offset)
{
	uint64_t lead = segment->offset & (PAGE_BYTES - 1);
	uint64_t mapped = (segment->file_bytes + lead + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

	if (offset >= segment->offset && offset - segment->offset < segment->file_bytes)
		return segment->executable ? 3 : 2;
	if (offset >= segment->offset - lead && offset - (segment->offset - lead) < mapped)
		return segment->executable;
	return 0;
}

int elf_layout_address(const struct elf_layout *layout, uint64_t offset, uint64_t *address)
{
	const struct elf_segment *best = NULL;
	int best_fit = 0;
	size_t i;

	for (i = 0; i < layout->segment_count; i++) {
		int fit = segment_fits(&layout->segments[i], offset);

		if (fit > best_fit) {
			best_fit = fit;
			best = &layout->segments[i];
		}
	}
	if (!best)
		return -ENOENT;
	*address = best->address + (offset - best->offset);
	return 0;
}
