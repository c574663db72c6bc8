/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_file.c - see debug_file.h.
 *
 * Where one is looked for, each first below `root` and then here:
 *
 *   by build id    DEBUG_DIR/.build-id/ab/cdef....debug
 *   by link        DIR/NAME   DIR/.debug/NAME   DEBUG_DIR/DIR/NAME
 *
 * DIR is that of the stripped file, NAME is in its section .gnu_debuglink.
 *
 * What is found may be anything: another version's file, the stripped file itself.
 */
#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/elf_layout.h"
#include "elf/elf_open.h"
#include "elf/name_budget.h"
#include "elf/xz.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A file's name, padded, and a checksum. */
#define LINK_MAX_BYTES (NAME_MAX + 1 + 8)

struct search {
	const struct elf_file *file;
	const struct elf_layout *layout;
	const struct debug_place *place;
	struct name_budget *budget;
	bool is_too_large; /* what was met, to be summed up */
	char dir[PATH_MAX]; /* of the stripped file; "" if not known */
	char *link; /* contents of .gnu_debuglink, NULL: none */
	uint32_t link_crc;
	struct elf_file *found;
};

/* ---- is it the right one? ----------------------------------------------------- */

static int crc_of(struct search *search, const struct elf_file *file, uint32_t *crc)
{
	uint64_t *budget = &search->budget->checksum_bytes, at;
	uLong sum = crc32(0, NULL, 0);
	Bytef bytes[16384];

	if (file->size > name_budget_share(*budget, NAME_CHECKSUM_MAX_BYTES)) {
		search->is_too_large = true;
		return -EFBIG;
	}
	name_budget_spend(budget, file->size);
	for (at = 0; at < file->size; at += sizeof(bytes)) {
		uint64_t left = file->size - at;
		size_t take = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		int err = elf_file_read(file, at, bytes, take);

		if (err)
			return err;
		sum = crc32(sum, bytes, (uInt)take);
	}
	*crc = (uint32_t)sum;
	return 0;
}

/* Equal build ids say it all. Only where one of them is missing must the checksum do. */
static bool is_match(struct search *search, const struct elf_file *candidate, bool linked)
{
	uint8_t id[ELF_BUILD_ID_MAX_BYTES];
	size_t bytes;
	uint32_t crc;

	if (!elf_file_typed(candidate, SHT_SYMTAB))
		return false;
	bytes = build_id_of_file(candidate, id);
	if (bytes && search->layout->build_id_bytes)
		return bytes == search->layout->build_id_bytes &&
		       !memcmp(id, search->layout->build_id, bytes);
	return linked && !crc_of(search, candidate, &crc) && crc == search->link_crc;
}

/* ---- looking into places ------------------------------------------------------ */

/* 0: search->found is set; -ENOENT: not there, or not the right one; -ENOMEM. */
static int try_path(struct search *search, const char *root, const char *path, bool linked)
{
	struct elf_file *candidate;
	int fd = elf_open_path(root, path), err;

	if (fd < 0)
		return -ENOENT;
	err = elf_file_adopt_fd(&candidate, fd);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!is_match(search, candidate, linked)) {
		elf_file_close(candidate);
		return -ENOENT;
	}
	search->found = candidate;
	return 0;
}

static int try_build_id(struct search *search, const char *root)
{
	const struct elf_layout *layout = search->layout;
	char path[PATH_MAX];
	size_t i;
	int used;

	if (layout->build_id_bytes < 2)
		return -ENOENT;
	used = snprintf(path, sizeof(path) - 2 * ELF_BUILD_ID_MAX_BYTES - 8, "%s/.build-id/%02x/",
			search->place->debug_dir, layout->build_id[0]);
	if (used < 0 || (size_t)used >= sizeof(path) - 2 * ELF_BUILD_ID_MAX_BYTES - 8)
		return -ENOENT;
	for (i = 1; i < layout->build_id_bytes; i++)
		used += sprintf(path + used, "%02x", layout->build_id[i]);
	strcpy(path + used, ".debug");
	return try_path(search, root, path, false);
}

static int try_link(struct search *search, const char *root)
{
	const struct {
		const char *before, *after;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {search->place->debug_dir, "/"}};
	char path[PATH_MAX];
	int err = -ENOENT;
	size_t i;

	if (!search->link || !search->dir[0])
		return -ENOENT;
	for (i = 0; err == -ENOENT && i < sizeof(places) / sizeof(*places); i++) {
		int length = snprintf(path, sizeof(path), "%s%s%s%s", places[i].before, search->dir,
				      places[i].after, search->link);

		if (length > 0 && (size_t)length < sizeof(path))
			err = try_path(search, root, path, true);
	}
	return err;
}

/* ---- the link ----------------------------------------------------------------- */

/*
 * The section:  | name, NUL | padding to 4 | CRC32 of the debug file |. The name must be one of a
 * file, not a path.
 */
static int read_link(struct search *search)
{
	const struct elf_section *section = elf_file_named(search->file, ".gnu_debuglink");
	size_t length, crc_at;
	char *link;
	int err;

	if (!section || section->size > LINK_MAX_BYTES)
		return 0;
	err = elf_file_read_section(search->file, section, &link);
	if (err)
		return err == -ENOMEM ? err : 0;
	length = strnlen(link, section->size);
	crc_at = (length + 4) & ~(size_t)3;
	if (!length || strchr(link, '/') || crc_at > section->size || section->size - crc_at < 4) {
		free(link);
		return 0;
	}
	memcpy(&search->link_crc, link + crc_at, sizeof(search->link_crc));
	search->link = link;
	return 0;
}

static void set_dir(struct search *search)
{
	const char *path = search->place->path, *slash = path ? strrchr(path, '/') : NULL;
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!slash || path[0] != '/' || length >= sizeof(search->dir))
		return;
	memcpy(search->dir, path, length);
	/* "/." is "/" that does not look empty. */
	strcpy(search->dir + length, length ? "" : "/.");
}

int debug_file_open(struct elf_file **out, const struct elf_file *file,
		    const struct elf_layout *layout, const struct debug_place *place,
		    struct name_budget *budget)
{
	struct search search = {.file = file, .layout = layout, .place = place, .budget = budget};
	const char *const roots[] = {place->root, NULL};
	size_t first = place->root ? 0 : 1, i;
	int err = read_link(&search);

	if (err)
		return err;
	set_dir(&search);
	err = -ENOENT;
	for (i = first; err == -ENOENT && i < 2; i++)
		err = try_build_id(&search, roots[i]);
	for (i = first; err == -ENOENT && i < 2; i++)
		err = try_link(&search, roots[i]);
	free(search.link);
	if (!err)
		*out = search.found;
	return err == -ENOENT && search.is_too_large ? -EFBIG : err;
}

int debug_file_open_embedded(struct elf_file **out, const struct elf_file *file,
			     struct name_budget *budget)
{
	const struct elf_section *section = elf_file_named(file, ".gnu_debugdata");
	uint64_t *left = &budget->unpacked_bytes;
	const uint64_t share = name_budget_share(*left, NAME_UNPACKED_MAX_BYTES);
	char *packed, *image;
	size_t image_bytes;
	int err;

	if (!section)
		return -ENOENT;
	err = elf_file_read_section(file, section, &packed);
	if (err)
		return err;
	err = xz_unpack(packed, section->size, share, &image, &image_bytes);
	free(packed);
	name_budget_spend(left, err ? share : image_bytes);
	if (err)
		return err;
	return elf_file_adopt_image(out, image, image_bytes);
}
