/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_parts.c - see elf_parts.h. */
#include "elf/elf_parts.h"

#include "elf/elf_file.h"
#include "elf/elf_open.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

#define BLOCK_BYTES (64u << 10)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* Takes bytes of a file in the order in which they are visited, which for equal files is the same. */
struct visitor {
	int (*take)(void *context, uint64_t offset, const void *bytes, size_t size);
	void *context;
	uint64_t left_bytes;
};

static int visit_range(const struct elf_file *file, struct visitor *visitor, uint64_t offset,
		       uint64_t bytes)
{
	static char block[BLOCK_BYTES];
	int err = 0;

	if (offset >= file->size)
		return 0;
	if (bytes > file->size - offset)
		bytes = file->size - offset;
	if (bytes > visitor->left_bytes)
		return -EFBIG;
	visitor->left_bytes -= bytes;
	while (bytes && !err) {
		const size_t size = bytes < sizeof(block) ? (size_t)bytes : sizeof(block);

		err = elf_file_read(file, offset, block, size);
		if (!err)
			err = visitor->take(visitor->context, offset, block, size);
		offset += size;
		bytes -= size;
	}
	return err;
}

/* ---- which ------------------------------------------------------------------------- */

static bool is_used_name(const char *name)
{
	static const char *const names[] = {
		".eh_frame",     ".eh_frame_hdr",    ".gopclntab",     ".data.rel.ro.gopclntab",
		".go.buildinfo", ".go.module",       ".gnu_debuglink", ".gnu_debugdata",
		".data.rel.ro",  ".gcc_except_table"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, ".plt", 4);
}

static bool is_code(const struct elf_section *section)
{
	return section->flags & SHF_EXECINSTR && strncmp(section->name, ".plt", 4) != 0;
}

static bool is_used(const struct elf_section *section)
{
	switch (section->type) {
	case SHT_NULL:
	case SHT_NOBITS:
		return false;
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_NOTE:
	case SHT_RELA:
	case SHT_DYNAMIC:
		return true;
	default:
		return is_used_name(section->name);
	}
}

/* The tables of segments and of sections. */
static int visit_headers(const struct elf_file *file, struct visitor *visitor)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} header;
	uint64_t segments, sections;
	int err = elf_file_read(file, 0, &header,
				file->is_64_bit ? sizeof(header.wide) : sizeof(header.narrow));

	if (err)
		return err;
	segments = file->is_64_bit ? header.wide.e_phoff : header.narrow.e_phoff;
	sections = file->is_64_bit ? header.wide.e_shoff : header.narrow.e_shoff;
	err = visit_range(file, visitor, 0, sizeof(header));
	if (!err)
		err = visit_range(file, visitor, segments,
				  file->segment_count * (file->is_64_bit ? sizeof(Elf64_Phdr)
									 : sizeof(Elf32_Phdr)));
	if (!err && sections)
		err = visit_range(file, visitor, sections,
				  (file->section_count + 1) * (file->is_64_bit
								       ? sizeof(Elf64_Shdr)
								       : sizeof(Elf32_Shdr)));
	return err;
}

static int visit_tables(const struct elf_file *file, struct visitor *visitor)
{
	size_t i;
	int err = visit_headers(file, visitor);

	for (i = 0; i < file->segment_count && !err; i++)
		if (file->segments[i].type == PT_NOTE || file->segments[i].type == PT_GNU_EH_FRAME)
			err = visit_range(file, visitor, file->segments[i].offset,
					  file->segments[i].file_bytes);
	for (i = 0; i < file->section_count && !err; i++)
		if (is_used(&file->sections[i]))
			err = visit_range(file, visitor, file->sections[i].offset,
					  file->sections[i].size);
	return err;
}

/* Without sections nobody knows what of a segment is code, or unwinds it. */
static int visit_code(const struct elf_file *file, struct visitor *visitor)
{
	size_t i;
	int err = 0;

	for (i = 0; i < file->section_count && !err; i++)
		if (is_code(&file->sections[i]) && file->sections[i].type != SHT_NOBITS)
			err = visit_range(file, visitor, file->sections[i].offset,
					  file->sections[i].size);
	for (i = 0; i < file->segment_count && !err && !file->section_count; i++)
		if (file->segments[i].type == PT_LOAD)
			err = visit_range(file, visitor, file->segments[i].offset,
					  file->segments[i].file_bytes);
	return err == -EFBIG ? 0 : err;
}

static int visit(int fd, struct visitor *visitor, bool with_code, uint64_t *file_bytes)
{
	struct elf_file *file;
	int err = elf_file_open_fd(&file, fd);

	if (err)
		return err;
	*file_bytes = file->size;
	err = visit_tables(file, visitor);
	if (!err && with_code)
		err = visit_code(file, visitor);
	elf_file_close(file);
	return err;
}

/* ---- the digest: SipHash-2-4 ----------------------------------------------------------- */

struct sip {
	uint64_t v[4];
};

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_round(struct sip *sip)
{
	uint64_t *v = sip->v;

	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void sip_add(struct sip *sip, uint64_t word)
{
	sip->v[3] ^= word;
	sip_round(sip);
	sip_round(sip);
	sip->v[0] ^= word;
}

static uint64_t sip_end(struct sip *sip)
{
	int i;

	sip->v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(sip);
	return sip->v[0] ^ sip->v[1] ^ sip->v[2] ^ sip->v[3];
}

/* Each block with where it is and how long, so the zeros behind a block's end are none of another's. */
static int add_block(void *context, uint64_t offset, const void *bytes, size_t size)
{
	struct sip *sip = context;
	const char *at = bytes;
	uint64_t word;

	sip_add(sip, offset);
	sip_add(sip, size);
	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sip_add(sip, word);
	}
	word = 0;
	memcpy(&word, at, size);
	sip_add(sip, word);
	return 0;
}

static int digest_here(int fd, const struct elf_digest_key *key, struct elf_digest *out)
{
	struct sip sip = {
		{key->words[0] ^ 0x736f6d6570736575ULL, key->words[1] ^ 0x646f72616e646f6dULL,
		 key->words[0] ^ 0x6c7967656e657261ULL, key->words[1] ^ 0x7465646279746573ULL}};
	struct visitor visitor = {add_block, &sip, ELF_DIGEST_MAX_BYTES};
	uint64_t file_bytes;
	int err = visit(fd, &visitor, true, &file_bytes);

	if (!err)
		*out = (struct elf_digest){file_bytes, sip_end(&sip)};
	return err;
}

int elf_digest_read(int fd, const struct elf_digest_key *key, struct elf_digest *out)
{
	const struct elf_door *door = elf_door();

	return door->digest ? door->digest(door->context, fd, key, out) : digest_here(fd, key, out);
}

bool elf_digest_equal(const struct elf_digest *a, const struct elf_digest *b)
{
	return a->file_bytes == b->file_bytes && a->sum == b->sum;
}

/* ---- the copy ---------------------------------------------------------------------------- */

static int write_block(void *context, uint64_t offset, const void *bytes, size_t size)
{
	const int fd = *(const int *)context;

	if (offset + size > ELF_COPY_MAX_END)
		return -EFBIG;
	if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	return fd_write_all(fd, bytes, size);
}

static int fill(int copy, int fd, const struct elf_copy_limit *limit)
{
	struct visitor visitor = {write_block, &copy, limit->bytes};
	uint64_t file_bytes;
	int err = visit(fd, &visitor, limit->with_code, &file_bytes);

	if (!err && fcntl(copy, F_ADD_SEALS, SEALS))
		err = -errno;
	return err;
}

static int copy_here(int fd, const struct elf_copy_limit *limit)
{
	int copy = memfd_create("geckobpf", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (copy < 0)
		return -errno;
	err = fill(copy, fd, limit);
	if (err)
		fd_close(&copy);
	return err ? err : copy;
}

int elf_copy_make(int fd, const struct elf_copy_limit *limit)
{
	const struct elf_door *door = elf_door();

	return door->copy ? door->copy(door->context, fd, limit) : copy_here(fd, limit);
}
