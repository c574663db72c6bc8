/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id.h - the GNU build id of an ELF file: the linker's hash of its contents, 20 bytes as a rule. */
#ifndef GECKOBPF_ELF_BUILD_ID_H
#define GECKOBPF_ELF_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX_BYTES 20 /* of those that the kernel tells */
#define ELF_BUILD_ID_MAX_BYTES 64 /* of those that files are searched by */

struct elf_file;

struct build_id {
	uint8_t size; /* 0: none known */
	uint8_t bytes[BUILD_ID_MAX_BYTES];
};

/* The build id of an open file, at most ELF_BUILD_ID_MAX_BYTES at `bytes`: its size, 0 if it has none. */
size_t build_id_of_file(const struct elf_file *file, uint8_t *bytes);

/*
 * The build id of the file behind `fd`. 0; -ENOENT: it has none of at most BUILD_ID_MAX_BYTES; or
 * as elf_file_open_fd(), with *out unchanged.
 */
int build_id_read(int fd, struct build_id *out);

bool build_id_equal(const struct build_id *a, const struct build_id *b);

#endif
