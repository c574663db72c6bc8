/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_strings.h - the strings of a symbol table: in memory as a whole, or, where there is no room for that, in parts
 * that are read from the file when they are asked for.
 */
#ifndef GECKOBPF_SYMBOL_NAME_STRINGS_H
#define GECKOBPF_SYMBOL_NAME_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_section;

/* Longer names may be cut there. */
#define NAME_STRINGS_MAX_LENGTH 16383

/* Zeroed: none. */
struct name_strings {
	uint64_t size;
	char *text; /* all of them, with a NUL behind; NULL: there was no room */
	struct name_windows *windows; /* then these */
	int fd; /* and where they are read from: our own */
	uint64_t offset; /* in the file */
	uint64_t left_bytes; /* to be read */
};

/*
 * The strings are those of a SHT_STRTAB section, and have half of `room_bytes` if they fit, or else 2 MiB of it. 0; -EFBIG:
 * there is no room, or the file is in memory itself; -ENOEXEC or -ENODATA: they are malformed; -ENOMEM; -errno.
 */
int name_strings_open(struct name_strings *strings, const struct elf_file *file,
		      const struct elf_section *section, uint64_t room_bytes);
void name_strings_close(struct name_strings *strings);

/* The bytes of memory that were taken from the room. */
size_t name_strings_bytes(const struct name_strings *strings);

/*
 * The string at `offset`, valid until the next call; "" if there is none, it cannot be read, or what may be read was read.
 */
const char *name_strings_at(struct name_strings *strings, uint64_t offset);

#endif
