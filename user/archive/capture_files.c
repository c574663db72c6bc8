/* SPDX-License-Identifier: BSD-2-Clause */
/* capture_files.c - see capture_files.h. */
#include "archive/capture_files.h"

#include "archive/archive_budget.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/progress.h"
#include "recording/merged_facts.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------- */

/* What all of it shares. */
struct reading {
	struct capture_files *captures;
	struct progress *progress;
	const struct warning_sink *warnings;
	struct error *error;
};

/* Returns `err`, and says it unless it is 0. */
static int say(const struct reading *reading, const char *path, int err)
{
	if (err == -EBADMSG) {
		error_set(reading->error, err, path,
			  "not a raw capture (.gbpf), or damaged at its beginning");
	} else if (err == -EPROTONOSUPPORT) {
		error_set(reading->error, err, path,
			  "a raw capture of a version that this geckobpf does not know");
		error_advise(reading->error, "use the one that wrote it, or a newer one");
	} else if (err == -E2BIG) {
		error_set(reading->error, err, path,
			  "would take more memory than %d times its size and %llu MB, as no "
			  "recording does: it was made to do that, or is damaged",
			  ARCHIVE_MEMORY_FACTOR, ARCHIVE_MEMORY_BYTES >> 20);
		error_advise(reading->error, "record it again");
	} else if (err) {
		error_set(reading->error, err, path, "cannot read it: %s", strerror(-err));
	}
	return err;
}

static void warn_of_damage(const struct warning_sink *warnings, const char *path,
			   const struct archive *archive)
{
	if (archive->damage.bytes)
		warning_say(warnings, path,
			    "damaged or cut off: %" PRIu64 " bytes, with %" PRIu64
			    " sections or more, are missing from the profile",
			    archive->damage.bytes, archive->damage.sections);
	if (archive->bad_sections)
		warning_say(warnings, path,
			    "%" PRIu64 " sections say what makes no sense, or more than any "
			    "recording has; that is missing from the profile",
			    archive->bad_sections);
	if (archive->unknown_sections)
		warning_say(warnings, path,
			    "%" PRIu64
			    " sections of kinds that this geckobpf does not know were left out; a "
			    "newer one may read them",
			    archive->unknown_sections);
	if (archive->lost_blocks)
		warning_say(warnings, path, "%" PRIu64 " samples are missing, or cannot be read",
			    archive->lost_blocks);
	if (!archive->has_end)
		warning_say(warnings, path,
			    "has no end: the recording was killed, or goes on, or the file was "
			    "cut off; what came after its first %.3f s is missing",
			    (double)(archive->facts.end_ns - archive->facts.start_ns) / 1e9);
}

/* A file without its end: it ended with the last thing it tells of. */
static void end_facts(struct archive *archive)
{
	struct recording_facts *facts = &archive->facts;

	if (facts->end_ns < facts->start_ns)
		facts->end_ns = facts->start_ns;
	facts->writer_pid = (uint32_t)getpid();
}

static int read_file(const struct reading *reading, const char *path, struct archive *archive)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (!err)
		err = archive_read(archive, fd, reading->progress);
	fd_close(&fd);
	if (err)
		return say(reading, path, err);
	end_facts(archive);
	warn_of_damage(reading->warnings, path, archive);
	return 0;
}

/* ---- which belong together --------------------------------------------------------- */

struct capture_file {
	const char *path;
	struct archive head;
	size_t boot; /* files with the same one have the same clock */
};

static int read_head(const struct reading *reading, struct capture_file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (!err)
		err = archive_read_head(&file->head, fd);
	fd_close(&fd);
	file->path = path;
	return say(reading, path, err);
}

static void find_boot(struct capture_file *files, size_t index)
{
	size_t i;

	files[index].boot = index;
	for (i = 0; i < index; i++)
		if (merged_facts_same_clock(&files[i].head.facts, &files[index].head.facts))
			files[index].boot = files[i].boot;
}

/* Within a boot by its own clock; the clock that people set may have been set back. */
static int compare_files(const void *a, const void *b)
{
	const struct capture_file *left = a, *right = b;
	uint64_t x = left->head.facts.start_ns, y = right->head.facts.start_ns;

	if (left->boot != right->boot)
		return left->boot < right->boot ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_boots(const void *a, const void *b)
{
	uint64_t x = ((const struct captured_boot *)a)->facts.start_real_ns;
	uint64_t y = ((const struct captured_boot *)b)->facts.start_real_ns;

	return x < y ? -1 : x > y;
}

static int read_heads(const struct reading *reading, struct capture_file *files,
		      const char *const *paths, size_t count)
{
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		err = read_head(reading, &files[i], paths[i]);
		if (!err)
			find_boot(files, i);
	}
	if (!err)
		qsort(files, count, sizeof(*files), compare_files);
	return err;
}

/* ---- reading ----------------------------------------------------------------------- */

static int merge_file(const struct reading *reading, struct captured_boot *boot, const char *path)
{
	struct archive archive;
	uint64_t lost = boot->archive.lost_blocks;
	int err = read_file(reading, path, &archive);

	if (err)
		return err;
	err = merged_facts_add(boot->merged, &archive.facts, path, 0);
	if (!err)
		err = archive_merge(&boot->archive, &archive, reading->progress);
	boot->archive.memory_left += archive.memory_left;
	archive_close(&archive);
	if (err)
		return say(reading, path, err);
	lost = boot->archive.lost_blocks - lost;
	if (lost)
		warning_say(reading->warnings, path,
			    "%" PRIu64 " samples or more could not be read", lost);
	return 0;
}

static int begin_boot(const struct reading *reading, const char *path)
{
	struct capture_files *captures = reading->captures;
	struct captured_boot *boot = &captures->items[captures->count];
	int err = read_file(reading, path, &boot->archive);

	if (err)
		return err;
	captures->count++;
	err = merged_facts_open(&boot->merged);
	if (!err)
		err = merged_facts_add(boot->merged, &boot->archive.facts, path, 0);
	return say(reading, path, err);
}

/* Those of one boot, from *at on. */
static int read_boot(const struct reading *reading, const struct capture_file *files, size_t count,
		     size_t *at)
{
	const struct recording_facts *facts;
	struct captured_boot *boot;
	size_t number = files[*at].boot;
	const char *path = files[*at].path;
	int err = begin_boot(reading, files[(*at)++].path);

	if (err)
		return err;
	boot = &reading->captures->items[reading->captures->count - 1];
	for (; *at < count && files[*at].boot == number && !err; (*at)++)
		err = merge_file(reading, boot, files[*at].path);
	if (err)
		return err;
	err = merged_facts_get(boot->merged, &facts);
	if (!err)
		boot->facts = *facts;
	return say(reading, path, err);
}

/* ---- boots beside each other ------------------------------------------------------- */

static bool has_pid(const struct captured_boot *boots, size_t count, const struct process *process,
		    uint32_t *lives)
{
	const struct process *other;
	size_t i;

	*lives = 0;
	for (i = 0; i < count; i++)
		for (other = processes_latest(boots[i].archive.processes, process->tgid); other;
		     other = other->previous)
			if (other->life >= *lives)
				*lives = other->life + 1;
	return *lives > 0;
}

/* A process id that earlier boots had, too, goes on where it ended there: "42", and in the later boot "42.1". */
static void tell_apart(struct capture_files *captures, size_t index)
{
	struct processes *processes = captures->items[index].archive.processes;
	uint32_t lives;
	size_t i;

	for (i = 0; i < processes_count(processes); i++) {
		struct process *process = processes_at(processes, i);

		if (has_pid(captures->items, index, process, &lives))
			process->life += lives;
	}
}

/* Clocks of different boots have the time of day in common. */
static int merge_boots(struct capture_files *captures)
{
	const struct captured_boot *first = captures->items;
	size_t i, k;
	int err = merged_facts_open(&captures->merged);

	qsort(captures->items, captures->count, sizeof(*captures->items), compare_boots);
	for (i = 0; i < captures->count && !err; i++) {
		const struct merged_facts *merged = captures->items[i].merged;
		struct recording_facts *facts = &captures->items[i].facts;
		uint64_t later_ns = (facts->start_real_ns - facts->start_ns) -
				    (first->facts.start_real_ns - first->facts.start_ns);

		facts->lead_ns = facts->start_real_ns - first->facts.start_real_ns;
		tell_apart(captures, i);
		for (k = 0; k < merged_facts_count(merged) && !err; k++) {
			struct recording_part part = merged_facts_part(merged, k);

			err = merged_facts_add(captures->merged, part.facts, part.name, later_ns);
		}
	}
	return err ? err : merged_facts_get(captures->merged, &captures->whole);
}

static void warn_of_rates(const struct warning_sink *warnings, const struct recording_facts *whole)
{
	size_t i;

	for (i = 0; i < whole->part_count; i++) {
		if (whole->parts[i].facts->interval_ns == whole->interval_ns)
			continue;
		warning_say(warnings, NULL,
			    "%s was recorded at another rate than others (every %.3f ms, %.3f "
			    "ms): numbers of samples do not compare; CPU times do",
			    whole->parts[i].name, (double)whole->parts[i].facts->interval_ns / 1e6,
			    (double)whole->interval_ns / 1e6);
		return;
	}
}

static int read_all(const struct reading *reading, struct capture_file *files,
		    const char *const *paths, size_t count)
{
	size_t at = 0;
	int err = read_heads(reading, files, paths, count);

	while (at < count && !err)
		err = read_boot(reading, files, count, &at);
	if (err)
		return err;
	err = merge_boots(reading->captures);
	if (err)
		return say(reading, paths[0], err);
	warn_of_rates(reading->warnings, reading->captures->whole);
	return 0;
}

int capture_files_read(struct capture_files *out, const char *const *paths, size_t count,
		       struct progress *progress, const struct warning_sink *warnings,
		       struct error *error)
{
	struct capture_file *files = calloc(count, sizeof(*files));
	struct capture_files captures = {.items = calloc(count, sizeof(*captures.items))};
	const struct reading reading = {&captures, progress, warnings, error};
	size_t i;
	int err;

	if (files && captures.items)
		err = read_all(&reading, files, paths, count);
	else
		err = say(&reading, paths[0], -ENOMEM);
	for (i = 0; files && i < count; i++)
		if (files[i].head.texts)
			archive_close(&files[i].head);
	free(files);
	if (err) {
		capture_files_close(&captures);
		return err;
	}
	*out = captures;
	return 0;
}

void capture_files_close(struct capture_files *captures)
{
	size_t i;

	for (i = 0; i < captures->count; i++) {
		merged_facts_close(captures->items[i].merged);
		archive_close(&captures->items[i].archive);
	}
	merged_facts_close(captures->merged);
	free(captures->items);
	*captures = (struct capture_files){0};
}
