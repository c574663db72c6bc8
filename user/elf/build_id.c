/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build_id.c - see build_id.h.
 *
 * ELF header -> program headers of type PT_NOTE -> notes:
 *
 *   u32 name size | u32 desc size | u32 type | name, padded to 4 | desc, padded to 4
 *
 * The one wanted has name "GNU" and type 3. Files are hostile: everything read is bounded, nothing is mapped.
 */
#include "elf/build_id.h"
#include "base/fd.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define MAX_PROGRAM_HEADERS 128
#define MAX_NOTE_BYTES 4096

/* Both ELF classes, widened. */
struct program_headers {
	uint64_t offset;
	uint16_t count, entry_bytes;
	bool is_64;
};

static int read_header(int fd, struct program_headers *out)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} header;
	int err;

	err = fd_pread_all(fd, &header, sizeof(header.e32), 0);
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	if (memcmp(header.ident, ELFMAG, SELFMAG) || header.ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	out->is_64 = header.ident[EI_CLASS] == ELFCLASS64;
	if (!out->is_64) {
		out->offset = header.e32.e_phoff;
		out->count = header.e32.e_phnum;
		out->entry_bytes = header.e32.e_phentsize;
		return 0;
	}
	err = fd_pread_all(fd, &header, sizeof(header.e64), 0);
	if (err)
		return err == -ENODATA ? -ENOEXEC : err;
	out->offset = header.e64.e_phoff;
	out->count = header.e64.e_phnum;
	out->entry_bytes = header.e64.e_phentsize;
	return 0;
}

/* Where program header `index` says that notes are; -ENOENT if it is of another type. */
static int read_note_range(int fd, const struct program_headers *headers, unsigned int index,
			   uint64_t *offset, uint64_t *size)
{
	union {
		Elf32_Phdr p32;
		Elf64_Phdr p64;
	} header;
	size_t want = headers->is_64 ? sizeof(header.p64) : sizeof(header.p32);
	int err;

	if (headers->entry_bytes < want || headers->offset > INT64_MAX / 2)
		return -ENOEXEC;
	err = fd_pread_all(fd, &header, want,
			   (off_t)(headers->offset + (uint64_t)index * headers->entry_bytes));
	if (err)
		return err;
	if ((headers->is_64 ? header.p64.p_type : header.p32.p_type) != PT_NOTE)
		return -ENOENT;
	*offset = headers->is_64 ? header.p64.p_offset : header.p32.p_offset;
	*size = headers->is_64 ? header.p64.p_filesz : header.p32.p_filesz;
	return *offset > INT64_MAX / 2 ? -ENOEXEC : 0;
}

static size_t padded(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

static int find_in_notes(const unsigned char *notes, size_t left, struct build_id *out)
{
	Elf64_Nhdr note; /* the same layout in both classes */

	while (left >= sizeof(note)) {
		const unsigned char *name = notes + sizeof(note), *desc;
		size_t need;

		memcpy(&note, notes, sizeof(note));
		need = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
		if (need > left)
			return -ENOENT;
		desc = name + padded(note.n_namesz);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= BUILD_ID_MAX_BYTES) {
			*out = (struct build_id){.size = (uint8_t)note.n_descsz};
			memcpy(out->bytes, desc, note.n_descsz);
			return 0;
		}
		notes += need;
		left -= need;
	}
	return -ENOENT;
}

int build_id_read(int fd, struct build_id *out)
{
	unsigned char notes[MAX_NOTE_BYTES];
	struct program_headers headers;
	uint64_t offset, size;
	unsigned int i;
	int err;

	err = read_header(fd, &headers);
	if (err)
		return err;
	for (i = 0; i < headers.count && i < MAX_PROGRAM_HEADERS; i++) {
		err = read_note_range(fd, &headers, i, &offset, &size);
		if (err == -ENOENT)
			continue;
		if (err)
			return err == -ENODATA ? -ENOEXEC : err;
		if (size > sizeof(notes))
			size = sizeof(notes);
		err = fd_pread_all(fd, notes, size, (off_t)offset);
		if (!err && !find_in_notes(notes, size, out))
			return 0;
	}
	return -ENOENT;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}
