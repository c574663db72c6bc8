/* SPDX-License-Identifier: BSD-2-Clause */
/* archive_write.c - see archive.h. archive_read.c and archive_images.c read field by field what is written here. */
#include "archive/archive.h"
#include "archive/archive_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/leb128.h"
#include "base/pack.h"
#include "base/progress.h"
#include "buffer/profile_buffer.h"
#include "target/object.h"
#include "target/process.h"

/* Of one section, about: small enough to lose little with it, large enough to be compressed well. */
#define RECORDS_BYTES (256U * 1024)
#define KERNEL_BYTES (256U * 1024)
/* Of one PROCESS record: an image may have any number of them. */
#define MAX_THREADS 2048
#define MAX_MAPPINGS 4096

/* ---- gathering ------------------------------------------------------------------------- */

int archive_flush(struct archive_writer *writer)
{
	struct packer *records = &writer->records;
	int err = records->error ? records->error : writer->entries.error;

	if (!err && records->count)
		err = section_write(writer->sections, (uint16_t)writer->kind, records->items,
				    records->count);
	records->count = 0;
	if (!err)
		err = writer->lives.error;
	if (!err && writer->lives.count)
		err = section_write(writer->sections, ARCHIVE_LIVES, writer->lives.items,
				    writer->lives.count);
	writer->lives.count = 0;
	return err;
}

void archive_writer_clear(struct archive_writer *writer)
{
	packer_clear(&writer->records);
	packer_clear(&writer->entries);
	packer_clear(&writer->lives);
}

/* To be called before a record of this kind is packed. */
static int begin_record(struct archive_writer *writer, enum archive_kind kind)
{
	int err = 0;

	if (kind != writer->kind || writer->records.count >= RECORDS_BYTES)
		err = archive_flush(writer);
	writer->kind = kind;
	return err;
}

/* ---- facts and the kernel -------------------------------------------------------------- */

int archive_write_head(struct archive_writer *writer, const struct recording_facts *facts)
{
	int err = begin_record(writer, ARCHIVE_HEAD);

	if (err)
		return err;
	archive_pack_head(&writer->records, facts);
	return archive_flush(writer);
}

int archive_write_losses(struct archive_writer *writer, const struct loss *losses, size_t count)
{
	int err = count ? begin_record(writer, ARCHIVE_LOSSES) : 0;

	if (err || !count)
		return err;
	archive_pack_losses(&writer->records, losses, count);
	return archive_flush(writer);
}

int archive_write_end(struct archive_writer *writer, const struct recording_facts *facts,
		      bool is_last)
{
	int err = begin_record(writer, ARCHIVE_END);

	if (err)
		return err;
	archive_pack_end(&writer->records, facts, is_last);
	return archive_flush(writer);
}

/* Up to KERNEL_BYTES; what cannot be read is the end. */
static size_t read_part(int fd, char *part)
{
	size_t used = 0;
	ssize_t got;

	do {
		got = read(fd, part + used, KERNEL_BYTES - used);
		if (got > 0)
			used += (size_t)got;
	} while (used < KERNEL_BYTES && (got > 0 || (got < 0 && errno == EINTR)));
	return used;
}

/* Part by part: a raw capture is what is left to be made when memory is short. */
int archive_write_kernel(struct archive_writer *writer, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = archive_flush(writer);
	char *part = fd >= 0 ? malloc(KERNEL_BYTES) : NULL;
	size_t size;

	if (!err && fd >= 0 && !part)
		err = -ENOMEM;
	while (part && !err && (size = read_part(fd, part)) != 0)
		err = section_write(writer->sections, ARCHIVE_KERNEL, part, size);
	free(part);
	fd_close(&fd);
	return err;
}

/* ---- files and processes --------------------------------------------------------------- */

int archive_write_file(struct archive_writer *writer, const struct object *object)
{
	struct packer *packer = &writer->records;
	int err = begin_record(writer, ARCHIVE_FILE);

	if (err)
		return err;
	pack_number(packer, object->serial);
	pack_number(packer, object->kind);
	pack_number(packer, object->device);
	pack_number(packer, object->inode);
	pack_number(packer, object->build_id.size);
	pack_bytes(packer, object->build_id.bytes, object->build_id.size);
	pack_string(packer, object->path);
	return packer->error;
}

static void pack_key(struct packer *packer, const struct process *process)
{
	pack_number(packer, process->tgid);
	pack_number(packer, process->key_ns);
	pack_number(packer, process->exec_id);
}

static void pack_thread(struct packer *packer, const struct thread *thread)
{
	pack_number(packer, thread->number);
	pack_number(packer, thread->tid);
	pack_number(packer, thread->key_ns);
	pack_number(packer, thread->born_ns);
	pack_number(packer, thread->died_ns);
	pack_number(packer, thread->cpu_first_ns);
	pack_number(packer, thread->cpu_last_ns);
	pack_string(packer, thread->name);
	pack_string(packer, thread->name_before);
}

static void pack_mapping(struct packer *packer, const struct mapping *mapping)
{
	pack_number(packer, mapping->start);
	pack_number(packer, mapping->end - mapping->start);
	pack_number(packer, mapping->offset);
	pack_number(packer, mapping->from_ns);
	pack_number(packer, mapping->object->serial);
}

static void pack_image(struct packer *packer, const struct process *process, bool with_cmdline)
{
	pack_key(packer, process);
	pack_number(packer, process->life);
	pack_number(packer, process->born_ns);
	pack_number(packer, process->died_ns);
	pack_number(packer, process->is_kernel);
	pack_number(packer, process->is_root);
	pack_string(packer, process->name);
	pack_string(packer, with_cmdline ? process->cmdline : NULL);
}

/* The next threads from *at on, all or those that changed, as many as a record may have. */
static void pack_threads(struct packer *packer, const struct threads *threads, bool all, size_t *at)
{
	size_t end = *at, count = 0;

	for (; end < threads->count && count < MAX_THREADS; end++)
		count += all || threads->items[end]->is_changed;
	pack_number(packer, count);
	for (; *at < end; ++*at) {
		struct thread *thread = threads->items[*at];

		if (!all && !thread->is_changed)
			continue;
		pack_thread(packer, thread);
		thread->is_changed = thread->is_changed && all;
	}
}

static void pack_mappings(struct packer *packer, const struct mapping_list *list, size_t *at)
{
	size_t left = list->count - *at, count = left < MAX_MAPPINGS ? left : MAX_MAPPINGS;

	pack_number(packer, count);
	for (; count; count--)
		pack_mapping(packer, &list->items[(*at)++].mapping);
}

/* Who made it and how it ended, if that is known. */
static void pack_life(struct packer *packer, const struct process *process)
{
	const struct process_parent *parent = &process->parent;
	const struct process_end *end = &process->end;

	if (!parent->tgid && !process->is_execed && !end->is_known)
		return;
	pack_key(packer, process);
	pack_number(packer, (process->is_execed ? ARCHIVE_LIFE_EXECED : 0) |
				    (end->is_known ? ARCHIVE_LIFE_ENDED : 0));
	pack_number(packer, parent->tgid);
	pack_number(packer, parent->key_ns);
	pack_number(packer, parent->exec_id);
	pack_number(packer, (uint32_t)end->status);
	pack_number(packer, end->max_rss_bytes);
}

/* In as many records as it takes. */
static int write_image(struct archive_writer *writer, struct process *process,
		       const struct mapping_list *mappings, bool all)
{
	bool with_cmdline = all || !process->archived.has_cmdline;
	size_t thread = 0, mapping = 0;
	int err;

	do {
		err = begin_record(writer, ARCHIVE_PROCESS);
		if (err)
			return err;
		pack_image(&writer->records, process, with_cmdline);
		pack_threads(&writer->records, &process->threads, all, &thread);
		pack_mappings(&writer->records, mappings, &mapping);
		with_cmdline = false;
	} while (thread < process->threads.count || mapping < mappings->count);
	return 0;
}

int archive_write_process(struct archive_writer *writer, struct process *process, bool all)
{
	struct mapping_list mappings = {0};
	int err;

	err = address_space_list(&process->space, all ? 0 : process->space.archived, &mappings);
	if (!err)
		err = write_image(writer, process, &mappings, all);
	free(mappings.items);
	if (err)
		return err;
	pack_life(&writer->lives, process);
	if (!all) {
		process->archived.has_cmdline = process->cmdline != NULL;
		process->space.archived = process->space.sequence;
		process->is_changed = false;
	}
	return writer->records.error;
}

/* ---- entries --------------------------------------------------------------------------- */

struct block_writer {
	struct archive_writer *writer;
	const struct process *process;
	struct process_archived *archived;
	uint64_t first; /* number of the first of `entries` */
};

/* The entries that were gathered become a record. */
static int end_run(struct block_writer *blocks)
{
	struct packer *records = &blocks->writer->records, *entries = &blocks->writer->entries;
	int err = entries->error;

	if (!err && entries->count)
		err = begin_record(blocks->writer, ARCHIVE_BLOCKS);
	if (!err && entries->count) {
		pack_key(records, blocks->process);
		pack_number(records, blocks->first);
		pack_number(records, entries->count);
		pack_bytes(records, entries->items, entries->count);
		err = records->error;
	}
	entries->count = 0;
	blocks->first = blocks->archived->entry;
	return err;
}

static int on_block(void *context, uint64_t next, const uint8_t *bytes, size_t size)
{
	struct block_writer *blocks = context;
	struct packer *entries = &blocks->writer->entries;

	pack_number(entries, size);
	pack_bytes(entries, bytes, size);
	blocks->archived->at = next;
	blocks->archived->entry++;
	blocks->writer->written++;
	return entries->count < RECORDS_BYTES ? entries->error : end_run(blocks);
}

/* Goes on at the oldest entry that is there, if those before it were overwritten. */
static void skip_overwritten(struct archive_writer *writer, const struct process *process,
			     struct process_archived *archived)
{
	const struct profile_buffer_state state = profile_buffer_get_state(process->buffer);

	if (archived->entry >= state.cleared)
		return;
	writer->missed += state.cleared - archived->entry;
	archived->entry = state.cleared;
}

int archive_write_blocks(struct archive_writer *writer, const struct process *process,
			 struct process_archived *archived)
{
	struct block_writer blocks = {.writer = writer, .process = process, .archived = archived};
	uint64_t damaged;
	int err;

	if (!process->buffer)
		return 0;
	skip_overwritten(writer, process, archived);
	if (archived->entry == profile_buffer_get_state(process->buffer).pushed)
		return 0;
	blocks.first = archived->entry;
	err = profile_buffer_each(process->buffer, archived->at, on_block, &blocks);
	if (!err)
		err = end_run(&blocks);
	damaged = profile_buffer_get_state(process->buffer).damaged;
	archived->entry += damaged;
	writer->damaged += damaged;
	return err;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int write_all_blocks(struct archive_writer *writer, const struct recording *recording,
			    struct progress *progress)
{
	size_t count = processes_count(recording->processes), i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		struct process_archived archived = {0};

		err = archive_write_blocks(writer, processes_at(recording->processes, i),
					   &archived);
		progress_add(progress, 1);
	}
	return err;
}

/* The facts, with one more if something could not be read. */
static int write_end(struct archive_writer *writer, const struct recording *recording)
{
	struct recording_facts facts = *recording->facts;
	const struct recording_fact damaged = {
		.name = "capture_samples_lost_damaged",
		.value = recording_damaged(recording->processes),
	};
	struct recording_fact *log;
	int err;

	if (!damaged.value)
		return archive_write_end(writer, &facts, true);
	log = calloc(facts.log_count + 1, sizeof(*log));
	if (!log)
		return -ENOMEM;
	if (facts.log_count)
		memcpy(log, facts.log, facts.log_count * sizeof(*log));
	log[facts.log_count++] = damaged;
	facts.log = log;
	err = archive_write_end(writer, &facts, true);
	free(log);
	return err;
}

static int write_all(struct archive_writer *writer, const struct recording *recording,
		     const char *kallsyms, struct progress *progress)
{
	int err = archive_write_head(writer, recording->facts);
	size_t i;

	if (!err && kallsyms)
		err = archive_write_kernel(writer, kallsyms);
	for (i = 0; i < objects_count(recording->objects) && !err; i++)
		err = archive_write_file(writer, objects_at(recording->objects, i));
	for (i = 0; i < processes_count(recording->processes) && !err; i++)
		err = archive_write_process(writer, processes_at(recording->processes, i), true);
	if (!err)
		err = write_all_blocks(writer, recording, progress);
	if (!err)
		err = archive_write_losses(writer, recording->facts->losses,
					   recording->facts->loss_count);
	return err ? err : write_end(writer, recording);
}

int archive_write(struct section_writer *sections, const struct recording *recording,
		  const char *kallsyms, struct progress *progress)
{
	struct archive_writer writer = {.sections = sections};
	struct progress part;
	int err;

	progress_split(&part, progress, 1, "writing", processes_count(recording->processes) + 1);
	err = write_all(&writer, recording, kallsyms, &part);
	archive_writer_clear(&writer);
	return err;
}
