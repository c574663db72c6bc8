/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spawner.c - spends its time between vfork and exec: in the child of a vfork, which works on its parent's stack, and in that
 * of a posix_spawn, which has 20000 descriptors to close before it runs `true`.
 *
 *   main ── call_vfork ── hot_vfork_child        main ── call_posix_spawn ── ...
 */
#include <spawn.h>
#include <sys/wait.h>

#include "target.h"

#define CLOSES 20000

extern char **environ;
static volatile uint64_t sink;

__attribute__((noinline)) static void hot_vfork_child(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 500; i++)
		WORK(x);
	sink += x;
}

__attribute__((noinline)) static void call_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		hot_vfork_child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	sink++;
}

__attribute__((noinline)) static void call_posix_spawn(const posix_spawn_file_actions_t *actions)
{
	char *arguments[] = {"true", NULL};
	pid_t pid;

	if (posix_spawnp(&pid, "true", actions, NULL, arguments, environ))
		exit(1);
	waitpid(pid, NULL, 0);
	sink++;
}

int main(void)
{
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < CLOSES; i++)
		posix_spawn_file_actions_addclose(&actions, 100 + i % 100);
	say_ready();
	for (;;) {
		call_vfork();
		call_posix_spawn(&actions);
	}
}
