/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build_id.c - see build_id.h.
 *
 * Notes are in segments, where the kernel looks for them as well. In a debug file the segments may
 * not say where they are now; there the sections do.
 *
 *   a note:  | name_bytes u32 | data_bytes u32 | type u32 | name, padded | data, padded |
 */
#include "elf/build_id.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Notes of programs take some hundred bytes. Of longer ones only the beginning is read. */
#define NOTES_MAX_BYTES 4096

struct note {
	uint32_t type;
	const char *name, *data;
	uint32_t name_bytes, data_bytes;
};

/* Returns how many bytes of `notes` the first one takes, 0 if it is cut off. */
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

static size_t find_in_notes(const char *notes, size_t left, size_t align, uint8_t *bytes)
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

static size_t find_at(const struct elf_file *file, uint64_t offset, uint64_t size, uint64_t align,
		      uint8_t *bytes)
{
	char notes[NOTES_MAX_BYTES];

	if (size > sizeof(notes))
		size = sizeof(notes);
	if (elf_file_read(file, offset, notes, size))
		return 0;
	return find_in_notes(notes, size, align == 8 ? 8 : 4, bytes);
}

size_t build_id_of_file(const struct elf_file *file, uint8_t *bytes)
{
	size_t found = 0, i;

	for (i = 0; i < file->segment_count && !found; i++) {
		const struct elf_segment *segment = &file->segments[i];

		if (segment->type == PT_NOTE)
			found = find_at(file, segment->offset, segment->file_bytes, segment->align,
					bytes);
	}
	for (i = 0; i < file->section_count && !found; i++) {
		const struct elf_section *section = &file->sections[i];

		if (section->type == SHT_NOTE)
			found = find_at(file, section->offset, section->size, section->align,
					bytes);
	}
	return found;
}

static int read_here(int fd, struct build_id *out)
{
	uint8_t bytes[ELF_BUILD_ID_MAX_BYTES];
	struct elf_file *file;
	size_t size;
	int err = elf_file_open_fd(&file, fd);

	if (err)
		return err;
	size = build_id_of_file(file, bytes);
	elf_file_close(file);
	if (!size || size > BUILD_ID_MAX_BYTES)
		return -ENOENT;
	*out = (struct build_id){.size = (uint8_t)size};
	memcpy(out->bytes, bytes, size);
	return 0;
}

int build_id_read(int fd, struct build_id *out)
{
	const struct elf_door *door = elf_door();

	return door->build_id ? door->build_id(door->context, fd, out) : read_here(fd, out);
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}
