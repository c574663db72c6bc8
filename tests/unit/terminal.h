/* SPDX-License-Identifier: BSD-2-Clause */
/* terminal.h - a pseudo-terminal for tests of what is shown on one; included after cmocka.h. */
#ifndef GECKOBPF_TESTS_TERMINAL_H
#define GECKOBPF_TESTS_TERMINAL_H

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static inline void open_terminal(int *ours, int *theirs)
{
	struct termios mode;

	*ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ours >= 0);
	assert_int_equal(grantpt(*ours), 0);
	assert_int_equal(unlockpt(*ours), 0);
	*theirs = open(ptsname(*ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*theirs >= 0);
	assert_int_equal(tcgetattr(*theirs, &mode), 0);
	cfmakeraw(&mode);
	assert_int_equal(tcsetattr(*theirs, TCSANOW, &mode), 0);
}

/* Reads from a terminal until as much as `want` has come; what it writes is not there at once. */
static inline void assert_terminal_says(int fd, const char *want)
{
	size_t length = strlen(want), used = 0;
	char text[1024];

	while (used < length) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t got;

		assert_int_equal(poll(&ready, 1, 5000), 1);
		got = read(fd, text + used, sizeof(text) - 1 - used);
		assert_true(got > 0);
		used += (size_t)got;
	}
	text[used] = '\0';
	assert_string_equal(text, want);
}

#endif
