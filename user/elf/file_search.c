/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_search.c - see file_search.h. What is found may be anything: it is opened as a regular
 * file or not at all.
 */
#include "elf/file_search.h"

#include "elf/elf_file.h"
#include "elf/elf_open.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct finding {
	const struct file_search *search;
	const struct wanted_file *want;
	enum file_part part;
	struct other_file *other;
	struct elf_file *found;
	char build_path[2 * ELF_BUILD_ID_MAX_BYTES + 16]; /* ".build-id/ab/cdef..." */
};

/* ---- is it the right one? ---------------------------------------------------------- */

/* A file that was left with its debug sections only says where code would be, and has none. */
static int check_code(const struct elf_file *file)
{
	struct elf_layout layout = {0};
	int err = elf_layout_read(&layout, file);

	if (!err && !elf_layout_has_code(&layout))
		err = -ENOENT;
	elf_layout_free(&layout);
	return err == -ENOMEM ? err : err ? -ENOENT : 0;
}

static bool is_build(const struct finding *finding, const struct elf_file *file)
{
	const struct wanted_file *want = finding->want;
	struct other_file other = {.is_there = true};

	other.build_id_bytes = build_id_of_file(file, other.build_id);
	if (other.build_id_bytes == want->build_id_bytes &&
	    !memcmp(other.build_id, want->build_id, want->build_id_bytes))
		return true;
	if (finding->other)
		*finding->other = other;
	return false;
}

/* 0, -ENOENT, -ENOMEM. */
static int check(const struct finding *finding, const struct elf_file *file)
{
	if (!is_build(finding, file))
		return -ENOENT;
	if (finding->part == FILE_PART_CODE)
		return check_code(file);
	return elf_file_typed(file, SHT_SYMTAB) ? 0 : -ENOENT;
}

/* Takes `fd` over. 0: finding->found is set; -ENOENT: not the right one; -ENOMEM. */
static int try_fd(struct finding *finding, int fd)
{
	struct elf_file *candidate;
	int err;

	if (fd < 0)
		return -ENOENT;
	err = elf_file_adopt_fd(&candidate, fd);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = check(finding, candidate);
	if (err)
		elf_file_close(candidate);
	else
		finding->found = candidate;
	return err;
}

/* ---- places ------------------------------------------------------------------------ */

/* DIR/BEFORE/PATH/AFTER, without the slashes. */
static int try_place(struct finding *finding, const char *dir, const char *before, const char *path,
		     const char *after)
{
	char below[PATH_MAX], whole[PATH_MAX];
	int length = snprintf(below, sizeof(below), "/%s%s%s", before, path, after), err;

	if (length < 0 || (size_t)length >= sizeof(below))
		return -ENOENT;
	err = try_fd(finding, elf_open_path(dir, below));
	if (err != -ENOENT)
		return err;
	length = snprintf(whole, sizeof(whole), "%s%s", dir, below);
	if (length < 0 || (size_t)length >= sizeof(whole))
		return -ENOENT;
	return try_fd(finding, elf_open_path(NULL, whole));
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where a file lies that is as it was mapped; a file that has not been stripped has its symbols. */
static int try_dir_for_code(struct finding *finding, const char *dir)
{
	const char *path = finding->want->path;
	int err = try_place(finding, dir, "", finding->build_path, "");

	if (err != -ENOENT || !path)
		return err;
	err = try_place(finding, dir, "", path, "");
	return err == -ENOENT ? try_place(finding, dir, "", name_of(path), "") : err;
}

static int try_dir_for_debug(struct finding *finding, const char *dir)
{
	const struct {
		const char *before, *path;
	} places[] = {
		{"", finding->build_path},
		{"usr/lib/debug/", finding->build_path},
		{"", finding->want->path},
		{"usr/lib/debug", finding->want->path},
		{"", finding->want->path ? name_of(finding->want->path) : NULL},
	};
	size_t i;
	int err = -ENOENT;

	for (i = 0; i < sizeof(places) / sizeof(places[0]) && err == -ENOENT; i++)
		if (places[i].path)
			err = try_place(finding, dir, places[i].before, places[i].path, ".debug");
	return err == -ENOENT ? try_dir_for_code(finding, dir) : err;
}

static int ask_servers(struct finding *finding)
{
	const struct wanted_file *want = finding->want;
	const struct file_search *search = finding->search;

	if (!search->fetch)
		return -ENOENT;
	return try_fd(finding, search->fetch(search->context, want->build_id, want->build_id_bytes,
					     finding->part == FILE_PART_DEBUG));
}

static void set_build_path(struct finding *finding)
{
	const struct wanted_file *want = finding->want;
	int used = sprintf(finding->build_path, ".build-id/%02x/", want->build_id[0]);
	size_t i;

	for (i = 1; i < want->build_id_bytes; i++)
		used += sprintf(finding->build_path + used, "%02x", want->build_id[i]);
}

int file_search_find(const struct file_search *search, const struct wanted_file *want,
		     enum file_part part, struct elf_file **out, struct other_file *other)
{
	struct finding finding = {.search = search, .want = want, .part = part, .other = other};
	size_t i;
	int err = -ENOENT;

	if (!want->build_id_bytes || want->build_id_bytes > ELF_BUILD_ID_MAX_BYTES)
		return -ENOENT;
	set_build_path(&finding);
	if (want->path)
		err = try_fd(&finding, elf_open_path(NULL, want->path));
	for (i = 0; i < search->dir_count && err == -ENOENT; i++)
		err = part == FILE_PART_DEBUG ? try_dir_for_debug(&finding, search->dirs[i])
					      : try_dir_for_code(&finding, search->dirs[i]);
	if (err == -ENOENT)
		err = ask_servers(&finding);
	if (!err)
		*out = finding.found;
	return err;
}
