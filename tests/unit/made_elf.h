/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_elf.h - ELF files made byte by byte, with what no linker would put into them. After cmocka.h and elf_fixture.h.
 *
 *   | headers | code, from MADE_CODE on | sections, where the test puts them |
 */
#ifndef GECKOBPF_TESTS_MADE_ELF_H
#define GECKOBPF_TESTS_MADE_ELF_H

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define MADE_CODE 0x1000 /* of the file, and an address */
#define MADE_SECTIONS 8

struct made_elf {
	char names[256];
	size_t names_used;
	Elf64_Shdr sections[MADE_SECTIONS];
	uint16_t count;
	int fd;
};

static inline void made_put(struct made_elf *elf, const void *data, size_t size, uint64_t at)
{
	assert_int_equal(pwrite(elf->fd, data, size, (off_t)at), size);
}

/* A section of the file's bytes [offset, offset + size); returns its number. */
static inline uint16_t made_section(struct made_elf *elf, const char *name, uint32_t type,
				    uint64_t offset, uint64_t size)
{
	elf->sections[elf->count] = (Elf64_Shdr){.sh_name = (Elf64_Word)elf->names_used,
						 .sh_type = type,
						 .sh_offset = offset,
						 .sh_size = size};
	strcpy(elf->names + elf->names_used, name);
	elf->names_used += strlen(name) + 1;
	return elf->count++;
}

/* With code of so many bytes, which are not written. Section 1 is .text. */
static inline void made_begin(struct made_elf *elf, const char *path, uint64_t code_bytes)
{
	*elf = (struct made_elf){.names_used = 1, .count = 1};
	elf->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	assert_true(elf->fd >= 0);
	made_section(elf, ".text", SHT_PROGBITS, MADE_CODE, code_bytes);
	elf->sections[1].sh_addr = MADE_CODE;
	elf->sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
}

/* A .symtab whose strings are the next section. */
static inline void made_symbols(struct made_elf *elf, uint64_t offset, uint64_t count)
{
	uint16_t number =
		made_section(elf, ".symtab", SHT_SYMTAB, offset, count * sizeof(Elf64_Sym));

	elf->sections[number].sh_link = number + 1;
	elf->sections[number].sh_entsize = sizeof(Elf64_Sym);
}

static inline Elf64_Sym made_function(uint32_t name, uint64_t address, uint64_t size)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			   .st_shndx = 1,
			   .st_value = address,
			   .st_size = size};
}

/* Headers, and names of sections, from `at` on, where nothing else is. */
static inline void made_end(struct made_elf *elf, uint64_t at)
{
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_filesz = MADE_CODE + elf->sections[1].sh_size,
				    .p_memsz = MADE_CODE + elf->sections[1].sh_size,
				    .p_align = 4096};
	uint16_t names = made_section(elf, ".shstrtab", SHT_STRTAB, at, sizeof(elf->names));
	const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_phoff = sizeof(header),
				   .e_shoff = at + sizeof(elf->names),
				   .e_phentsize = sizeof(segment),
				   .e_phnum = 1,
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = elf->count,
				   .e_shstrndx = names};

	made_put(elf, &header, sizeof(header), 0);
	made_put(elf, &segment, sizeof(segment), sizeof(header));
	made_put(elf, elf->names, sizeof(elf->names), at);
	made_put(elf, elf->sections, elf->count * sizeof(Elf64_Shdr), at + sizeof(elf->names));
	close(elf->fd);
}

#endif
