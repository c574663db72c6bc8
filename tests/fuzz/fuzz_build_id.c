/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_build_id.c - any bytes as an ELF file whose build id is asked for. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/build_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct build_id id = {.size = 99};
	int err;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	err = build_id_read(fd, &id);
	if (err ? id.size != 99 : !id.size || id.size > BUILD_ID_MAX_BYTES)
		abort();
	if (err && err != -ENOENT && err != -ENOEXEC)
		abort();
	return 0;
}
