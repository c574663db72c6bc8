/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_profile.c - see raw_profile.h. */
#include "cmd/raw_profile.h"

#include "archive/archive.h"
#include "base/fd.h"
#include "base/log.h"
#include "buffer/profile_memory.h"
#include "gecko/output.h"
#include "gecko/profile.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool is_raw_capture(const char *path)
{
	char magic[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && !fd_pread_all(fd, magic, sizeof(magic), 0) &&
		  !memcmp(magic, "geckobpf", sizeof(magic));

	fd_close(&fd);
	return is;
}

/* ---- what is missing ----------------------------------------------------------------- */

static void warn_of_damage(const char *path, const struct archive *archive)
{
	uint64_t sections = archive->damage.sections + archive->bad_sections;

	if (archive->damage.bytes || sections)
		log_warn("%s: damaged or cut off: %" PRIu64 " bytes, with %" PRIu64
			 " sections or more, are missing from the profile",
			 path, archive->damage.bytes, sections);
	if (archive->unknown_sections)
		log_warn("%s: %" PRIu64
			 " sections of kinds that this geckobpf does not know were left out; a "
			 "newer one may read them",
			 path, archive->unknown_sections);
	if (archive->lost_blocks)
		log_warn("%s: %" PRIu64 " samples could not be read", path, archive->lost_blocks);
}

/* A file without its end: it ended with the last thing it tells of. */
static void end_facts(struct archive *archive)
{
	struct profile_facts *facts = &archive->facts;

	if (facts->end_ns < facts->start_ns)
		facts->end_ns = facts->start_ns;
	facts->writer_pid = (uint32_t)getpid();
}

/* ---- symbols --------------------------------------------------------------------------- */

struct names {
	struct symbolizer *symbolizer;
	struct kernel_symbols *kernel;
};

static void close_names(struct names *names)
{
	kernel_symbols_close(names->kernel);
	symbolizer_close(names->symbolizer);
}

static int open_names(struct names *names, const struct archive *archive)
{
	char path[32];
	int err = symbolizer_open(&names->symbolizer, NULL);

	if (err || archive->kallsyms_fd < 0)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", archive->kallsyms_fd);
	err = kernel_symbols_open(&names->kernel, path);
	if (err == -ENOMEM)
		return err;
	if (err)
		log_warn("kernel symbols of the capture: %s; kernel frames have no names",
			 strerror(-err));
	return 0;
}

/* ---- the profile ------------------------------------------------------------------------- */

static int write_profile(const struct archive *archive, const struct names *names,
			 const char *output_path, bool is_quiet, struct progress *whole)
{
	const struct output_options options = {.owner_uid = -1, .owner_gid = -1};
	struct progress part;
	const struct profile_input input = {
		.facts = &archive->facts,
		.processes = archive->processes,
		.objects = archive->objects,
		.symbolizer = names->symbolizer,
		.kernel = names->kernel,
		.progress = &part,
	};
	struct profile_summary summary = {0};
	struct output *output;
	int err = output_open(&output, output_path, &options);

	if (err)
		return err;
	progress_split(&part, whole, 1, NULL, 1);
	err = profile_write(&input, output, &summary);
	if (!err)
		err = output_commit(output);
	if (!err && !is_quiet)
		log_info("wrote %s: %" PRIu64 " samples of %" PRIu64 " thread%s",
			 strcmp(output_path, "-") ? output_path : "to stdout", summary.samples,
			 summary.threads, summary.threads == 1 ? "" : "s");
	if (!err && summary.damaged)
		log_warn("%" PRIu64 " samples make no sense and are missing from the profile",
			 summary.damaged);
	output_close(output);
	profile_summary_clear(&summary);
	return err;
}

static int read_archive(const char *path, struct archive *archive, struct progress *whole)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;

	if (!err)
		err = archive_read(archive, fd, whole);
	fd_close(&fd);
	if (err == -EBADMSG)
		log_error("%s: not a raw capture (.gbpf), or damaged at its beginning", path);
	else if (err == -EPROTONOSUPPORT)
		log_error("%s: a raw capture of a version that this geckobpf does not know; use "
			  "the one that wrote it, or a newer one",
			  path);
	else if (err)
		log_error("%s: cannot read it: %s", path, strerror(-err));
	return err;
}

int raw_profile_write(const char *path, const char *output_path,
		      const struct raw_profile_options *options)
{
	struct progress_view view = {.style = options->progress};
	struct names names = {0};
	struct progress whole;
	struct archive archive;
	int err;

	progress_begin(&whole, &view, "reading the capture", 2);
	err = read_archive(path, &archive, &whole);
	if (err)
		return err;
	warn_of_damage(path, &archive);
	end_facts(&archive);
	if (!options->addresses)
		err = open_names(&names, &archive);
	profile_memory_pause(archive.memory);
	if (!err)
		err = write_profile(&archive, &names, output_path, options->is_quiet, &whole);
	profile_memory_resume(archive.memory);
	if (!err)
		progress_end(&whole);
	else
		log_error("%s: cannot write it: %s; give another file with -o", output_path,
			  strerror(-err));
	close_names(&names);
	archive_close(&archive);
	return err;
}
