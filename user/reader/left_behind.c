/* SPDX-License-Identifier: BSD-2-Clause */
/* left_behind.c - see left_behind.h. */
#include "reader/left_behind.h"

#include "base/clock.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t owner;
	size_t count;
	pid_t items[LEFT_BEHIND_MAX];
} left;

/* Whatever wait(2) says but "not yet", it is over. */
static void forget_ended(void)
{
	size_t kept = 0, i;

	for (i = 0; i < left.count; i++)
		if (waitpid(left.items[i], NULL, WNOHANG) == 0)
			left.items[kept++] = left.items[i];
	left.count = kept;
}

bool left_behind_has_room(void)
{
	if (left.owner != getpid()) {
		left.owner = getpid();
		left.count = 0;
	}
	forget_ended();
	return left.count < LEFT_BEHIND_MAX / 2;
}

/* Whether it has ended by then. */
static bool ends_until(pid_t child, uint64_t until_ns)
{
	while (waitpid(child, NULL, WNOHANG) == 0) {
		if (clock_now_ns() >= until_ns)
			return false;
		(void)usleep(100);
	}
	return true;
}

void left_behind_add(pid_t child, uint64_t wait_ns)
{
	const uint64_t until_ns = clock_now_ns() + wait_ns;

	(void)kill(child, SIGKILL);
	(void)left_behind_has_room();
	if (!ends_until(child, until_ns) && left.count < LEFT_BEHIND_MAX)
		left.items[left.count++] = child;
}
