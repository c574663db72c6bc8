/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loader.c - loader LEFT.so RIGHT.so: loads both, calls their hot functions for a few milliseconds, and unloads them; then again in the
 * other order, so that each comes to lie where the other was.
 *
 *   main ── load_and_run ── run_both ── left_hot or right_hot ── called_back
 */
#include <dlfcn.h>

#include "target.h"

#define ROUND_NS (50 * NS_PER_MS)

typedef uint64_t hot_function(uint64_t (*callback)(uint64_t), uint64_t x);

__attribute__((noinline)) static uint64_t called_back(uint64_t x)
{
	WORK(x);
	return x;
}

static hot_function *load(const char *path, const char *name, void **library)
{
	hot_function *hot;

	*library = dlopen(path, RTLD_NOW);
	hot = *library ? (hot_function *)dlsym(*library, name) : NULL;
	if (!hot)
		exit(1);
	return hot;
}

__attribute__((noinline)) static uint64_t run_both(hot_function *left, hot_function *right,
						   uint64_t x)
{
	uint64_t end_ns = now_ns() + ROUND_NS;

	while (now_ns() < end_ns)
		x = right(called_back, left(called_back, x));
	return x;
}

__attribute__((noinline)) static uint64_t load_and_run(char **paths, int is_left_first, uint64_t x)
{
	void *libraries[2];
	hot_function *left = NULL, *right;

	if (is_left_first)
		left = load(paths[0], "left_hot", &libraries[0]);
	right = load(paths[1], "right_hot", &libraries[1]);
	if (!is_left_first)
		left = load(paths[0], "left_hot", &libraries[0]);
	x = run_both(left, right, x);
	dlclose(libraries[0]);
	dlclose(libraries[1]);
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = 1;

	if (argc < 3)
		return 2;
	say_ready();
	for (int round = 0;; round++)
		x = load_and_run(argv + 1, round % 2, x);
}
