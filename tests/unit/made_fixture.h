/* SPDX-License-Identifier: BSD-2-Clause */
/* made_fixture.h - ELF files of any size, with any number of functions and rules. After cmocka.h. */
#ifndef GECKOBPF_TESTS_MADE_FIXTURE_H
#define GECKOBPF_TESTS_MADE_FIXTURE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MADE_TEXT 0x1000u
#define MADE_NAMES "\0.eh_frame\0.shstrtab"
#define MADE_FRAMES_ADDRESS 0x40000000u /* far from the text */

/* A file: headers, text, .eh_frame. */
struct made {
	uint8_t *bytes;
	size_t size, capacity, frames;
};

static inline void made_put(struct made *made, const void *data, size_t size)
{
	assert_true(made->size + size <= made->capacity);
	memcpy(made->bytes + made->size, data, size);
	made->size += size;
}

static inline void made_put_word(struct made *made, uint32_t word)
{
	made_put(made, &word, sizeof(word));
}

static inline void made_put_uleb(struct made *made, uint32_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		made_put(made, &byte, 1);
		value >>= 7;
	} while (value);
}

static inline void made_headers(struct made *made, size_t text_bytes, uint64_t frame_bytes)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = 256,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr load = {.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = MADE_TEXT,
				 .p_vaddr = MADE_TEXT,
				 .p_filesz = text_bytes,
				 .p_memsz = text_bytes};
	const Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = MADE_FRAMES_ADDRESS,
		 .sh_offset = MADE_TEXT + text_bytes,
		 .sh_size = frame_bytes},
		{.sh_name = 11,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = 512,
		 .sh_size = sizeof(MADE_NAMES)},
	};

	memcpy(made->bytes, &header, sizeof(header));
	memcpy(made->bytes + 64, &load, sizeof(load));
	memcpy(made->bytes + 256, sections, sizeof(sections));
	memcpy(made->bytes + 512, MADE_NAMES, sizeof(MADE_NAMES));
}

/* Text of zeros, then a CIE that says what every compiler's does. */
static inline struct made made_begin(size_t text_bytes, size_t frame_bytes)
{
	static const char cie[] =
		"\x14\0\0\0\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0";
	struct made made = {.capacity = MADE_TEXT + text_bytes + frame_bytes};

	made.bytes = calloc(1, made.capacity);
	assert_non_null(made.bytes);
	made.frames = made.size = MADE_TEXT + text_bytes;
	made_put(&made, cie, 24);
	return made;
}

/* Up to its program, of which there are so many bytes. */
static inline void made_function(struct made *made, uint32_t start, uint32_t size,
				 uint32_t program_bytes)
{
	uint32_t at = (uint32_t)(made->size - made->frames);

	made_put_word(made, 13 + program_bytes);
	made_put_word(made, at + 4);
	made_put_word(made, MADE_TEXT + start - (MADE_FRAMES_ADDRESS + at + 8));
	made_put_word(made, size);
	made_put(made, "", 1);
}

/* A function at `at` whose rule only that with the same `i` has. */
static inline void made_distinct(struct made *made, uint32_t at, uint32_t bytes, uint32_t i)
{
	size_t before;

	made_function(made, at, bytes, 1 + 3);
	before = made->size;
	made_put(made, "\x0e", 1);
	made_put_uleb(made, 0x10000 + 8 * i);
	assert_int_equal(made->size - before, 4);
}

#endif
