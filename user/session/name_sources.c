/* SPDX-License-Identifier: BSD-2-Clause */
/* name_sources.c - see name_sources.h. */
#include "session/name_sources.h"

#include "archive/capture_files.h"
#include "base/fd.h"
#include "base/error.h"
#include "session/conversion.h"
#include "session/machine_facts.h"
#include "elf/debuginfod.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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

static int fetch(void *context, const uint8_t *build_id, size_t build_id_bytes, bool wants_debug)
{
	int fd, err = debuginfod_find(context, build_id, build_id_bytes, wants_debug, &fd);

	return err ? err : fd;
}

static int open_debuginfod(struct name_sources *sources, const struct conversion_options *options)
{
	const struct debuginfod_options client = {.progress = options->on_download};
	int err = debuginfod_open(&sources->debuginfod, &client);

	if (err == -ENOSYS)
		warning_say(options->warnings, "debuginfod",
			    "not asked, for libdebuginfod.so.1 is missing; install "
			    "libdebuginfod1 (a static geckobpf cannot use it)");
	if (err)
		return err == -ENOSYS ? 0 : err;
	sources->search.fetch = fetch;
	sources->search.context = sources->debuginfod;
	return 0;
}

static int open_files(struct name_sources *sources, const struct conversion_options *options)
{
	const struct named_options symbols = {.search = &sources->search};
	int err = 0;

	sources->search.dirs = options->symbol_dirs;
	sources->search.dir_count = options->symbol_dir_count;
	if (options->debuginfod)
		err = open_debuginfod(sources, options);
	return err ? err : named_files_open(&sources->named_files, &symbols);
}

static int open_kernel(struct kernel_symbols **out, const struct archive *archive,
		       const struct warning_sink *warnings)
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
		warning_say(warnings, "kernel symbols of the capture",
			    "%s; kernel frames have no names", strerror(-err));
	return 0;
}

int name_sources_open(struct name_sources *sources, const struct capture_files *captures,
		      const struct conversion_options *options)
{
	struct machine_facts machine;
	size_t i;
	int err = 0;

	machine_facts_read(&machine);
	sources->count = captures->count;
	sources->kernels = calloc(sources->count, sizeof(struct kernel_symbols *));
	if (!sources->kernels)
		return -ENOMEM;
	for (i = 0; i < captures->count; i++)
		recognise_files(&captures->items[i], machine.boot_id);
	if (options->addresses)
		return 0;
	err = open_files(sources, options);
	for (i = 0; i < sources->count && !err; i++)
		err = open_kernel(&sources->kernels[i], &captures->items[i].archive,
				  options->warnings);
	return err;
}

void name_sources_close(struct name_sources *sources)
{
	size_t i;

	for (i = 0; sources->kernels && i < sources->count; i++)
		kernel_symbols_close(sources->kernels[i]);
	free(sources->kernels);
	named_files_close(sources->named_files);
	debuginfod_close(sources->debuginfod);
	*sources = (struct name_sources){0};
}
