/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_strings.c - see name_strings.h.
 *
 * A window begins at a multiple of its step and reaches as far beyond the next one, so most names are in one as a whole;
 * a longer one is read by itself.
 *
 *   |---- step ----|---- step ----|---- step ----|
 *   |=========== window ==========|
 *          name....................                 begins in the first step
 */
#include "symbol/name_strings.h"
#include "base/fd.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BYTES 4096
#define WINDOW_BYTES (2 * STEP_BYTES)
#define WINDOW_COUNT 256 /* each has one place, by its number */
/* From the page cache that takes about a second. */
#define READ_MAX_BYTES (4ULL << 30)

struct name_window {
	uint64_t number; /* + 1; 0: nothing is there */
	char text[WINDOW_BYTES + 1];
};

/* What was read, and what fits into no window. */
struct name_windows {
	struct name_window items[WINDOW_COUNT];
	char longest[NAME_STRINGS_MAX_LENGTH + 1];
};

static int open_windows(struct name_strings *strings, const struct elf_file *file)
{
	if (file->fd < 0)
		return -EFBIG;
	strings->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (strings->fd < 0)
		return -errno;
	strings->windows = calloc(1, sizeof(*strings->windows));
	if (!strings->windows) {
		fd_close(&strings->fd);
		return -ENOMEM;
	}
	strings->left_bytes = READ_MAX_BYTES;
	return 0;
}

int name_strings_open(struct name_strings *strings, const struct elf_file *file,
		      const struct elf_section *section, uint64_t room_bytes)
{
	struct name_strings opened = {.size = section->size, .offset = section->offset, .fd = -1};
	int err;

	if (section->type != SHT_STRTAB || !elf_section_is_plain(section))
		return -ENOEXEC;
	if (section->offset > file->size || section->size > file->size - section->offset)
		return -ENODATA;
	if (opened.size < room_bytes / 2)
		err = elf_file_read_part(file, section->offset, section->size, &opened.text);
	else if (sizeof(*opened.windows) <= room_bytes)
		err = open_windows(&opened, file);
	else
		err = -EFBIG;
	if (!err)
		*strings = opened;
	return err;
}

void name_strings_close(struct name_strings *strings)
{
	if (strings->windows)
		fd_close(&strings->fd);
	free(strings->windows);
	free(strings->text);
	*strings = (struct name_strings){0};
}

size_t name_strings_bytes(const struct name_strings *strings)
{
	if (strings->text)
		return (size_t)strings->size;
	return strings->windows ? sizeof(*strings->windows) : 0;
}

/* At most `most` bytes from `at` on, and a NUL. False: they cannot be had. */
static bool read_text(struct name_strings *strings, uint64_t at, size_t most, char *text)
{
	size_t bytes = strings->size - at < most ? (size_t)(strings->size - at) : most;

	if (bytes > strings->left_bytes)
		return false;
	strings->left_bytes -= bytes;
	text[bytes] = '\0';
	return !fd_pread_all(strings->fd, text, bytes, (off_t)(strings->offset + at));
}

/* NULL: it cannot be had. */
static struct name_window *window_at(struct name_strings *strings, uint64_t offset)
{
	uint64_t number = offset / STEP_BYTES;
	struct name_window *window = &strings->windows->items[number % WINDOW_COUNT];

	if (window->number == number + 1)
		return window;
	window->number = 0;
	if (!read_text(strings, number * STEP_BYTES, WINDOW_BYTES, window->text))
		return NULL;
	window->number = number + 1;
	return window;
}

const char *name_strings_at(struct name_strings *strings, uint64_t offset)
{
	struct name_window *window;
	const char *text;

	if (offset >= strings->size)
		return "";
	if (strings->text)
		return strings->text + offset;
	window = window_at(strings, offset);
	if (!window)
		return "";
	text = window->text + offset % STEP_BYTES;
	if (memchr(text, '\0', WINDOW_BYTES - offset % STEP_BYTES))
		return text;
	if (!read_text(strings, offset, NAME_STRINGS_MAX_LENGTH, strings->windows->longest))
		return "";
	return strings->windows->longest;
}
