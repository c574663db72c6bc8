/* SPDX-License-Identifier: BSD-2-Clause */
/* dies.h - asserts that something is asserted. After cmocka.h. */
#ifndef GECKOBPF_TESTS_DIES_H
#define GECKOBPF_TESTS_DIES_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether `misuse`, in a process of its own, ends that process by an assertion. */
static inline void assert_dies(void (*misuse)(void *context), void *context)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		close(STDERR_FILENO);
		misuse(context);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

#endif
