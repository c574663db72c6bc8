/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_read.c - see archive.h.
 *
 * A section that makes no sense is counted and left out; only missing memory and errors of the file end the reading. What
 * sections refer to comes before them in the file; if it was damaged, they are left out, too.
 */
#include "archive/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pack.h"
#include "base/progress.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#define MAX_ITEMS (1U << 24) /* threads of a process, and the like */
#define MAX_INTERVAL_NS (10 * NS_PER_SEC) /* longer ones are refused by readers of profiles */
#define MEMORY_LIMIT (1ULL << 50) /* what is in the file is to be kept whole */

/* Strings and arrays that the facts point to, and files by their number. */
struct archive_texts {
	char **items;
	size_t count, capacity;
	const char **threads, **features;
	struct time_range *pauses;
	struct profile_fact *log;
	struct {
		struct object **items;
		size_t count, capacity;
	} files;
	bool has_head;
};

/* ---- facts --------------------------------------------------------------------------- */

/* A text that lives as long as the archive; NULL: none. */
static const char *keep_text(struct archive *archive, struct unpacker *in)
{
	struct archive_texts *texts = archive->texts;
	char *text = unpack_string(in);

	if (!text)
		return NULL;
	if (ARRAY_ROOM(texts)) {
		in->error = -ENOMEM;
		free(text);
		return NULL;
	}
	texts->items[texts->count++] = text;
	return text;
}

/* An array of `count` zeroed items in place of *array. */
static int renew(void **array, uint64_t count, size_t item_bytes)
{
	void *items = calloc((size_t)count + 1, item_bytes);

	if (!items)
		return -ENOMEM;
	free(*array);
	*array = items;
	return 0;
}

/* How many items follow, each of at least one byte. */
static uint64_t unpack_count(struct unpacker *in)
{
	uint64_t count = unpack_number(in, MAX_ITEMS);

	if (count > (uint64_t)(in->end - in->at)) {
		in->error = -EBADMSG;
		return 0;
	}
	return count;
}

static void read_list(struct archive *archive, struct unpacker *in, const char ***list)
{
	uint64_t count = unpack_count(in), i;

	if (!in->error)
		in->error = renew((void **)list, count, sizeof(**list));
	for (i = 0; i < count && !in->error; i++) {
		(*list)[i] = keep_text(archive, in);
		/* It would end the list. */
		if (!(*list)[i] && !in->error)
			in->error = -EBADMSG;
	}
}

static void read_head(struct archive *archive, struct unpacker *in)
{
	struct profile_facts *facts = &archive->facts;

	facts->product = keep_text(archive, in);
	facts->version = keep_text(archive, in);
	facts->oscpu = keep_text(archive, in);
	facts->cpu_name = keep_text(archive, in);
	facts->physical_cpus = (uint32_t)unpack_number(in, UINT32_MAX);
	facts->logical_cpus = (uint32_t)unpack_number(in, UINT32_MAX);
	facts->start_real_ns = unpack_number(in, INT64_MAX);
	facts->start_ns = facts->end_ns = unpack_number(in, INT64_MAX);
	facts->is_cut = unpack_number(in, 1) != 0;
	facts->interval_ns = unpack_number(in, MAX_INTERVAL_NS);
	facts->buffer_bytes = unpack_number(in, UINT64_MAX);
	facts->duration_s = (double)unpack_number(in, UINT64_MAX) / 1e6;
	facts->include_args = (size_t)unpack_number(in, SIZE_MAX);
	read_list(archive, in, &archive->texts->threads);
	read_list(archive, in, &archive->texts->features);
	facts->threads = archive->texts->threads;
	facts->features = archive->texts->features;
	/* Older ones end here. */
	if (!in->error && in->at < in->end) {
		facts->boot_id = keep_text(archive, in);
		facts->began_ns = unpack_number(in, INT64_MAX);
	}
	if (!in->error && !facts->interval_ns)
		in->error = -EBADMSG;
	archive->texts->has_head = !in->error;
}

static void read_pauses(struct archive *archive, struct unpacker *in)
{
	struct archive_texts *texts = archive->texts;
	uint64_t count = unpack_count(in), i;

	if (!in->error)
		in->error = renew((void **)&texts->pauses, count, sizeof(*texts->pauses));
	for (i = 0; i < count && !in->error; i++) {
		texts->pauses[i].start_ns = unpack_number(in, INT64_MAX);
		texts->pauses[i].end_ns = unpack_number(in, INT64_MAX);
	}
	archive->facts.pauses = texts->pauses;
	archive->facts.pause_count = in->error ? 0 : (size_t)count;
}

static void read_log(struct archive *archive, struct unpacker *in)
{
	struct archive_texts *texts = archive->texts;
	uint64_t count = unpack_count(in), i;

	if (!in->error)
		in->error = renew((void **)&texts->log, count, sizeof(*texts->log));
	for (i = 0; i < count && !in->error; i++) {
		texts->log[i].name = keep_text(archive, in);
		texts->log[i].value = unpack_number(in, UINT64_MAX);
		texts->log[i].text = keep_text(archive, in);
		if (!texts->log[i].name && !in->error)
			in->error = -EBADMSG;
	}
	archive->facts.log = texts->log;
	archive->facts.log_count = in->error ? 0 : (size_t)count;
}

static void read_end(struct archive *archive, struct unpacker *in)
{
	archive->facts.end_ns = unpack_number(in, INT64_MAX);
	archive->facts.until_ns = unpack_number(in, INT64_MAX);
	read_pauses(archive, in);
	read_log(archive, in);
}

static void read_kernel(struct archive *archive, struct unpacker *in)
{
	int err = 0;

	if (archive->kallsyms_fd < 0)
		archive->kallsyms_fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (archive->kallsyms_fd < 0)
		err = -errno;
	if (!err)
		err = fd_write_all(archive->kallsyms_fd, in->at, (size_t)(in->end - in->at));
	in->error = err;
	in->at = in->end;
}

/* ---- files and processes ----------------------------------------------------------------- */

struct process *archive_find_image(const struct archive *archive, uint32_t tgid, uint64_t key_ns,
				   uint32_t exec_id)
{
	struct process *process = processes_latest(archive->processes, tgid);

	while (process && (process->key_ns != key_ns || process->exec_id != exec_id))
		process = process->previous;
	return process;
}

static int enter_file(struct archive *archive, size_t number, struct object *object)
{
	struct archive_texts *texts = archive->texts;
	int err = array_reserve((void **)&texts->files.items, &texts->files.capacity, number + 1,
				sizeof(*texts->files.items));

	if (err)
		return err;
	while (texts->files.count <= number)
		texts->files.items[texts->files.count++] = NULL;
	texts->files.items[number] = object;
	return 0;
}

static void read_file(struct archive *archive, struct unpacker *in)
{
	struct object_sighting sighting = {.is_recorded = true};
	struct build_id build_id = {0};
	struct object *object;
	uint64_t number = unpack_number(in, MAX_ITEMS);
	uint64_t kind = unpack_number(in, OBJECT_ANONYMOUS);
	const uint8_t *bytes;
	char *path;

	sighting.device = unpack_number(in, UINT64_MAX);
	sighting.inode = unpack_number(in, UINT64_MAX);
	build_id.size = (uint8_t)unpack_number(in, sizeof(build_id.bytes));
	bytes = unpack_bytes(in, build_id.size);
	if (bytes)
		memcpy(build_id.bytes, bytes, build_id.size);
	path = unpack_string(in);
	if (!in->error && !path)
		in->error = -EBADMSG;
	sighting.path = path;
	sighting.build_id = build_id.size ? &build_id : NULL;
	if (!in->error)
		in->error = objects_get(archive->objects, &sighting, &object);
	if (!in->error) {
		object->kind = (enum object_kind)kind;
		in->error = enter_file(archive, (size_t)number, object);
	}
	free(path);
}

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
	return archive_find_image(archive, key->tgid, key->key_ns, key->exec_id);
}

static void read_thread(struct archive *archive, struct unpacker *in, const struct image_key *key,
			struct process **process)
{
	struct gb_task task = {
		.tgid = key->tgid, .group_start_ns = key->key_ns, .exec_id = key->exec_id};
	uint32_t number = (uint32_t)unpack_number(in, MAX_ITEMS);
	struct thread *thread;

	task.tid = (uint32_t)unpack_number(in, INT_MAX);
	task.start_ns = unpack_number(in, UINT64_MAX);
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
	thread->number = number;
	if (thread->process->threads.numbers.top <= number)
		thread->process->threads.numbers.top = number + 1;
	thread->born_ns = unpack_number(in, UINT64_MAX);
	thread->died_ns = unpack_number(in, UINT64_MAX);
	thread->cpu_first_ns = unpack_number(in, UINT64_MAX);
	thread->cpu_last_ns = unpack_number(in, UINT64_MAX);
	unpack_text(in, thread->name, sizeof(thread->name));
	unpack_text(in, thread->name_before, sizeof(thread->name_before));
}

static void note_code(struct object *object, uint64_t offset, uint64_t bytes)
{
	if (bytes <= object->code_bytes)
		return;
	object->code_offset = offset;
	object->code_bytes = bytes;
}

static void read_space(struct archive *archive, struct unpacker *in, struct process *process)
{
	const struct archive_texts *texts = archive->texts;
	uint64_t count = unpack_count(in), i;

	address_space_clear(&process->space);
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
		if (file >= texts->files.count || !texts->files.items[file])
			continue;
		mapping.object = texts->files.items[file];
		note_code(mapping.object, mapping.offset, size);
		in->error = address_space_add(&process->space, &mapping);
	}
}

static void read_process(struct archive *archive, struct unpacker *in)
{
	struct image_key key = read_key(in);
	struct process *process = find_image(archive, &key), facts = {0};
	uint64_t threads, i;
	char *cmdline;

	facts.life = (uint32_t)unpack_number(in, UINT32_MAX);
	facts.born_ns = unpack_number(in, UINT64_MAX);
	facts.died_ns = unpack_number(in, UINT64_MAX);
	facts.is_kernel = unpack_number(in, 1) != 0;
	facts.is_root = unpack_number(in, 1) != 0;
	unpack_text(in, facts.name, sizeof(facts.name));
	cmdline = unpack_string(in);
	threads = unpack_count(in);
	for (i = 0; i < threads && !in->error; i++)
		read_thread(archive, in, &key, &process);
	if (!in->error && !process)
		in->error = -EBADMSG; /* an image without threads */
	if (in->error) {
		free(cmdline);
		return;
	}
	process->life = facts.life;
	process->born_ns = facts.born_ns;
	process->died_ns = facts.died_ns;
	process->is_kernel = facts.is_kernel;
	process->is_root = facts.is_root;
	memcpy(process->name, facts.name, sizeof(process->name));
	free(process->cmdline);
	process->cmdline = cmdline;
	read_space(archive, in, process);
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

static void read_blocks(struct archive *archive, struct unpacker *in)
{
	struct image_key key = read_key(in);
	struct process *process = find_image(archive, &key);

	if (!in->error && !process)
		in->error = -EBADMSG;
	if (!in->error)
		in->error = archive_need_buffer(archive, process);
	while (!in->error && in->at < in->end) {
		size_t size = (size_t)unpack_number(in, SIZE_MAX);
		const uint8_t *bytes = unpack_bytes(in, size);

		if (!in->error && !size)
			in->error = -EBADMSG;
		if (in->error)
			return;
		if (profile_buffer_put_entry(process->buffer, bytes, size))
			archive->lost_blocks++;
	}
}

/* ---- the file ---------------------------------------------------------------------------- */

static void (*const readers[])(struct archive *archive, struct unpacker *in) = {
	[ARCHIVE_HEAD] = read_head,     [ARCHIVE_KERNEL] = read_kernel,
	[ARCHIVE_FILE] = read_file,     [ARCHIVE_PROCESS] = read_process,
	[ARCHIVE_BLOCKS] = read_blocks, [ARCHIVE_END] = read_end,
};

/* 0, or what ends the reading. */
static int take_section(struct archive *archive, const struct section *section)
{
	struct unpacker in = {section->bytes, section->bytes + section->size, 0};

	if (section->kind >= sizeof(readers) / sizeof(readers[0]) || !readers[section->kind]) {
		archive->unknown_sections++;
		return 0;
	}
	if (!archive->texts->has_head && section->kind != ARCHIVE_HEAD)
		return -EBADMSG;
	readers[section->kind](archive, &in);
	if (in.error == -EBADMSG)
		archive->bad_sections++;
	return in.error == -EBADMSG ? 0 : in.error;
}

static int read_sections(struct archive *archive, struct section_reader *reader,
			 struct progress *progress)
{
	uint64_t before = section_reader_at(reader);
	struct section section;
	struct progress part;
	int got, err = 0;

	progress_split(&part, progress, 1, "reading", section_reader_size(reader) + 1);
	while (!err && (got = section_read(reader, &section)) != 0) {
		err = got < 0 ? got : take_section(archive, &section);
		progress_add(&part, section_reader_at(reader) - before);
		before = section_reader_at(reader);
	}
	progress_end(&part);
	archive->damage = section_reader_damage(reader);
	return err || archive->texts->has_head ? err : -EBADMSG;
}

static int open_archive(struct archive *archive)
{
	const struct profile_memory_config config = {.max_bytes = MEMORY_LIMIT, .compresses = true};
	int err;

	archive->texts = calloc(1, sizeof(*archive->texts));
	if (!archive->texts)
		return -ENOMEM;
	err = processes_open(&archive->processes);
	if (!err)
		err = objects_open(&archive->objects, 0);
	return err ? err : profile_memory_open(&archive->memory, &config);
}

int archive_read_head(struct archive *out, int fd)
{
	struct archive archive = {.kallsyms_fd = -1};
	struct section_reader *reader = NULL;
	struct section section;
	int err = section_reader_open(&reader, fd), got = 0;

	if (!err)
		archive.texts = calloc(1, sizeof(*archive.texts));
	if (!err && !archive.texts)
		err = -ENOMEM;
	while (!err && !archive.texts->has_head && (got = section_read(reader, &section)) > 0)
		err = take_section(&archive, &section);
	section_reader_close(reader);
	if (!err && !archive.texts->has_head)
		err = got < 0 ? got : -EBADMSG;
	if (err) {
		archive_close(&archive);
		return err;
	}
	*out = archive;
	return 0;
}

int archive_read(struct archive *out, int fd, struct progress *progress)
{
	struct archive archive = {.kallsyms_fd = -1};
	struct section_reader *reader = NULL;
	int err = section_reader_open(&reader, fd);

	if (!err)
		err = open_archive(&archive);
	if (!err)
		err = read_sections(&archive, reader, progress);
	section_reader_close(reader);
	if (err) {
		archive_close(&archive);
		return err;
	}
	*out = archive;
	return 0;
}

static void close_texts(struct archive_texts *texts)
{
	size_t i;

	if (!texts)
		return;
	for (i = 0; i < texts->count; i++)
		free(texts->items[i]);
	free(texts->items);
	free(texts->threads);
	free(texts->features);
	free(texts->pauses);
	free(texts->log);
	free(texts->files.items);
	free(texts);
}

void archive_close(struct archive *archive)
{
	size_t i;

	for (i = 0; archive->processes && i < processes_count(archive->processes); i++)
		profile_buffer_close(processes_at(archive->processes, i)->buffer);
	processes_close(archive->processes);
	objects_close(archive->objects);
	profile_memory_close(archive->memory);
	fd_close(&archive->kallsyms_fd);
	close_texts(archive->texts);
	memset(archive, 0, sizeof(*archive));
	archive->kallsyms_fd = -1;
}
