/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - see process.h.
 *
 * Three indexes: threads by (tid, start, exec id), images by (tgid, start, exec id), and the latest image by tgid. The
 * thread met last is remembered, since samples come in runs.
 */
#include "target/process.h"
#include "base/array.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "geckobpf_abi.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

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
	uint32_t lives; /* images there have been under this tgid */
	struct process *process;
	bool out_of_memory;
	UT_hash_handle hh;
};

struct processes {
	struct process **items;
	size_t count, capacity;
	size_t thread_count;
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
		address_space_clear(&image->process.space);
		free(image->process.threads.items);
		free(image->process.cmdline);
		free(image);
	}
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
static void enter_life(struct latest_node *node, struct process *process)
{
	struct process **place = &node->process;

	while (*place && is_later(*place, process))
		place = &(*place)->previous;
	process->previous = *place;
	*place = process;
	process->life = node->lives++;
}

static int note_life(struct processes *processes, struct process *process)
{
	struct latest_node *node = find_latest(processes, process->tgid);

	if (node) {
		enter_life(node, process);
		return 0;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->tgid = process->tgid;
	enter_life(node, process);
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
	node->process.number = (uint32_t)processes->count;
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
	node->thread.number = (uint32_t)threads->count;
	HASH_ADD(hh, processes->threads, key, sizeof(node->key), node);
	if (node->out_of_memory) {
		free(node);
		return -ENOMEM;
	}
	threads->items[threads->count++] = &node->thread;
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

size_t processes_count(const struct processes *processes)
{
	return processes->count;
}

struct process *processes_at(const struct processes *processes, size_t number)
{
	return processes->items[number];
}

size_t processes_thread_count(const struct processes *processes)
{
	return processes->thread_count;
}
