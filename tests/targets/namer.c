/* SPDX-License-Identifier: BSD-2-Clause */
/* namer.c - namer THREADS: threads that change their names as often as they can, until they are killed. */
#include <pthread.h>
#include <sys/prctl.h>

#include "target.h"

static void *rename_for_ever(void *argument)
{
	unsigned int i;

	for (i = 0;; i++)
		prctl(PR_SET_NAME, i & 1 ? "\x1b]0;odd\x07" : "../../even");
	return argument;
}

int main(int argc, char **argv)
{
	int i, count = (int)number_argument(argc, argv, 1, 1);
	pthread_t thread;

	for (i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, rename_for_ever, NULL))
			return 1;
	say_ready();
	pause();
	return 0;
}
