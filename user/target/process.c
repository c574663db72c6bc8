/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - see process.h.
 *
 * Three indexes: threads by (tid, start, exec id), images by (tgid, start, exec id), and the latest image by tgid. The
 * thread met last is remembered, since samples come in runs.
 */
#include "target/process.h"
#include "base/array.h"
#include "base/shared_text.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "geckobpf_abi.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

#define MAX_LIVES_SEARCHED 256

/* What tells one thread, or one image, from all others. No padding: it is hashed as bytes. */
struct life_key {
	uint64_t start_ns;
	uint32_t id; /* tid or tgid */
	uint32_t exec_id;
};

struct thread_node {
	struct thread thread;
	struct life_key key;
	bool out_of_memory;
	UT_hash_handle hh;
};

struct process_node {
	struct process process;
	struct life_key key;
	bool out_of_memory;
	UT_hash_handle hh;
};

struct latest_node {
	uint32_t tgid;
	uint32_t lives; /* images there have been under this tgid: the next one's life */
	struct process *process;
	bool out_of_memory;
	UT_hash_handle hh;
};

struct processes {
	struct process **items;
	size_t count, capacity;
	size_t thread_count;
	uint64_t life_steps;
	struct number_pool numbers; /* of processes */
	struct thread_node *threads;
	struct process_node *images;
	struct latest_node *latest;
	struct thread_node *last_met;
};

int processes_open(struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	*out = processes;
	return 0;
}

static void free_image(struct process_node *image)
{
	address_space_clear(&image->process.space);
	number_pool_clear(&image->process.threads.numbers);
	free(image->process.threads.items);
	free(image->process.threads.aliases.items);
	shared_text_drop(image->process.cmdline);
	free(image);
}

void processes_close(struct processes *processes)
{
	struct thread_node *thread, *next_thread;
	struct process_node *image, *next_image;
	struct latest_node *latest, *next_latest;

	if (!processes)
		return;
	HASH_ITER (hh, processes->latest, latest, next_latest) {
		HASH_DEL(processes->latest, latest);
		free(latest);
	}
	HASH_ITER (hh, processes->threads, thread, next_thread) {
		HASH_DEL(processes->threads, thread);
		free(thread);
	}
	HASH_ITER (hh, processes->images, image, next_image) {
		HASH_DEL(processes->images, image);
		free_image(image);
	}
	number_pool_clear(&processes->numbers);
	free(processes->items);
	free(processes);
}

static struct latest_node *find_latest(const struct processes *processes, uint32_t tgid)
{
	struct latest_node *node;

	HASH_FIND(hh, processes->latest, &tgid, sizeof(tgid), node);
	return node;
}

/* Whether `a` began after `b`: a later process under the same id, or a later exec of the same process. */
static bool is_later(const struct process *a, const struct process *b)
{
	return a->key_ns != b->key_ns ? a->key_ns > b->key_ns : a->exec_id > b->exec_id;
}

/* Puts a new image where it belongs among those of its tgid, which lead from the latest back to the first. */
static void enter_life(struct processes *processes, struct latest_node *node,
		       struct process *process)
{
	struct process **place = &node->process;

	for (; *place && is_later(*place, process); processes->life_steps++)
		place = &(*place)->previous;
	process->previous = *place;
	*place = process;
	process->life = node->lives++;
}

static int note_life(struct processes *processes, struct process *process)
{
	struct latest_node *node = find_latest(processes, process->tgid);

	if (node) {
		enter_life(processes, node, process);
		return 0;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->tgid = process->tgid;
	enter_life(processes, node, process);
	HASH_ADD(hh, processes->latest, tgid, sizeof(node->tgid), node);
	if (node->out_of_memory) {
		free(node);
		return -ENOMEM;
	}
	return 0;
}

static int add_image(struct processes *processes, const struct life_key *key, struct process **out)
{
	struct process_node *node;

	if (ARRAY_ROOM(processes))
		return -ENOMEM;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->key = *key;
	node->process.tgid = key->id;
	node->process.exec_id = key->exec_id;
	node->process.key_ns = key->start_ns;
	node->process.is_changed = true;
	HASH_ADD(hh, processes->images, key, sizeof(node->key), node);
	if (node->out_of_memory) {
		free(node);
		return -ENOMEM;
	}
	if (note_life(processes, &node->process)) {
		HASH_DEL(processes->images, node);
		free(node);
		return -ENOMEM;
	}
	node->process.number = number_pool_take(&processes->numbers);
	processes->items[processes->count++] = &node->process;
	*out = &node->process;
	return 0;
}

static int get_image(struct processes *processes, const struct gb_task *task, struct process **out)
{
	const struct life_key key = {
		.start_ns = task->group_start_ns, .id = task->tgid, .exec_id = task->exec_id};
	struct process_node *node;

	HASH_FIND(hh, processes->images, &key, sizeof(key), node);
	if (!node)
		return add_image(processes, &key, out);
	*out = &node->process;
	return 0;
}

static int add_thread(struct processes *processes, const struct life_key *key,
		      struct process *process, struct thread_node **out)
{
	struct threads *threads = &process->threads;
	struct thread_node *node;

	if (ARRAY_ROOM(threads))
		return -ENOMEM;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->key = *key;
	node->thread.tid = key->id;
	node->thread.key_ns = key->start_ns;
	node->thread.cpu_first_ns = UINT64_MAX;
	node->thread.process = process;
	HASH_ADD(hh, processes->threads, key, sizeof(node->key), node);
	if (node->out_of_memory) {
		free(node);
		return -ENOMEM;
	}
	node->thread.number = number_pool_take(&threads->numbers);
	threads->items[threads->count++] = &node->thread;
	thread_note_changed(&node->thread);
	processes->thread_count++;
	*out = node;
	return 0;
}

int processes_thread(struct processes *processes, const struct gb_task *task, struct thread **out)
{
	const struct life_key key = {
		.start_ns = task->start_ns, .id = task->tid, .exec_id = task->exec_id};
	struct thread_node *node = processes->last_met;
	struct process *process;
	int err;

	if (!node || memcmp(&node->key, &key, sizeof(key)))
		HASH_FIND(hh, processes->threads, &key, sizeof(key), node);
	if (!node) {
		err = get_image(processes, task, &process);
		if (!err)
			err = add_thread(processes, &key, process, &node);
		if (err)
			return err;
	}
	processes->last_met = node;
	*out = &node->thread;
	return 0;
}

struct process *processes_latest(const struct processes *processes, uint32_t tgid)
{
	struct latest_node *node = find_latest(processes, tgid);

	return node ? node->process : NULL;
}

struct process *processes_find(const struct processes *processes, uint32_t tgid, uint64_t key_ns,
			       uint32_t exec_id)
{
	const struct life_key key = {.start_ns = key_ns, .id = tgid, .exec_id = exec_id};
	struct process_node *node;

	HASH_FIND(hh, processes->images, &key, sizeof(key), node);
	return node ? &node->process : NULL;
}

uint64_t processes_life_steps(const struct processes *processes)
{
	return processes->life_steps;
}

uint32_t processes_choose_life(const struct processes *processes, const struct process *process,
			       uint32_t wanted)
{
	struct latest_node *node = find_latest(processes, process->tgid);
	const struct process *other = node->process;
	uint32_t after_all = process->life; /* the next one, when it was met */
	bool is_taken = false;
	int i;

	for (i = 0; other && i < MAX_LIVES_SEARCHED; i++, other = other->previous) {
		if (other == process)
			continue;
		is_taken = is_taken || other->life == wanted;
		if (other->life >= after_all)
			after_all = other->life + 1;
	}
	/* Perhaps one of those that were not looked at has it. */
	if (is_taken || (other && wanted < after_all))
		wanted = after_all;
	if (node->lives <= wanted)
		node->lives = wanted + 1;
	return wanted;
}

size_t processes_count(const struct processes *processes)
{
	return processes->count;
}

struct process *processes_at(const struct processes *processes, size_t index)
{
	return processes->items[index];
}

size_t processes_thread_count(const struct processes *processes)
{
	return processes->thread_count;
}

uint32_t threads_resolve(const struct threads *threads, uint32_t said, uint64_t time_ns)
{
	const struct thread_alias *aliases = threads->aliases.items;
	size_t low = 0, high = threads->aliases.count;

	/* The last one that is not later. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct thread_alias *alias = &aliases[middle];

		if (alias->said < said || (alias->said == said && alias->since_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && aliases[low - 1].said == said ? aliases[low - 1].number : said;
}

int threads_number_for(struct threads *threads, const struct thread *thread, uint32_t *said)
{
	*said = thread->number;
	if (!threads->aliases.count)
		return 0;
	if (ARRAY_ROOM(&threads->aliases))
		return -ENOMEM;
	/* Behind all others: no number that was said is as large. */
	*said = threads->numbers.top++;
	threads->aliases.items[threads->aliases.count++] =
		(struct thread_alias){.said = *said, .number = thread->number};
	return 0;
}

/* ---- dropping ----------------------------------------------------------------- */

static void drop_thread(struct processes *processes, struct thread *thread)
{
	struct thread_node *node = (struct thread_node *)thread; /* its first member */

	if (processes->last_met == node)
		processes->last_met = NULL;
	HASH_DEL(processes->threads, node);
	free(node);
	processes->thread_count--;
}

/* The images after it lead past it from now on; the last image of a tgid takes what is known of the tgid with it. */
static void leave_life(struct processes *processes, struct process *process)
{
	struct latest_node *node = find_latest(processes, process->tgid);
	struct process **place = &node->process;

	while (*place != process)
		place = &(*place)->previous;
	*place = process->previous;
	if (node->process)
		return;
	HASH_DEL(processes->latest, node);
	free(node);
}

static void drop_process(struct processes *processes, struct process *process)
{
	struct process_node *node = (struct process_node *)process; /* its first member */
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		drop_thread(processes, process->threads.items[i]);
	leave_life(processes, process);
	number_pool_give(&processes->numbers, process->number);
	HASH_DEL(processes->images, node);
	free_image(node);
}

size_t processes_sweep(struct processes *processes,
		       bool (*goes)(void *context, struct process *process), void *context)
{
	size_t count = processes->count, kept = 0, i;

	for (i = 0; i < count; i++) {
		struct process *process = processes->items[i];

		if (goes(context, process))
			drop_process(processes, process);
		else
			processes->items[kept++] = process;
	}
	processes->count = kept;
	return count - kept;
}

size_t processes_sweep_threads(struct processes *processes, struct process *process,
			       bool (*goes)(void *context, const struct thread *thread),
			       void *context)
{
	struct threads *threads = &process->threads;
	size_t count = threads->count, kept = 0, i;

	for (i = 0; i < count; i++) {
		struct thread *thread = threads->items[i];

		if (!goes(context, thread)) {
			threads->items[kept++] = thread;
			continue;
		}
		number_pool_give(&threads->numbers, thread->number);
		drop_thread(processes, thread);
	}
	threads->count = kept;
	return count - kept;
}

/* ---- memory ------------------------------------------------------------------- */

#define ALLOCATION_BYTES 16 /* what the allocator needs for itself, and rounds up to, on average */
#define BUCKET_BYTES(head)                                                                         \
	((head) ? (size_t)(head)->hh.tbl->num_buckets * sizeof(UT_hash_bucket) : (size_t)0)

size_t processes_bytes(const struct processes *processes)
{
	size_t bytes = processes->capacity * sizeof(struct process *), i;

	bytes += processes->count * (sizeof(struct process_node) + ALLOCATION_BYTES);
	bytes += processes->thread_count * (sizeof(struct thread_node) + ALLOCATION_BYTES);
	bytes += HASH_COUNT(processes->latest) * (sizeof(struct latest_node) + ALLOCATION_BYTES);
	bytes += BUCKET_BYTES(processes->threads) + BUCKET_BYTES(processes->images) +
		 BUCKET_BYTES(processes->latest);
	for (i = 0; i < processes->count; i++) {
		const struct process *process = processes->items[i];

		bytes += process->threads.capacity * sizeof(struct thread *) + ALLOCATION_BYTES;
		bytes += process->threads.numbers.capacity * sizeof(uint32_t);
		bytes += address_space_bytes(&process->space);
		if (process->cmdline)
			bytes += shared_text_bytes(process->cmdline);
	}
	return bytes;
}
