/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_fixture.h - writes .eh_frame records, and ELF images around them, byte by byte. After cmocka.h. */
#ifndef GECKOBPF_TESTS_FRAME_FIXTURE_H
#define GECKOBPF_TESTS_FRAME_FIXTURE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/dwarf_cfi.h"

#define FIXTURE_BYTES 16384

struct frame_bytes {
	uint8_t data[FIXTURE_BYTES];
	size_t size;
	uint64_t address; /* of data[0] when loaded */
	size_t record; /* where the open record's length is */
};

/* A string literal as bytes and their number. */
#define LITERAL(text) text, sizeof(text) - 1

static inline void put_raw(struct frame_bytes *out, const void *bytes, size_t size)
{
	assert_true(out->size + size <= sizeof(out->data));
	if (size)
		memcpy(out->data + out->size, bytes, size);
	out->size += size;
}

static inline void put_u8(struct frame_bytes *out, uint8_t value)
{
	put_raw(out, &value, sizeof(value));
}

static inline void put_u32(struct frame_bytes *out, uint32_t value)
{
	put_raw(out, &value, sizeof(value));
}

static inline void put_u64(struct frame_bytes *out, uint64_t value)
{
	put_raw(out, &value, sizeof(value));
}

static inline void put_uleb(struct frame_bytes *out, uint64_t value)
{
	do {
		put_u8(out, (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
		value >>= 7;
	} while (value);
}

static inline void put_sleb(struct frame_bytes *out, int64_t value)
{
	bool more;

	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		more = value != (byte & 0x40 ? -1 : 0);
		put_u8(out, (uint8_t)(byte | (more ? 0x80 : 0)));
	} while (more);
}

static inline void begin_record(struct frame_bytes *out)
{
	out->record = out->size;
	put_u32(out, 0);
}

static inline void end_record(struct frame_bytes *out)
{
	uint32_t length = (uint32_t)(out->size - out->record - 4);

	memcpy(out->data + out->record, &length, sizeof(length));
}

/* What every compiler begins with: CFA = rsp + 8, return address at CFA - 8. */
#define USUAL_PROGRAM "\x0c\x07\x08\x90\x01"

/* A CIE up to its augmentation data, version 1, alignments 1 and -8. Returns where it begins. */
static inline size_t begin_cie(struct frame_bytes *out, const char *letters)
{
	begin_record(out);
	put_u32(out, 0);
	put_u8(out, 1);
	put_raw(out, letters, strlen(letters) + 1);
	put_uleb(out, 1);
	put_sleb(out, -8);
	put_u8(out, 16);
	return out->record;
}

/* "zR" or "zRS", with that encoding. */
static inline size_t put_cie(struct frame_bytes *out, const char *letters, uint8_t encoding,
			     const char *program, size_t size)
{
	size_t begin = begin_cie(out, letters);

	put_uleb(out, 1);
	put_u8(out, encoding);
	put_raw(out, program, size);
	end_record(out);
	return begin;
}

static inline size_t put_usual_cie(struct frame_bytes *out)
{
	return put_cie(out, "zR", PTR_PCREL | PTR_SDATA4, LITERAL(USUAL_PROGRAM));
}

/* An FDE up to its range. */
static inline void begin_fde(struct frame_bytes *out, size_t cie)
{
	begin_record(out);
	put_u32(out, (uint32_t)(out->size - cie));
}

/* An FDE of a usual CIE. */
static inline void put_fde(struct frame_bytes *out, size_t cie, uint64_t start, uint32_t size,
			   const char *program, size_t program_bytes)
{
	begin_fde(out, cie);
	put_u32(out, (uint32_t)(start - (out->address + out->size)));
	put_u32(out, size);
	put_uleb(out, 0);
	put_raw(out, program, program_bytes);
	end_record(out);
}

/* ---- ELF ---- */

/*
 *   0        header, program headers, .eh_frame_hdr at 0x200
 *   0x400    names of sections, section headers at 0x480
 *   0x1000   text                      executable
 *   text_end .eh_frame                 readable
 */
#define IMAGE_TEXT 0x1000ull
#define IMAGE_HDR 0x200
#define IMAGE_NAMES 0x400
#define IMAGE_SECTIONS 0x480

struct elf_image {
	uint8_t *bytes;
	size_t size;
};

enum image_sections { IMAGE_WITH_SECTIONS, IMAGE_STRIPPED, IMAGE_WITHOUT_FRAMES };

static inline void image_segment(struct elf_image *image, unsigned int index, uint32_t type,
				 uint32_t flags, uint64_t at, uint64_t size)
{
	Elf64_Phdr header = {type, flags, at, at, at, size, size, 0x1000};

	memcpy(image->bytes + sizeof(Elf64_Ehdr) + index * sizeof(header), &header, sizeof(header));
}

static inline void image_headers(struct elf_image *image, bool has_sections, uint16_t segments)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = has_sections ? IMAGE_SECTIONS : 0,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = segments,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = has_sections ? 3 : 0,
		.e_shstrndx = has_sections ? 1 : 0,
	};

	memcpy(image->bytes, &header, sizeof(header));
}

static inline void image_section_headers(struct elf_image *image, uint64_t frames, uint64_t size)
{
	static const char names[] = "\0.shstrtab\0.eh_frame";
	Elf64_Shdr sections[3] = {
		[1] = {.sh_name = 1,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = IMAGE_NAMES,
		       .sh_size = sizeof(names)},
		[2] = {.sh_name = 11,
		       .sh_type = SHT_PROGBITS,
		       .sh_addr = frames,
		       .sh_offset = frames,
		       .sh_size = size},
	};

	memcpy(image->bytes + IMAGE_NAMES, names, sizeof(names));
	memcpy(image->bytes + IMAGE_SECTIONS, sections, sizeof(sections));
}

static inline uint64_t image_frames_at(size_t text_pages)
{
	return IMAGE_TEXT + text_pages * 0x1000;
}

/* frames->address must be image_frames_at(text_pages). image->bytes is the caller's to free. */
static inline void image_make(struct elf_image *image, size_t text_pages,
			      const struct frame_bytes *frames, enum image_sections sections)
{
	uint64_t at = image_frames_at(text_pages);
	uint64_t size = frames ? frames->size : 0;
	uint8_t hdr[8] = {1, PTR_PCREL | PTR_SDATA4, PTR_OMIT, PTR_OMIT};
	int32_t distance = (int32_t)(at - (IMAGE_HDR + 4));

	image->size = at + size;
	image->bytes = test_calloc(1, image->size);
	assert_non_null(image->bytes);
	image_headers(image, sections == IMAGE_WITH_SECTIONS, 4);
	image_segment(image, 0, PT_LOAD, PF_R, 0, IMAGE_TEXT);
	image_segment(image, 1, PT_LOAD, PF_R | PF_X, IMAGE_TEXT, text_pages * 0x1000);
	image_segment(image, 2, PT_LOAD, PF_R, at, size);
	image_segment(image, 3, sections == IMAGE_STRIPPED ? PT_GNU_EH_FRAME : PT_NULL, PF_R,
		      IMAGE_HDR, sizeof(hdr));
	memcpy(hdr + 4, &distance, sizeof(distance));
	memcpy(image->bytes + IMAGE_HDR, hdr, sizeof(hdr));
	if (sections == IMAGE_WITH_SECTIONS)
		image_section_headers(image, at, size);
	if (size)
		memcpy(image->bytes + at, frames->data, size);
}

static inline void image_free(struct elf_image *image)
{
	test_free(image->bytes);
}

#endif
