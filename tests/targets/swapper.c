/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swapper.c - swapper DIRECTORY LINK [USER]: makes a file of code in DIRECTORY, maps it, puts a symbolic link to LINK in its
 * place, and unmaps it, again and again, until it is killed. It does so as USER, a number.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "target.h"

#define PAGE 4096UL
#define GAP_NS (2 * NS_PER_MS)

/* Whoever opens `path` after that opens what `link` leads to. */
static int swap(const char *path, const char *link)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	void *code;

	if (fd < 0 || ftruncate(fd, (off_t)PAGE))
		return -1;
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED || rename(link, path))
		return -1;
	return munmap(code, PAGE);
}

int main(int argc, char **argv)
{
	char path[4096], link[4096];
	const int user = (int)number_argument(argc, argv, 3, 0);
	unsigned long i;

	if (argc < 3 || (user && (setgid((gid_t)user) || setuid((uid_t)user)))) {
		perror("swapper");
		return 1;
	}
	say_ready();
	for (i = 0;; i++) {
		snprintf(path, sizeof(path), "%s/%lu.so", argv[1], i);
		snprintf(link, sizeof(link), "%s/link", argv[1]);
		if (symlink(argv[2], link) || swap(path, link)) {
			perror(path);
			return 1;
		}
		sleep_ns(GAP_NS);
		unlink(path);
	}
}
