/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.c - demo [SECONDS]: a small program to look at in a profiler: a picture is drawn by two
 * painters, a librarian sorts and hashes words, a clock ticks once in a while.
 *
 *   main ── waits
 *   painter-1, painter-2 ── paint_picture ── paint_row ── mandelbrot_depth, colour_of
 *   librarian ── tidy_library ── shuffle_words, sort_words ── compare_words; hash_words
 *   clock ── sleeps, wakes every 100 ms for count_seconds
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "target.h"

#define WIDTH 320
#define HEIGHT 200
#define WORDS 4000

static uint64_t end_ns;
static volatile uint64_t sink;

static int mandelbrot_depth(double cx, double cy)
{
	double x = 0, y = 0;
	int depth = 0;

	while (x * x + y * y < 4 && depth < 200) {
		double next = x * x - y * y + cx;

		y = 2 * x * y + cy;
		x = next;
		depth++;
	}
	return depth;
}

static uint32_t colour_of(int depth)
{
	double angle = depth * 0.03;

	return (uint32_t)(127 + 127 * sin(angle)) << 16 | (uint32_t)(127 + 127 * cos(angle)) << 8;
}

static void paint_row(uint32_t *row, int y)
{
	for (int x = 0; x < WIDTH; x++)
		row[x] = colour_of(mandelbrot_depth(x * 3.0 / WIDTH - 2.2, y * 2.4 / HEIGHT - 1.2));
}

static void *paint_picture(void *name)
{
	uint32_t row[WIDTH];

	pthread_setname_np(pthread_self(), name);
	while (now_ns() < end_ns) {
		for (int y = 0; y < HEIGHT; y++) {
			paint_row(row, y);
			sink += row[y % WIDTH];
		}
	}
	return NULL;
}

struct word {
	char text[24];
};

static int compare_words(const void *a, const void *b)
{
	return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

static void shuffle_words(struct word *words, unsigned int *seed)
{
	for (int i = 0; i < WORDS; i++)
		snprintf(words[i].text, sizeof(words[i].text), "word-%08x",
			 (unsigned int)rand_r(seed));
}

static void sort_words(struct word *words)
{
	qsort(words, WORDS, sizeof(words[0]), compare_words);
}

static void hash_words(const struct word *words)
{
	uint64_t hash = 14695981039346656037ULL;

	for (int round = 0; round < 20; round++)
		for (int i = 0; i < WORDS; i++)
			for (const char *c = words[i].text; *c; c++)
				hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
	sink += hash;
}

static void *tidy_library(void *name)
{
	static struct word words[WORDS];
	unsigned int seed = 1;

	pthread_setname_np(pthread_self(), name);
	while (now_ns() < end_ns) {
		shuffle_words(words, &seed);
		sort_words(words);
		hash_words(words);
	}
	return NULL;
}

static void *count_seconds(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (now_ns() < end_ns) {
		sink++;
		sleep_ns(100 * NS_PER_MS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		void *(*run)(void *name);
		const char *name;
	} parts[] = {
		{paint_picture, "painter-1"},
		{paint_picture, "painter-2"},
		{tidy_library, "librarian"},
		{count_seconds, "clock"},
	};
	pthread_t threads[4];

	end_ns = deadline_ns(argc, argv, 1);
	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, parts[i].run, (void *)parts[i].name))
			return 1;
	say_ready();
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
