/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_files.h - the files that symbols are read from, by whoever is asked for names (answering.h): from a place in one to
 * the function's name.
 *
 * A file's symbols are read when the first address in it is asked for: .symtab, .dynsym, the
 * .symtab of .gnu_debugdata (xz), and that of a separate debug file found by build id or debug
 * link. Names are demangled once each. All names live until symbol_files_close(). One thread at a
 * time. Files are hostile input: what all of them and each may cost is bounded (elf/name_budget.h).
 */
#ifndef GECKOBPF_SYMBOL_SYMBOL_FILES_H
#define GECKOBPF_SYMBOL_SYMBOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/file_search.h"

struct symbol_files;
struct symbol_file;

struct symbol {
	const char *name; /* demangled, valid UTF-8, not empty; NULL: see symbol_file_function() */
	uint64_t address; /* where it starts: a virtual address of the ELF file */
	uint64_t size; /* bytes; 0: not known */
	/* Offsets in the file, among them the one that was asked for: for all of them the answer is the same. */
	uint64_t first, end;
};

/* Where the symbols of one file are. All is borrowed until symbol_files_close(). */
struct symbol_source {
	const char *path; /* for debug links and messages; opened if fd < 0 and image is NULL */
	int fd; /* open for reading, or -1 */
	const void *image; /* or the file in memory (vDSO); NULL: none */
	size_t image_bytes;
	const char *root; /* "/proc/PID/root": where the process has its files; NULL: none */
	/* Of a file that is not at hand and has to be searched for; 0 bytes: it is at hand. */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/* What of it was mapped as code, which makes a debug file alone enough; 0 bytes: not known. */
	uint64_t code_offset, code_bytes;
};

struct symbol_options {
	const char *debug_dir; /* borrowed; NULL: /usr/lib/debug */
	/* where else files are, copied; what it points to is borrowed; NULL: nowhere */
	const struct file_search *search;
	bool raw_names; /* do not demangle */
};

/* `options` may be NULL. 0 or -ENOMEM. */
int symbol_files_open(struct symbol_files **out, const struct symbol_options *options);
void symbol_files_close(struct symbol_files *files);

/* Adds a file, which lives until symbol_files_close(); nothing is read yet. 0 or -ENOMEM. */
int symbol_files_add(struct symbol_files *files, const struct symbol_source *source,
		     struct symbol_file **out);

/*
 * The function at `offset` bytes into the file (mapping.offset + address - mapping.start). 0;
 * -ENOENT: no symbol covers it; -ENOEXEC: not an ELF file we can read; -ENOMEM; -errno of reading
 * it.
 */
int symbol_file_lookup(struct symbol_file *file, uint64_t offset, struct symbol *out);

/*
 * The same by what describes the functions' stack frames, which stripping leaves in place: out->name is NULL but for Go,
 * out->size is known.
 */
int symbol_file_function(struct symbol_file *file, uint64_t offset, struct symbol *out);

struct symbol_line {
	const char *file; /* of the source, that the function is in; printable, not empty */
	uint32_t line; /* 0: not known */
};

/* Where in the source that code is, which Go's files say. As symbol_file_lookup(); -ENOENT: the file does not say. */
int symbol_file_line(struct symbol_file *file, uint64_t offset, struct symbol_line *out);

/* How the file's offsets become virtual addresses, and its build id: borrowed. 0 or as symbol_file_lookup(). */
int symbol_file_layout(struct symbol_file *file, const struct elf_layout **out);

/* From now on it is open as `fd`, or -1: see struct symbol_source. */
void symbol_file_reopen(struct symbol_file *file, int fd);

/* Why code in a file has no name. */
enum symbol_trouble {
	SYMBOL_TROUBLE_STRIPPED, /* no symbol covers it */
	SYMBOL_TROUBLE_MISSING, /* the file was not found, or cannot be read */
	SYMBOL_TROUBLE_OTHER_BUILD, /* not found, but another build of it was */
	SYMBOL_TROUBLE_NO_BUILD_ID, /* it is not known what to look for */
	SYMBOL_TROUBLE_TOO_LARGE, /* it has more symbols, or names, than are read */
	SYMBOL_TROUBLE_LATE, /* to read it took too long, or it hangs */
	SYMBOL_TROUBLE_DIED, /* whoever read it died of it */
	SYMBOL_TROUBLE_COUNT,
};

/* After a lookup. *other: the file that was met instead, for SYMBOL_TROUBLE_OTHER_BUILD. */
enum symbol_trouble symbol_file_trouble(const struct symbol_file *file, struct other_file *other);

#endif
