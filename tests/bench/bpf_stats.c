/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf_stats.c - bpf_stats COMMAND [ARG...]: runs the command while the kernel counts the time of BPF programs.
 *
 * The same as kernel.bpf_stats_enabled=1, but by a descriptor that the command inherits: when it ends, however it ends, the
 * counting ends.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2) {
		fprintf(stderr, "usage: bpf_stats COMMAND [ARG...]\n");
		return 2;
	}
	fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (fd < 0) {
		fprintf(stderr, "bpf_stats: %s\n", strerror(-fd));
		return 1;
	}
	if (fcntl(fd, F_SETFD, 0)) {
		perror("bpf_stats");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
