/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_images.c - the program images of a raw capture, with their threads, mappings and entries.
 *
 * What is said of an image, or of a thread, again and again is put together: later times and names replace earlier
 * ones, what is not known replaces nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/archive_budget.h"
#include "archive/archive_reader.h"
#include "base/array.h"
#include "base/shared_text.h"
#include "buffer/entry.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

/* No Linux has more threads at once; and so many numbers in all may belong to threads that are missing. */
#define MAX_NUMBERS (1U << 22)
/* Images of one process id are in a list, and come in its order. */
#define MAX_LIFE_STEPS (1ULL << 27)
/* ---- images -------------------------------------------------------------------------- */

struct image_key {
	uint32_t tgid, exec_id;
	uint64_t key_ns;
};

static struct image_key read_key(struct unpacker *in)
{
	struct image_key key;

	key.tgid = (uint32_t)unpack_number(in, INT_MAX);
	key.key_ns = unpack_number(in, UINT64_MAX);
	key.exec_id = (uint32_t)unpack_number(in, UINT32_MAX);
	return key;
}

static struct process *find_image(const struct archive *archive, const struct image_key *key)
{
	return processes_find(archive->processes, key->tgid, key->key_ns, key->exec_id);
}

/* What is remembered of it; NULL: no memory. */
static struct archive_image *image_of(struct archive *archive, const struct process *process)
{
	struct archive_texts *texts = archive->texts;
	size_t need = (size_t)process->number + 1;

	if (array_reserve((void **)&texts->images.items, &texts->images.capacity, need,
			  sizeof(*texts->images.items)))
		return NULL;
	while (texts->images.count < need)
		texts->images.items[texts->images.count++] = (struct archive_image){0};
	return &texts->images.items[process->number];
}

/*
 * Whether a thread of that number may come in. Threads take many times the memory that they take in a file, and numbers
 * that nobody has take memory, too; so both are limited to what no honest file has.
 */
static bool is_welcome(const struct archive *archive, const struct image_key *key, uint32_t said)
{
	const struct archive_texts *texts = archive->texts;
	const struct process *process = find_image(archive, key);
	uint64_t numbers = texts->number_count;

	if (!process && processes_life_steps(archive->processes) > MAX_LIFE_STEPS &&
	    processes_latest(archive->processes, key->tgid))
		return false;
	if (process && process->number < texts->images.count)
		numbers -= texts->images.items[process->number].count;
	return numbers + said < processes_thread_count(archive->processes) + MAX_NUMBERS;
}

/* ---- threads --------------------------------------------------------------------------- */

static uint64_t if_known(uint64_t time_ns, uint64_t before_ns)
{
	return time_ns ? time_ns : before_ns;
}

static void read_name(struct unpacker *in, char name[THREAD_NAME_BYTES])
{
	char said[THREAD_NAME_BYTES];

	unpack_text(in, said, sizeof(said));
	if (said[0])
		memcpy(name, said, sizeof(said));
}

static void read_thread_facts(struct unpacker *in, struct thread *thread)
{
	uint64_t cpu_ns;

	thread->born_ns = if_known(unpack_number(in, UINT64_MAX), thread->born_ns);
	thread->died_ns = if_known(unpack_number(in, UINT64_MAX), thread->died_ns);
	cpu_ns = unpack_number(in, UINT64_MAX);
	if (!in->error && cpu_ns < thread->cpu_first_ns)
		thread->cpu_first_ns = cpu_ns;
	cpu_ns = unpack_number(in, INT64_MAX);
	if (cpu_ns > thread->cpu_last_ns)
		thread->cpu_last_ns = cpu_ns;
	read_name(in, thread->name);
	read_name(in, thread->name_before);
}

static void skip_thread_facts(struct unpacker *in)
{
	struct thread none = {0};

	read_thread_facts(in, &none);
}

static void read_thread(struct archive *archive, struct unpacker *in, const struct image_key *key,
			struct process **process)
{
	struct gb_task task = {
		.tgid = key->tgid, .group_start_ns = key->key_ns, .exec_id = key->exec_id};
	uint32_t said = (uint32_t)unpack_number(in, MAX_NUMBERS - 1);
	size_t before = processes_thread_count(archive->processes);
	struct archive_image *image;
	struct thread *thread;
	bool is_new;

	task.tid = (uint32_t)unpack_number(in, INT_MAX);
	task.start_ns = unpack_number(in, UINT64_MAX);
	if (!in->error && !is_welcome(archive, key, said)) {
		archive->texts->refused++;
		skip_thread_facts(in);
		return;
	}
	if (!in->error)
		in->error = processes_thread(archive->processes, &task, &thread);
	if (in->error)
		return;
	is_new = processes_thread_count(archive->processes) > before;
	if (is_new)
		in->error = archive_spend(archive, ARCHIVE_THREAD_BYTES);
	/* Not of this image, though so named: its key is that of a thread met before. */
	if (*process && *process != thread->process) {
		in->error = -EBADMSG;
		return;
	}
	*process = thread->process;
	image = in->error ? NULL : image_of(archive, thread->process);
	if (in->error)
		return;
	in->error = image ? archive_number_thread(archive, image, thread, said, is_new) : -ENOMEM;
	if (!in->error)
		read_thread_facts(in, thread);
}

/* ---- processes ------------------------------------------------------------------------- */

static void note_code(struct object *object, uint64_t offset, uint64_t bytes)
{
	if (bytes <= object->code_bytes)
		return;
	object->code_offset = offset;
	object->code_bytes = bytes;
}

static void add_mapping(struct archive *archive, struct unpacker *in, struct process *process,
			const struct mapping *mapping)
{
	const size_t before = process->space.count;

	note_code(mapping->object, mapping->offset, mapping->end - mapping->start);
	in->error = address_space_add(&process->space, mapping);
	if (!in->error && process->space.count > before)
		in->error = archive_spend(archive,
					  (process->space.count - before) * ARCHIVE_MAPPING_BYTES);
}

/* `process` NULL: what is said is left out. */
static void read_space(struct archive *archive, struct unpacker *in, struct process *process)
{
	const struct archive_texts *texts = archive->texts;
	uint64_t count = archive_unpack_count(in), i;

	for (i = 0; i < count && !in->error; i++) {
		struct mapping mapping = {.start = unpack_number(in, UINT64_MAX)};
		uint64_t size = unpack_number(in, UINT64_MAX - mapping.start), file;

		mapping.end = mapping.start + size;
		mapping.offset = unpack_number(in, UINT64_MAX);
		mapping.from_ns = unpack_number(in, UINT64_MAX);
		file = unpack_number(in, MAX_ITEMS);
		if (in->error)
			return;
		/* The file's section is damaged, so its mappings are not there. */
		if (!process || file >= texts->files.count || !texts->files.items[file])
			continue;
		mapping.object = texts->files.items[file];
		add_mapping(archive, in, process, &mapping);
	}
}

/* What is said of the image itself. */
struct image_facts {
	uint32_t life;
	uint64_t born_ns, died_ns;
	bool is_kernel, is_root;
	char name[THREAD_NAME_BYTES];
	char *cmdline; /* owned */
};

static char *unpack_shared(struct unpacker *in)
{
	char *text = unpack_string(in), *shared = NULL;

	if (text) {
		shared = shared_text_new(text, strnlen(text, PROCESS_CMDLINE_BYTES));
		if (!shared)
			in->error = -ENOMEM;
	}
	free(text);
	return shared;
}

static void read_image_facts(struct unpacker *in, struct image_facts *facts)
{
	facts->life = (uint32_t)unpack_number(in, INT_MAX);
	facts->born_ns = unpack_number(in, UINT64_MAX);
	facts->died_ns = unpack_number(in, UINT64_MAX);
	facts->is_kernel = unpack_number(in, 1) != 0;
	facts->is_root = unpack_number(in, 1) != 0;
	unpack_text(in, facts->name, sizeof(facts->name));
	facts->cmdline = unpack_shared(in);
}

static void apply_image_facts(struct process *process, struct image_facts *facts)
{
	process->born_ns = if_known(facts->born_ns, process->born_ns);
	process->died_ns = if_known(facts->died_ns, process->died_ns);
	process->is_kernel = process->is_kernel || facts->is_kernel;
	process->is_root = process->is_root || facts->is_root;
	if (facts->name[0])
		memcpy(process->name, facts->name, sizeof(process->name));
	if (!facts->cmdline)
		return;
	shared_text_drop(process->cmdline);
	process->cmdline = facts->cmdline;
	facts->cmdline = NULL;
}

static void read_process(struct archive *archive, struct unpacker *in)
{
	struct image_key key = read_key(in);
	struct process *process = find_image(archive, &key);
	bool is_new = !process;
	struct image_facts facts = {0};
	uint64_t threads, i;

	read_image_facts(in, &facts);
	threads = archive_unpack_count(in);
	for (i = 0; i < threads && !in->error; i++)
		read_thread(archive, in, &key, &process);
	/* Without threads, and not met before: the section that said more of it is damaged. */
	if (!in->error && process && is_new)
		in->error = archive_spend(archive, ARCHIVE_IMAGE_BYTES);
	if (!in->error && process && is_new)
		process->life = processes_choose_life(archive->processes, process, facts.life);
	if (!in->error && process)
		apply_image_facts(process, &facts);
	shared_text_drop(facts.cmdline);
	if (!in->error)
		read_space(archive, in, process);
}

void archive_read_processes(struct archive *archive, struct unpacker *in)
{
	while (!in->error && in->at < in->end)
		read_process(archive, in);
}

/* ---- lives ------------------------------------------------------------------------------ */

static void read_life(struct archive *archive, struct unpacker *in)
{
	struct image_key key = read_key(in), parent;
	struct process *process = find_image(archive, &key);
	uint64_t flags = unpack_number(in, ARCHIVE_LIFE_EXECED | ARCHIVE_LIFE_ENDED);
	struct process_end end = {.is_known = flags & ARCHIVE_LIFE_ENDED};

	parent = read_key(in);
	end.status = (int32_t)unpack_number(in, UINT32_MAX);
	end.max_rss_bytes = unpack_number(in, INT64_MAX);
	/* The image's section may be damaged. */
	if (in->error || !process)
		return;
	process->is_execed = process->is_execed || (flags & ARCHIVE_LIFE_EXECED);
	if (parent.tgid)
		process->parent =
			(struct process_parent){parent.tgid, parent.exec_id, parent.key_ns};
	if (end.is_known)
		process->end = end;
}

void archive_read_lives(struct archive *archive, struct unpacker *in)
{
	while (!in->error && in->at < in->end)
		read_life(archive, in);
}

/* ---- entries --------------------------------------------------------------------------- */

int archive_need_buffer(struct archive *archive, struct process *process)
{
	const struct profile_buffer_config config = {
		.memory = archive->memory,
		.process_id = process->tgid,
		.period_ns = archive->facts.interval_ns,
	};

	return process->buffer ? 0 : profile_buffer_open(&process->buffer, &config);
}

/* Its entries go on at number `first`: what is missing before it is counted. */
static void begin_run(struct archive *archive, struct archive_image *image, uint64_t first)
{
	if (image->has_entries && first > image->next_entry)
		archive->lost_blocks += first - image->next_entry;
	if (!image->has_entries || first != image->next_entry)
		image->is_torn = true;
	image->has_entries = true;
	image->next_entry = first;
}

static void put_entry(struct archive *archive, const struct process *process,
		      struct archive_image *image, struct unpacker entry)
{
	size_t size = (size_t)(entry.end - entry.at);

	image->next_entry++;
	if (image->is_torn && !(*entry.at & ENTRY_RESTART)) {
		archive->lost_blocks++;
		return;
	}
	image->is_torn = profile_buffer_put_entry(process->buffer, entry.at, size) != 0;
	archive->lost_blocks += image->is_torn;
}

static int spend_on_buffer(struct archive *archive, const struct process *process)
{
	if (process->buffer)
		return 0;
	return archive_spend(archive,
			     process->died_ns ? ARCHIVE_ENDED_BUFFER_BYTES : ARCHIVE_BUFFER_BYTES);
}

static void read_run(struct archive *archive, struct unpacker *in, struct process *process,
		     uint64_t first)
{
	struct archive_image *image = image_of(archive, process);

	in->error = image ? spend_on_buffer(archive, process) : -ENOMEM;
	if (!in->error)
		in->error = archive_need_buffer(archive, process);
	if (!in->error)
		begin_run(archive, image, first);
	while (!in->error && in->at < in->end) {
		size_t size = (size_t)unpack_number(in, SIZE_MAX);
		const uint8_t *bytes = unpack_bytes(in, size);

		if (!in->error && !size)
			in->error = -EBADMSG;
		if (!in->error)
			put_entry(archive, process, image,
				  (struct unpacker){bytes, bytes + size, 0});
	}
	/* As a rule this is all: no room is kept for more. */
	if (process->died_ns && process->buffer)
		profile_buffer_finish(process->buffer);
}

/* A run of an image whose section is damaged. */
static void drop_run(struct archive *archive, struct unpacker run)
{
	uint64_t entries = 0;

	while (!run.error && run.at < run.end) {
		unpack_bytes(&run, (size_t)unpack_number(&run, SIZE_MAX));
		entries += !run.error;
	}
	archive->lost_blocks += entries ? entries : 1;
}

void archive_read_blocks(struct archive *archive, struct unpacker *in)
{
	while (!in->error && in->at < in->end) {
		struct image_key key = read_key(in);
		struct process *process = find_image(archive, &key);
		uint64_t first = unpack_number(in, INT64_MAX);
		size_t size = (size_t)unpack_number(in, SIZE_MAX);
		const uint8_t *bytes = unpack_bytes(in, size);
		struct unpacker run = {.at = bytes};

		if (in->error)
			return;
		run.end = bytes + size;
		if (process)
			read_run(archive, &run, process, first);
		else
			drop_run(archive, run);
		in->error = run.error;
	}
}
