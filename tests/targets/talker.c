/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * talker.c - sends 8 MiB to a child of its own by TCP over IPv6, of which the child looks at the first bytes before it takes
 * them; and as much by a pair of Unix sockets.
 *
 * It prints "talked PARENT CHILD BYTES": the process ids, and what went by TCP.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "target.h"

#define BYTES (8UL << 20)
#define BLOCK (16UL << 10)
#define WORK_NS (30 * NS_PER_MS)

static char block[BLOCK];
static volatile uint64_t sink;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Samples, so that there is something to show. */
static void work(void)
{
	uint64_t x = 1, until = cpu_ns() + WORK_NS;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
}

static void send_all(int fd)
{
	size_t left;

	for (left = BYTES; left; left -= BLOCK)
		if (send(fd, block, BLOCK, 0) != (ssize_t)BLOCK)
			fail("send");
	close(fd);
}

static void receive_all(int fd)
{
	size_t got = 0;
	ssize_t size;

	if (recv(fd, block, 1, MSG_PEEK) != 1)
		fail("recv");
	while ((size = read(fd, block, BLOCK)) > 0)
		got += (size_t)size;
	if (got != BYTES)
		fail("read");
	close(fd);
}

static int listen_anywhere(struct sockaddr_in6 *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	*address = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)address, &size))
		fail("socket");
	return fd;
}

static void run_child(const struct sockaddr_in6 *address, int other)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		fail("connect");
	work();
	receive_all(fd);
	receive_all(other);
}

int main(void)
{
	struct sockaddr_in6 address;
	int listener = listen_anywhere(&address), pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		fail("socketpair");
	say_ready();
	work();
	child = fork();
	if (!child) {
		close(pair[0]);
		run_child(&address, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	send_all(accept(listener, NULL, NULL));
	send_all(pair[0]);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		fail("child");
	printf("talked %d %d %lu\n", (int)getpid(), (int)child, BYTES);
	return 0;
}
