/* SPDX-License-Identifier: BSD-2-Clause */
/* command.c - see command.h. */
#include "target/command.h"

#include "base/fd.h"
#include "base/limits.h"
#include "target/account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
	pid_t pid; /* 0: reaped */
	int go_fd; /* closing it without a byte makes the child leave */
	int end_fd; /* readable when it has ended */
	int error_fd; /* the errno of a failed exec; the end of file: exec has succeeded */
	bool is_released;
	int status;
};

/*
 * Takes the profiler's signal handlers off: a signal that waits for the mask to be restored must
 * not make the child clean up what is the profiler's. What is ignored (nohup) stays so.
 */
static void drop_handlers(void)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;
	size_t i;

	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		if (!sigaction(handled[i], NULL, &action) && action.sa_handler != SIG_IGN)
			signal(handled[i], SIG_DFL);
}

/* The child's side; never returns. */
static void run_child(int go_fd, int error_fd, char *const argv[], const struct account *user,
		      const struct command_legacy *legacy)
{
	int err = 0;
	char go;

	if (read(go_fd, &go, 1) != 1)
		_exit(127);
	drop_handlers();
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (legacy->mask)
		sigprocmask(SIG_SETMASK, legacy->mask, NULL);
	if (legacy->limits)
		limits_restore(legacy->limits);
	if (user->is_set)
		err = account_become(user);
	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	(void)fd_write_all(error_fd, &err, sizeof(err));
	_exit(127);
}

static int open_pipes(int go[2], int error[2])
{
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		int err = -errno;

		fd_close(&go[0]);
		fd_close(&go[1]);
		return err;
	}
	return 0;
}

int command_start(struct command **out, char *const argv[], const struct account *user,
		  const struct command_legacy *legacy)
{
	struct command *command = calloc(1, sizeof(*command));
	int go[2], error[2], err;

	if (!command)
		return -ENOMEM;
	err = open_pipes(go, error);
	if (err) {
		free(command);
		return err;
	}
	command->pid = fork();
	if (command->pid == 0) {
		close(go[1]);
		close(error[0]);
		run_child(go[0], error[1], argv, user, legacy);
	}
	err = command->pid < 0 ? -errno : 0;
	fd_close(&go[0]);
	fd_close(&error[1]);
	command->go_fd = go[1];
	command->error_fd = error[0];
	command->end_fd = err ? -1 : (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (!err && command->end_fd < 0)
		err = -errno;
	if (err) {
		if (command->pid < 0)
			command->pid = 0;
		command_close(command);
		return err;
	}
	*out = command;
	return 0;
}

int command_fd(const struct command *command)
{
	return command->end_fd;
}

pid_t command_pid(const struct command *command)
{
	return command->pid;
}

static int as_shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int command_wait(struct command *command, bool block, int *status)
{
	int raw;
	pid_t got;

	if (command->pid) {
		got = waitpid(command->pid, &raw, block ? 0 : WNOHANG);
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		command->pid = 0;
		command->status = as_shell_status(raw);
	}
	*status = command->status;
	return 1;
}

int command_release(struct command *command)
{
	int err = 0, status;
	ssize_t got;

	if (fd_write_all(command->go_fd, "g", 1))
		return -errno;
	fd_close(&command->go_fd);
	command->is_released = true;
	do
		got = read(command->error_fd, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	fd_close(&command->error_fd);
	if (got != sizeof(err))
		return 0;
	(void)command_wait(command, true, &status);
	return err;
}

void command_close(struct command *command)
{
	int status;

	if (!command)
		return;
	fd_close(&command->go_fd); /* a child that still waits sees the end and leaves */
	fd_close(&command->error_fd);
	fd_close(&command->end_fd);
	if (command->pid && !command->is_released)
		(void)command_wait(command, true, &status);
	free(command);
}
