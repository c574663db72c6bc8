/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_parts.h - what of an ELF file anybody looks at: its headers, symbols, notes, what unwinds its stacks, and Go's tables;
 * with its code behind them, if that is wanted. Debug information and data are not.
 *
 * A digest of it tells whether two files are as good as one; a copy of it stands for a file that is not to be kept open.
 */
#ifndef GECKOBPF_ELF_ELF_PARTS_H
#define GECKOBPF_ELF_ELF_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Of any file: to read and sum up that much takes some 30 ms. */
#define ELF_DIGEST_MAX_BYTES (32u << 20)

/* Secret, and another in each recording, so that nobody can make a file whose digest is that of another. */
struct elf_digest_key {
	uint64_t words[2];
};

struct elf_digest {
	uint64_t file_bytes;
	uint64_t sum;
};

/*
 * The digest of the file behind `fd`: of all but its code, and of the code as far as ELF_DIGEST_MAX_BYTES go. 0; -EFBIG:
 * the rest alone is more; or as elf_file_open_fd().
 */
int elf_digest_read(int fd, const struct elf_digest_key *key, struct elf_digest *out);

bool elf_digest_equal(const struct elf_digest *a, const struct elf_digest *b);

/* Where what is copied may lie in its file: it lies there in the copy, too. */
#define ELF_COPY_MAX_END (256u << 20)

/* What to copy, and how much of it at most. */
struct elf_copy_limit {
	uint64_t bytes;
	bool with_code; /* what is beyond the limit of it is left out */
};

/*
 * A sealed file in memory that is as the one behind `fd`, with holes where nobody looks, and cut off behind that; the caller's.
 * -EFBIG: it would be larger; or as elf_file_open_fd().
 */
int elf_copy_make(int fd, const struct elf_copy_limit *limit);

#endif
