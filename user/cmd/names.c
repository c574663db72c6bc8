/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - see names.h. */
#include "cmd/names.h"

#include "archive/captures.h"
#include "base/fd.h"
#include "base/log.h"
#include "cmd/raw_profile.h"
#include "profile/profile.h"
#include "session/machine_facts.h"
#include "elf/debuginfod.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"
#include "target/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define WORTH_TELLING 200 /* one sample in so many */
#define FILES_SHOWN 5

/* ---- files without a build id ------------------------------------------------------- */

/* Whether the file at that path is the very one, as it was then. */
static bool is_untouched(const struct object *object, const struct recording_facts *facts)
{
	uint64_t end_ns = facts->start_real_ns + (facts->end_ns - facts->start_ns), changed_ns;
	struct stat file;

	if (stat(object->path, &file) || file.st_ctim.tv_sec < 0)
		return false;
	changed_ns = (uint64_t)file.st_ctim.tv_sec * 1000000000 + (uint64_t)file.st_ctim.tv_nsec;
	return file.st_dev == object->device && file.st_ino == object->inode &&
	       changed_ns <= end_ns;
}

/* Without a build id there is nothing else to know a file by, and nothing at all on another machine. */
static void recognise_files(const struct captured_boot *boot, const char *boot_id)
{
	const struct objects *objects = boot->archive.objects;
	size_t i;

	if (!boot->facts.boot_id || strcmp(boot->facts.boot_id, boot_id) != 0)
		return;
	for (i = 0; i < objects_count(objects); i++) {
		struct object *object = objects_at(objects, i);

		if (object->kind == OBJECT_VDSO ||
		    (!object->build_id.size && is_untouched(object, &boot->facts)))
			object->is_recorded = false;
	}
}

/* ---- opening ------------------------------------------------------------------------ */

static void show_download(void *context, const char *url, uint64_t bytes, uint64_t total)
{
	if (total)
		log_status("  %s: %" PRIu64 " of %" PRIu64 " kB", url, bytes / 1000, total / 1000);
	else
		log_status("  %s: %" PRIu64 " kB", url, bytes / 1000);
}

static int open_debuginfod(struct names *names)
{
	const struct debuginfod_options options = {.progress = show_download};
	int err = debuginfod_open(&names->search.debuginfod, &options);

	if (err == -ENOSYS)
		log_warn("debuginfod: not asked, for libdebuginfod.so.1 is missing; install "
			 "libdebuginfod1 (a static geckobpf cannot use it)");
	return err == -ENOSYS ? 0 : err;
}

static int open_symbolizer(struct names *names, const struct raw_profile_options *options)
{
	const struct symbol_options symbols = {.search = &names->search};
	int err = 0;

	names->search.dirs = options->symbol_dirs;
	names->search.dir_count = options->symbol_dir_count;
	if (options->debuginfod)
		err = open_debuginfod(names);
	return err ? err : symbolizer_open(&names->symbolizer, &symbols);
}

static int open_kernel(struct kernel_symbols **out, const struct archive *archive)
{
	char path[32];
	int err;

	if (archive->kallsyms_fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", archive->kallsyms_fd);
	err = kernel_symbols_open(out, path);
	if (err == -ENOMEM)
		return err;
	if (err)
		log_warn("kernel symbols of the capture: %s; kernel frames have no names",
			 strerror(-err));
	return 0;
}

int names_open(struct names *names, const struct captures *captures,
	       const struct raw_profile_options *options)
{
	struct machine_facts machine;
	size_t i;
	int err = 0;

	machine_facts_read(&machine);
	names->count = captures->count;
	names->kernels = calloc(names->count, sizeof(struct kernel_symbols *));
	if (!names->kernels)
		return -ENOMEM;
	for (i = 0; i < captures->count; i++)
		recognise_files(&captures->items[i], machine.boot_id);
	if (options->addresses)
		return 0;
	err = open_symbolizer(names, options);
	for (i = 0; i < names->count && !err; i++)
		err = open_kernel(&names->kernels[i], &captures->items[i].archive);
	return err;
}

void names_close(struct names *names)
{
	size_t i;

	for (i = 0; names->kernels && i < names->count; i++)
		kernel_symbols_close(names->kernels[i]);
	free(names->kernels);
	symbolizer_close(names->symbolizer);
	debuginfod_close(names->search.debuginfod);
	*names = (struct names){0};
}

/* ---- what is missing ----------------------------------------------------------------- */

static void print_hex(char *text, const uint8_t *bytes, size_t count)
{
	size_t i;

	strcpy(text, "none");
	for (i = 0; i < count; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

static void report_file(const struct profile_file *file)
{
	static const char *const troubles[] = {
		[SYMBOL_TROUBLE_STRIPPED] = "no symbol covers it; its debug file was not found",
		[SYMBOL_TROUBLE_MISSING] = "it was not found",
		[SYMBOL_TROUBLE_NO_BUILD_ID] =
			"it was recorded without a build id: only on the machine it came from, "
			"before that is booted again, can it be known",
	};
	char wanted[2 * BUILD_ID_MAX_BYTES + 8], other[2 * ELF_BUILD_ID_MAX_BYTES + 8];

	if (file->trouble != SYMBOL_TROUBLE_OTHER_BUILD) {
		log_more("%s (%" PRIu64 " samples): %s", file->path, file->samples,
			 troubles[file->trouble]);
		return;
	}
	print_hex(wanted, file->wanted.bytes, file->wanted.size);
	print_hex(other, file->other.build_id, file->other.build_id_bytes);
	log_more("%s (%" PRIu64 " samples): only another build of it was found: build id %s, not "
		 "%s",
		 file->path, file->samples, other, wanted);
}

/* A stripped file has code that no symbol covers anyway: a few samples in it are not worth a remedy. */
static bool is_worth_telling(const struct profile_summary *summary, const struct profile_file *file)
{
	return file->trouble != SYMBOL_TROUBLE_STRIPPED ||
	       file->samples * WORTH_TELLING >= summary->samples;
}

/* Each file of another build is told; of the others the worst. */
void names_report(const struct profile_summary *summary)
{
	const struct profile_files *files = &summary->unnamed;
	size_t count = 0, shown = 0, i;

	for (i = 0; i < files->count; i++)
		count += is_worth_telling(summary, &files->items[i]);
	if (!count)
		return;
	log_info("some code of %zu file%s has no name; --symbol-dir DIR says where the files or "
		 "their debug files are",
		 count, count == 1 ? "" : "s");
	for (i = 0; i < files->count; i++) {
		bool is_other = files->items[i].trouble == SYMBOL_TROUBLE_OTHER_BUILD;

		if (!is_worth_telling(summary, &files->items[i]) ||
		    (!is_other && shown >= FILES_SHOWN))
			continue;
		shown += !is_other;
		report_file(&files->items[i]);
	}
}
