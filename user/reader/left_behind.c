/* SPDX-License-Identifier: BSD-2-Clause */
/* left_behind.c - see left_behind.h. */
#include "reader/left_behind.h"

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

void left_behind_add(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)left_behind_has_room();
	if (waitpid(child, NULL, WNOHANG) == 0 && left.count < LEFT_BEHIND_MAX)
		left.items[left.count++] = child;
}
