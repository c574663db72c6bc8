/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * odd_stack.c - odd_stack KIND: a program that runs on what is no stack, until it is killed.
 *
 *   garbage, changing    random words; they change all the time
 *   unmapped, beyond, kernel, unreadable, guarded    addresses that cannot be read: of nothing, of no form that addresses
 *                                                    have, of the kernel, of a page without rights, of one that
 *                                                    userfaultfd(2) would have to fill
 *   circle               a chain of frame pointers that comes back to its start
 *   scattered            a chain of frame pointers; who calls changes all the time, anywhere in a gigabyte of code
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "target.h"

#define BYTES (1UL << 20)
#define WORDS (BYTES / sizeof(uint64_t))
#define LINKS 1000
#define CODE_BYTES (1UL << 30)

static uint64_t *page;

static void __attribute__((noreturn)) run_on(uint64_t address)
{
	say_ready();
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\tmov %0, %%rbp\n1:\tpause\n\tjmp 1b" ::"r"(address));
#else
	__asm__ volatile("mov sp, %0\n\tmov x29, %0\n1:\tyield\n\tb 1b" ::"r"(address));
#endif
	__builtin_unreachable();
}

static void fill(uint64_t seed)
{
	size_t i;

	for (i = 0; i < WORDS; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		page[i] = seed >> (seed & 31);
	}
}

static uint64_t middle(void)
{
	return (uint64_t)(uintptr_t)(page + WORDS / 2);
}

static uint64_t garbage(void)
{
	fill(1);
	return middle();
}

static void *change(void *argument)
{
	uint64_t seed;

	for (seed = 1;; seed++)
		fill(seed);
	return argument;
}

static uint64_t changing(void)
{
	pthread_t thread;

	fill(1);
	if (pthread_create(&thread, NULL, change, NULL))
		exit(1);
	return middle();
}

static uint64_t unmapped(void)
{
	munmap(page, BYTES);
	return middle();
}

static uint64_t beyond(void)
{
	return 1ULL << 63;
}

static uint64_t kernel(void)
{
	return 0xffffffff81000000ULL;
}

static uint64_t unreadable(void)
{
	mprotect(page, BYTES, PROT_NONE);
	return middle();
}

/* Nobody ever fills the page. */
static uint64_t guarded(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register all = {
		.range = {.start = (uint64_t)(uintptr_t)page, .len = BYTES},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &all))
		perror("userfaultfd");
	return middle();
}

static uint64_t circle(void)
{
	size_t i;

	for (i = 0; i < LINKS; i++) {
		page[2 * i] = (uint64_t)(uintptr_t)(page + 2 * ((i + 1) % LINKS));
		page[2 * i + 1] = (uint64_t)(uintptr_t)circle + 1;
	}
	return (uint64_t)(uintptr_t)page;
}

static uint64_t *code;

static void *scatter(void *argument)
{
	uint64_t seed = 1;
	size_t i;

	for (i = 0;; i = (i + 1) % LINKS) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		page[2 * i + 1] = (uint64_t)(uintptr_t)code + (seed >> 16) % CODE_BYTES;
	}
	return argument;
}

static uint64_t scattered(void)
{
	pthread_t thread;
	size_t i;

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; i < LINKS; i++)
		page[2 * i] = (uint64_t)(uintptr_t)(page + 2 * (i + 1));
	if (code == MAP_FAILED || pthread_create(&thread, NULL, scatter, NULL))
		exit(1);
	return (uint64_t)(uintptr_t)page;
}

static const struct {
	const char *name;
	uint64_t (*make)(void);
} kinds[] = {
	{"garbage", garbage}, {"changing", changing}, {"unmapped", unmapped},
	{"beyond", beyond},   {"kernel", kernel},     {"unreadable", unreadable},
	{"guarded", guarded}, {"circle", circle},     {"scattered", scattered},
};

int main(int argc, char **argv)
{
	size_t i;

	page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || argc < 2)
		return 1;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			run_on(kinds[i].make());
	return 1;
}
