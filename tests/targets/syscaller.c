/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscaller.c - syscaller [SECONDS]: spends nearly all its time in the kernel, in read(2) of 1 MiB
 * blocks from /dev/zero.
 */
#include <fcntl.h>

#include "target.h"

#define BLOCK_BYTES (1 << 20)

static char block[BLOCK_BYTES];

/* The C library read() has no frame: a walk along frame pointers misses who called it (this). */
static ssize_t read_block(int fd)
{
	return read(fd, block, sizeof(block));
}

static int fill_from_zero(int fd)
{
	for (int i = 0; i < 16; i++)
		if (read_block(fd) != BLOCK_BYTES)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror("/dev/zero");
		return 1;
	}
	say_ready();
	while (now_ns() < end)
		if (fill_from_zero(fd))
			return 1;
	return 0;
}
