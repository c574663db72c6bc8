/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - runs a function in a child process, for tests that change what a process cannot change back.
 *
 * The child must not use cmocka's assertions: it tells its finding by the number it returns (0 to 255).
 */
#ifndef GECKOBPF_TESTS_CHILD_H
#define GECKOBPF_TESTS_CHILD_H

#include <sys/wait.h>
#include <unistd.h>

/* What `run` returned in the child, or -1 if the child was killed. */
static inline int in_child(int (*run)(void *context), void *context)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(run(context));
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
