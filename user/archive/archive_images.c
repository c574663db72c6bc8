/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_images.c - the program images of a raw capture, with their threads, mappings and entries.
 *
 * What is said of an image, or of a thread, again and again is put together: later times and names replace earlier ones, what is
 * not known replaces nothing. A thread keeps the number that the file gives it, unless another one here has it; then samples find
 * it by an alias (target/process.h), which begins when the number can not be the other's any more.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "archive/archive_reader.h"
#include "base/array.h"
#include "base/clock.h"
#include "buffer/entry.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

/*
 * A number is another's only when nothing has been heard of its thread for two seconds, after an END. So samples that are a second
 * older than that END are the one's, those after it the other's.
 */
#define BETWEEN_NS NS_PER_SEC

/* No Linux has more threads at once; and so many numbers in all may belong to threads that are missing. */
#define MAX_NUMBERS (1U << 22)
/* Images of one process id are in a list, and come in its order. */
#define MAX_LIFE_STEPS (1ULL << 27)
/*
 * Mappings are searched one after the other, by each that comes and by who writes the profile: this is the sum, over all mappings,
 * of those that their image has before them. One image may have the 65,536 that the kernel allows at once (vm.max_map_count), or each
 * of 4,000 images a thousand.
 */
#define MAX_MAPPING_STEPS (1ULL << 31)

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
 * Whether a thread of that number may come in. Threads take many times the memory that they take in a file, and numbers that
 * nobody has take memory, too; so both are limited to what no honest file has.
 */
static bool is_welcome(const struct archive *archive, const struct image_key *key, uint32_t said)
{
	const struct archive_texts *texts = archive->texts;
	const struct process *process = find_image(archive, key);
	uint64_t threads = processes_thread_count(archive->processes),
		 numbers = texts->number_count;

	if (!process && processes_life_steps(archive->processes) > MAX_LIFE_STEPS &&
	    processes_latest(archive->processes, key->tgid))
		return false;
	if (process && process->number < texts->images.count)
		numbers -= texts->images.items[process->number].count;
	return threads < texts->max_threads && numbers + said < threads + MAX_NUMBERS;
}

/* ---- thread numbers -------------------------------------------------------------------- */

static int reserve_number(struct archive *archive, struct archive_image *image, uint32_t number)
{
	int err = array_reserve((void **)&image->items, &image->capacity, (size_t)number + 1,
				sizeof(*image->items));

	if (err)
		return err;
	if (image->count <= number)
		archive->texts->number_count += number + 1 - image->count;
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
static int add_alias(const struct archive *archive, struct threads *threads, struct number_use *use,
		     struct thread_alias alias)
{
	const uint64_t end_ns = archive->facts.end_ns;

	if (use->has_owner)
		alias.since_ns = end_ns > BETWEEN_NS ? end_ns - BETWEEN_NS : 1;
	if (use->has_owner && alias.since_ns <= use->since_ns)
		alias.since_ns = use->since_ns + 1;
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

static int number_thread(struct archive *archive, struct thread *thread, uint32_t said, bool is_new)
{
	struct archive_image *image = image_of(archive, thread->process);
	const struct number_use *use;
	int err = image ? reserve_number(archive, image, said) : -ENOMEM;

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

/* What samples may say of a thread that ended: `said`, until `next_ns`. After that it was another's, of whom nothing is known. */
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
	struct thread *thread;

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
	/* Not of this image, though so named: its key is that of a thread met before. */
	if (*process && *process != thread->process) {
		in->error = -EBADMSG;
		return;
	}
	*process = thread->process;
	in->error = number_thread(archive, thread, said,
				  processes_thread_count(archive->processes) > before);
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
	struct archive_texts *texts = archive->texts;

	if (texts->mapping_steps + process->space.count > MAX_MAPPING_STEPS) {
		texts->refused++;
		return;
	}
	texts->mapping_steps += process->space.count;
	note_code(mapping->object, mapping->offset, mapping->end - mapping->start);
	in->error = address_space_add(&process->space, mapping);
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

static void read_image_facts(struct unpacker *in, struct image_facts *facts)
{
	facts->life = (uint32_t)unpack_number(in, INT_MAX);
	facts->born_ns = unpack_number(in, UINT64_MAX);
	facts->died_ns = unpack_number(in, UINT64_MAX);
	facts->is_kernel = unpack_number(in, 1) != 0;
	facts->is_root = unpack_number(in, 1) != 0;
	unpack_text(in, facts->name, sizeof(facts->name));
	facts->cmdline = unpack_string(in);
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
	free(process->cmdline);
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
		process->life = processes_choose_life(archive->processes, process, facts.life);
	if (!in->error && process)
		apply_image_facts(process, &facts);
	free(facts.cmdline);
	if (!in->error)
		read_space(archive, in, process);
}

void archive_read_processes(struct archive *archive, struct unpacker *in)
{
	while (!in->error && in->at < in->end)
		read_process(archive, in);
}

/* ---- entries --------------------------------------------------------------------------- */

int archive_need_buffer(struct archive *archive, struct process *process)
{
	const struct profile_buffer_config config = {
		.memory = profile_memory_controller(archive->memory),
		.cache = profile_memory_cache(archive->memory),
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

static void read_run(struct archive *archive, struct unpacker *in, struct process *process,
		     uint64_t first)
{
	struct archive_image *image = image_of(archive, process);

	in->error = image ? archive_need_buffer(archive, process) : -ENOMEM;
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
