/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wordy.c - wordy CHILDREN: a process with 6 MB of arguments, and so many children that have the same; they sleep until
 * they are killed.
 */
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/resource.h>

#include "target.h"

#define WORDS 47
#define WORD_BYTES 131000

/* Becomes itself, with more arguments. */
static int begin(char **argv)
{
	static char word[WORD_BYTES + 1];
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	char *words[WORDS + 3] = {argv[0], argv[1]};
	int i;

	memset(word, 'A', WORD_BYTES);
	for (i = 0; i < WORDS; i++)
		words[2 + i] = word;
	if (setrlimit(RLIMIT_STACK, &all))
		perror("setrlimit");
	execv("/proc/self/exe", words);
	perror("exec");
	return 1;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2)
		return begin(argv);
	for (i = 0; i < atoi(argv[1]); i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
		}
	say_ready();
	pause();
	return 0;
}
