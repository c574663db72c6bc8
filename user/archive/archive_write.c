/* SPDX-License-Identifier: BSD-2-Clause */
/* archive_write.c - see archive.h. archive_read.c reads field by field what is written here. */
#include "archive/archive.h"

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

/* Of one section: small enough to lose little with it, large enough to be compressed well. */
#define BLOCKS_BYTES (256U * 1024)
#define KERNEL_BYTES (256U * 1024)

static int write_packed(struct section_writer *writer, enum archive_kind kind,
			struct packer *packer)
{
	int err = packer->error;

	if (!err)
		err = section_write(writer, (uint16_t)kind, packer->items, packer->count);
	packer_clear(packer);
	return err;
}

/* ---- facts ------------------------------------------------------------------------- */

static void pack_list(struct packer *packer, const char *const *texts)
{
	size_t count = 0, i;

	while (texts && texts[count])
		count++;
	pack_number(packer, count);
	for (i = 0; i < count; i++)
		pack_string(packer, texts[i]);
}

int archive_write_head(struct section_writer *writer, const struct profile_facts *facts)
{
	struct packer packer = {0};

	pack_string(&packer, facts->product);
	pack_string(&packer, facts->version);
	pack_string(&packer, facts->oscpu);
	pack_string(&packer, facts->cpu_name);
	pack_number(&packer, facts->physical_cpus);
	pack_number(&packer, facts->logical_cpus);
	pack_number(&packer, facts->start_real_ns);
	pack_number(&packer, facts->start_ns);
	pack_number(&packer, facts->is_cut);
	pack_number(&packer, facts->interval_ns);
	pack_number(&packer, facts->buffer_bytes);
	pack_number(&packer, (uint64_t)(facts->duration_s * 1e6));
	pack_number(&packer, facts->include_args);
	pack_list(&packer, facts->threads);
	pack_list(&packer, facts->features);
	pack_string(&packer, facts->boot_id);
	pack_number(&packer, facts->began_ns);
	return write_packed(writer, ARCHIVE_HEAD, &packer);
}

int archive_write_end(struct section_writer *writer, const struct profile_facts *facts)
{
	struct packer packer = {0};
	size_t i;

	pack_number(&packer, facts->end_ns);
	pack_number(&packer, facts->until_ns);
	pack_number(&packer, facts->pause_count);
	for (i = 0; i < facts->pause_count; i++) {
		pack_number(&packer, facts->pauses[i].start_ns);
		pack_number(&packer, facts->pauses[i].end_ns);
	}
	pack_number(&packer, facts->log_count);
	for (i = 0; i < facts->log_count; i++) {
		pack_string(&packer, facts->log[i].name);
		pack_number(&packer, facts->log[i].value);
		pack_string(&packer, facts->log[i].text);
	}
	return write_packed(writer, ARCHIVE_END, &packer);
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
int archive_write_kernel(struct section_writer *writer, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	char *part = fd >= 0 ? malloc(KERNEL_BYTES) : NULL;
	size_t size;

	if (fd >= 0 && !part)
		err = -ENOMEM;
	while (part && !err && (size = read_part(fd, part)) != 0)
		err = section_write(writer, ARCHIVE_KERNEL, part, size);
	free(part);
	fd_close(&fd);
	return err;
}

/* ---- files and processes --------------------------------------------------------------- */

int archive_write_file(struct section_writer *writer, const struct object *object)
{
	struct packer packer = {0};

	pack_number(&packer, object->number);
	pack_number(&packer, object->kind);
	pack_number(&packer, object->device);
	pack_number(&packer, object->inode);
	pack_number(&packer, object->build_id.size);
	pack_bytes(&packer, object->build_id.bytes, object->build_id.size);
	pack_string(&packer, object->path);
	return write_packed(writer, ARCHIVE_FILE, &packer);
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

static void pack_space(struct packer *packer, const struct address_space *space)
{
	size_t i;

	pack_number(packer, space->count);
	for (i = 0; i < space->count; i++) {
		const struct mapping *mapping = &space->items[i];

		pack_number(packer, mapping->start);
		pack_number(packer, mapping->end - mapping->start);
		pack_number(packer, mapping->offset);
		pack_number(packer, mapping->from_ns);
		pack_number(packer, mapping->object->number);
	}
}

int archive_write_process(struct section_writer *writer, const struct process *process)
{
	struct packer packer = {0};
	size_t i;

	pack_key(&packer, process);
	pack_number(&packer, process->life);
	pack_number(&packer, process->born_ns);
	pack_number(&packer, process->died_ns);
	pack_number(&packer, process->is_kernel);
	pack_number(&packer, process->is_root);
	pack_string(&packer, process->name);
	pack_string(&packer, process->cmdline);
	pack_number(&packer, process->threads.count);
	for (i = 0; i < process->threads.count; i++)
		pack_thread(&packer, process->threads.items[i]);
	pack_space(&packer, &process->space);
	return write_packed(writer, ARCHIVE_PROCESS, &packer);
}

/* ---- entries --------------------------------------------------------------------------- */

struct block_writer {
	struct section_writer *writer;
	const struct process *process;
	struct packer packer;
	size_t key_bytes;
	uint64_t *from;
};

static int flush_blocks(struct block_writer *blocks)
{
	int err = blocks->packer.error;

	if (!err && blocks->packer.count > blocks->key_bytes)
		err = section_write(blocks->writer, ARCHIVE_BLOCKS, blocks->packer.items,
				    blocks->packer.count);
	blocks->packer.count = blocks->key_bytes;
	return err;
}

static int on_block(void *context, uint64_t next, const uint8_t *bytes, size_t size)
{
	struct block_writer *blocks = context;

	pack_number(&blocks->packer, size);
	pack_bytes(&blocks->packer, bytes, size);
	*blocks->from = next;
	return blocks->packer.count < BLOCKS_BYTES ? blocks->packer.error : flush_blocks(blocks);
}

int archive_write_blocks(struct section_writer *writer, const struct process *process,
			 uint64_t *from)
{
	struct block_writer blocks = {.writer = writer, .process = process, .from = from};
	int err;

	if (!process->buffer)
		return 0;
	pack_key(&blocks.packer, process);
	blocks.key_bytes = blocks.packer.count;
	err = profile_buffer_each(process->buffer, *from, on_block, &blocks);
	if (!err)
		err = flush_blocks(&blocks);
	packer_clear(&blocks.packer);
	return err;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int write_processes(struct section_writer *writer, const struct profile_input *input,
			   struct progress *progress)
{
	size_t count = processes_count(input->processes), i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		const struct process *process = processes_at(input->processes, i);
		uint64_t from = 0;

		err = archive_write_process(writer, process);
		if (!err)
			err = archive_write_blocks(writer, process, &from);
		progress_add(progress, 1);
	}
	return err;
}

/* The facts, with one more if something could not be read. */
static int write_end(struct section_writer *writer, const struct profile_input *input)
{
	struct profile_facts facts = *input->facts;
	const struct profile_fact damaged = {
		.name = "capture_samples_lost_damaged",
		.value = profile_damaged(input->processes),
	};
	struct profile_fact *log;
	int err;

	if (!damaged.value)
		return archive_write_end(writer, &facts);
	log = calloc(facts.log_count + 1, sizeof(*log));
	if (!log)
		return -ENOMEM;
	if (facts.log_count)
		memcpy(log, facts.log, facts.log_count * sizeof(*log));
	log[facts.log_count++] = damaged;
	facts.log = log;
	err = archive_write_end(writer, &facts);
	free(log);
	return err;
}

int archive_write(struct section_writer *writer, const struct profile_input *input,
		  const char *kallsyms, struct progress *progress)
{
	struct progress part;
	size_t i;
	int err;

	progress_split(&part, progress, 1, "writing", processes_count(input->processes) + 1);
	err = archive_write_head(writer, input->facts);
	if (!err && kallsyms)
		err = archive_write_kernel(writer, kallsyms);
	for (i = 0; i < objects_count(input->objects) && !err; i++)
		err = archive_write_file(writer, objects_at(input->objects, i));
	if (!err)
		err = write_processes(writer, input, &part);
	return err ? err : write_end(writer, input);
}
