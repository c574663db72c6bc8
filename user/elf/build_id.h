/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id.h - the GNU build id of an ELF file: the linker's hash of its contents, 20 bytes as a rule. */
#ifndef GECKOBPF_ELF_BUILD_ID_H
#define GECKOBPF_ELF_BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>

#define BUILD_ID_MAX_BYTES 20

struct build_id {
	uint8_t size; /* 0: none known */
	uint8_t bytes[BUILD_ID_MAX_BYTES];
};

/* Reads it from the notes of the file behind `fd`. 0; -ENOENT: the file has none; -ENOEXEC: not ELF; -errno. */
int build_id_read(int fd, struct build_id *out);

bool build_id_equal(const struct build_id *a, const struct build_id *b);

#endif
