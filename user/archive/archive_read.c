/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_read.c - see archive.h.
 *
 * A section that makes no sense is counted and left out; only missing memory and errors of the file end the reading.
 * What sections refer to comes before them in the file; if it was damaged, they are left out, too.
 */
#include "archive/archive.h"
#include "archive/archive_budget.h"
#include "archive/archive_facts.h"
#include "archive/archive_reader.h"

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

#define MEMORY_LIMIT (1ULL << 50) /* what is in the file is to be kept whole */

uint64_t archive_unpack_count(struct unpacker *in)
{
	uint64_t count = unpack_number(in, MAX_ITEMS);

	if (count > (uint64_t)(in->end - in->at)) {
		in->error = -EBADMSG;
		return 0;
	}
	return count;
}

/* ---- the kernel ------------------------------------------------------------------------- */

static void read_kernel(struct archive *archive, struct unpacker *in)
{
	const size_t size = (size_t)(in->end - in->at);
	int err = 0;

	if (archive->kallsyms_fd < 0)
		archive->kallsyms_fd = memfd_create("kallsyms", MFD_CLOEXEC);
	if (archive->kallsyms_fd < 0)
		err = -errno;
	if (!err)
		err = fd_write_all(archive->kallsyms_fd, in->at, size);
	in->error = err;
	in->at = in->end;
}

/* ---- files ----------------------------------------------------------------- */

static int enter_file(struct archive *archive, size_t serial, struct object *object)
{
	struct archive_texts *texts = archive->texts;
	size_t more = serial < texts->files.count ? 0 : serial + 1 - texts->files.count;
	int err = archive_spend(archive, ARCHIVE_OBJECT_BYTES + more * 2 * sizeof(object));

	if (!err)
		err = array_reserve((void **)&texts->files.items, &texts->files.capacity,
				    serial + 1, sizeof(*texts->files.items));
	if (err)
		return err;
	while (texts->files.count <= serial)
		texts->files.items[texts->files.count++] = NULL;
	texts->files.items[serial] = object;
	return 0;
}

static void read_file(struct archive *archive, struct unpacker *in)
{
	struct object_sighting sighting = {.is_recorded = true};
	struct build_id build_id = {0};
	struct object *object;
	uint64_t serial = unpack_number(in, MAX_ITEMS);
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
		in->error = enter_file(archive, (size_t)serial, object);
	}
	free(path);
}

static void read_files(struct archive *archive, struct unpacker *in)
{
	while (!in->error && in->at < in->end)
		read_file(archive, in);
}

/* ---- the file ---------------------------------------------------------------------------- */

static void (*const readers[])(struct archive *archive, struct unpacker *in) = {
	[ARCHIVE_HEAD] = archive_unpack_head,
	[ARCHIVE_KERNEL] = read_kernel,
	[ARCHIVE_FILE] = read_files,
	[ARCHIVE_PROCESS] = archive_read_processes,
	[ARCHIVE_BLOCKS] = archive_read_blocks,
	[ARCHIVE_END] = archive_unpack_end,
	[ARCHIVE_LIVES] = archive_read_lives,
	[ARCHIVE_LOSSES] = archive_unpack_losses,
};

/* They need nothing that others say. */
static bool may_be_first(uint16_t kind)
{
	return kind == ARCHIVE_HEAD || kind == ARCHIVE_KERNEL;
}

/* What a section says is kept, but for the last END, which replaces those before; its numbers become larger. */
static int spend_on(struct archive *archive, const struct section *section)
{
	if (section->kind != ARCHIVE_END)
		return archive_spend(archive, section->size);
	return section->size > archive->memory_left / sizeof(struct time_range) ? -E2BIG : 0;
}

/* 0, or what ends the reading. */
static int take_section(struct archive *archive, const struct section *section)
{
	struct unpacker in = {section->bytes, section->bytes + section->size, 0};
	uint64_t refused = archive->texts->refused;

	if (section->kind >= sizeof(readers) / sizeof(readers[0]) || !readers[section->kind]) {
		archive->unknown_sections++;
		return 0;
	}
	if (!archive->texts->has_head && !may_be_first(section->kind))
		return -EBADMSG;
	in.error = spend_on(archive, section);
	if (!in.error)
		readers[section->kind](archive, &in);
	if (in.error == -EBADMSG || archive->texts->refused > refused)
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

	archive->memory_left = archive_budget(section_reader_size(reader));
	progress_split(&part, progress, 1, "reading", section_reader_size(reader) + 1);
	while (!err && (got = section_read(reader, &section)) != 0) {
		err = got < 0 ? got : take_section(archive, &section);
		progress_add(&part, section_reader_at(reader) - before);
		before = section_reader_at(reader);
	}
	progress_end(&part);
	archive->damage = section_reader_damage(reader);
	if (!err)
		err = archive_close_numbers(archive);
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
	if (!err)
		archive.memory_left = archive_budget(section_reader_size(reader));
	while (!err && !archive.texts->has_head && (got = section_read(reader, &section)) > 0)
		if (section.kind != ARCHIVE_KERNEL)
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
	fact_list_clear(&texts->log);
	free(texts->files.items);
	for (i = 0; i < texts->images.count; i++)
		free(texts->images.items[i].items);
	free(texts->images.items);
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
