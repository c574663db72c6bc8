/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_numbers.c - which thread a thread number of a raw capture means.
 *
 * A thread keeps the number that the file gives it, unless another one here has it; then samples find it by an alias
 * (target/process.h), which begins when the number can not be the other's any more.
 */
#include <errno.h>
#include <stdlib.h>

#include "archive/archive.h"
#include "archive/archive_budget.h"
#include "archive/archive_reader.h"
#include "base/array.h"
#include "base/clock.h"
#include "target/process.h"

/*
 * A number is another's only when nothing has been heard of its thread for two seconds, after an END. So samples that
 * are a second older than that END are the one's, those after it the other's.
 */
#define BETWEEN_NS NS_PER_SEC

static int reserve_number(struct archive *archive, struct archive_image *image, uint32_t number)
{
	uint64_t more = image->count <= number ? number + 1 - image->count : 0;
	int err = archive_spend(archive, more * 2 * sizeof(*image->items));

	if (!err)
		err = array_reserve((void **)&image->items, &image->capacity, (size_t)number + 1,
				    sizeof(*image->items));
	if (err)
		return err;
	archive->texts->number_count += more;
	while (image->count <= number)
		image->items[image->count++] = (struct number_use){0};
	return 0;
}

static void take_number(struct archive_image *image, struct thread *thread, uint32_t number)
{
	struct number_pool *numbers = &thread->process->threads.numbers;

	thread->number = number;
	image->items[number].is_taken = true;
	if (numbers->top <= number)
		numbers->top = number + 1;
}

/* From now on, samples that say `said` are the thread's. */
static int add_alias(struct archive *archive, struct threads *threads, struct number_use *use,
		     struct thread_alias alias)
{
	const uint64_t end_ns = archive->facts.end_ns;

	if (use->has_owner)
		alias.since_ns = end_ns > BETWEEN_NS ? end_ns - BETWEEN_NS : 1;
	if (use->has_owner && alias.since_ns <= use->since_ns)
		alias.since_ns = use->since_ns + 1;
	if (archive_spend(archive, 2 * sizeof(alias)))
		return -E2BIG;
	if (ARRAY_ROOM(&threads->aliases))
		return -ENOMEM;
	threads->aliases.items[threads->aliases.count++] = alias;
	if (threads->numbers.top <= alias.said)
		threads->numbers.top = alias.said + 1;
	use->since_ns = alias.since_ns;
	use->owner = alias.number;
	use->has_owner = true;
	return 0;
}

static int number_new_thread(struct archive *archive, struct archive_image *image,
			     struct thread *thread, uint32_t said)
{
	uint32_t fresh = (uint32_t)image->count;
	int err;

	if (!image->items[said].has_owner && !image->items[said].is_taken) {
		take_number(image, thread, said);
		image->items[said].owner = said;
		image->items[said].has_owner = true;
		return 0;
	}
	err = reserve_number(archive, image, fresh);
	if (!err)
		take_number(image, thread, fresh);
	return err;
}

int archive_number_thread(struct archive *archive, struct archive_image *image,
			  struct thread *thread, uint32_t said, bool is_new)
{
	const struct number_use *use;
	int err = reserve_number(archive, image, said);

	if (!err && is_new)
		err = number_new_thread(archive, image, thread, said);
	if (err)
		return err;
	use = &image->items[said];
	if (use->has_owner && use->owner == thread->number)
		return 0;
	return add_alias(archive, &thread->process->threads, &image->items[said],
			 (struct thread_alias){.said = said, .number = thread->number});
}

static int compare_aliases(const void *a, const void *b)
{
	const struct thread_alias *left = a, *right = b;

	if (left->said != right->said)
		return left->said < right->said ? -1 : 1;
	return (left->since_ns > right->since_ns) - (left->since_ns < right->since_ns);
}

static void sort_aliases(struct threads *threads)
{
	if (threads->aliases.count)
		qsort(threads->aliases.items, threads->aliases.count,
		      sizeof(*threads->aliases.items), compare_aliases);
}

/*
 * What samples may say of a thread that ended: `said`, until `next_ns`. After that it was another's, of whom nothing is
 * known.
 */
static int end_use(struct threads *threads, const struct thread *const *by_number,
		   struct thread_alias use, uint64_t next_ns)
{
	const struct thread *thread =
		use.number < threads->numbers.top ? by_number[use.number] : NULL;
	uint64_t since_ns;

	if (!thread || !thread->died_ns || thread->died_ns > UINT64_MAX - BETWEEN_NS)
		return 0;
	since_ns = thread->died_ns + BETWEEN_NS;
	since_ns = since_ns > use.since_ns ? since_ns : use.since_ns + 1;
	if (since_ns >= next_ns)
		return 0;
	if (ARRAY_ROOM(&threads->aliases))
		return -ENOMEM;
	threads->aliases.items[threads->aliases.count++] =
		(struct thread_alias){since_ns, use.said, THREAD_NONE};
	return 0;
}

/* The aliases are sorted, and their end is where new ones go. */
static int end_uses(struct threads *threads, const struct thread *const *by_number)
{
	const size_t count = threads->aliases.count, top = threads->numbers.top;
	size_t at = 0, number;
	int err = 0;

	for (number = 0; number < top && !err; number++) {
		struct thread_alias use = {.said = (uint32_t)number, .number = (uint32_t)number};

		for (; at < count && threads->aliases.items[at].said == number && !err; at++) {
			err = end_use(threads, by_number, use, threads->aliases.items[at].since_ns);
			use = threads->aliases.items[at];
		}
		if (!err)
			err = end_use(threads, by_number, use, UINT64_MAX);
	}
	return err;
}

static int close_numbers(struct threads *threads)
{
	const struct thread **by_number = calloc(threads->numbers.top + 1UL, sizeof(*by_number));
	size_t i;
	int err;

	if (!by_number)
		return -ENOMEM;
	for (i = 0; i < threads->count; i++)
		by_number[threads->items[i]->number] = threads->items[i];
	sort_aliases(threads);
	err = end_uses(threads, by_number);
	sort_aliases(threads);
	free(by_number);
	return err;
}

int archive_close_numbers(struct archive *archive)
{
	size_t i;
	int err = 0;

	for (i = 0; i < processes_count(archive->processes) && !err; i++)
		err = close_numbers(&processes_at(archive->processes, i)->threads);
	return err;
}
