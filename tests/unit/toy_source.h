/* SPDX-License-Identifier: BSD-2-Clause */
/* toy_source.h - a source that samples nothing and notes what is asked of it, one letter a call. */
#ifndef TESTS_TOY_SOURCE_H
#define TESTS_TOY_SOURCE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/source.h"

struct toy {
	char letter;
	int start_error, resume_error;
	bool is_unwanted, is_running;
};

static struct toy toys[2] = {{.letter = 'a'}, {.letter = 'b'}};
static char toy_calls[256]; /* "a+" and so on */

static void toy_note(const struct toy *toy, char call)
{
	size_t used = strlen(toy_calls);

	snprintf(toy_calls + used, sizeof(toy_calls) - used, "%s%c%c", used ? " " : "", toy->letter,
		 call);
}

static int toy_start(void *state)
{
	struct toy *toy = state;

	toy_note(toy, '+');
	toy->is_running = !toy->start_error;
	return toy->start_error;
}

static int toy_resume(void *state)
{
	struct toy *toy = state;

	toy_note(toy, 'r');
	toy->is_running = !toy->resume_error;
	return toy->resume_error;
}

static void toy_pause(void *state)
{
	toy_note(state, 'p');
	((struct toy *)state)->is_running = false;
}

static void toy_stop(void *state)
{
	toy_note(state, '-');
	((struct toy *)state)->is_running = false;
}

static int toy_follow_cpus(void *state)
{
	toy_note(state, 'c');
	return 0;
}

static void toy_close(void *state)
{
	toy_note(state, 'x');
}

#define TOY(number, program)                                                                       \
	static int toy_open_##number(void **state, struct kernel_side *kernel,                     \
				     const struct source_config *config)                           \
	{                                                                                          \
		(void)kernel;                                                                      \
		(void)config;                                                                      \
		*state = &toys[number];                                                            \
		toy_note(*state, 'o');                                                             \
		return 0;                                                                          \
	}                                                                                          \
	static bool toy_is_wanted_##number(const struct source_config *config)                     \
	{                                                                                          \
		return config->period_ns && !toys[number].is_unwanted;                             \
	}                                                                                          \
	static const char *const toy_programs_##number[] = {program, NULL};                        \
	static const struct source toy_source_##number = {                                         \
		.name = "toy",                                                                     \
		.event = "nothing",                                                                \
		.programs = toy_programs_##number,                                                 \
		.is_wanted = toy_is_wanted_##number,                                               \
		.open = toy_open_##number,                                                         \
		.start = toy_start,                                                                \
		.pause = toy_pause,                                                                \
		.resume = toy_resume,                                                              \
		.follow_cpus = toy_follow_cpus,                                                    \
		.stop = toy_stop,                                                                  \
		.close = toy_close,                                                                \
	}

TOY(0, "on_toy");
TOY(1, "on_other_toy");

#endif
