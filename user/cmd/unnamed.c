/* SPDX-License-Identifier: BSD-2-Clause */
/* unnamed.c - see unnamed.h. */
#include "cmd/unnamed.h"

#include "base/log.h"
#include "session/conversion.h"
#include "session/names_remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORTH_TELLING 200 /* one sample in so many */
#define FILES_SHOWN 5
#define HINT_PERCENT 5 /* of the samples, and a remedy is told unasked */

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
		[SYMBOL_TROUBLE_TOO_LARGE] =
			"it has more symbols, or names, than are read of a file",
		[SYMBOL_TROUBLE_LATE] = "to read it took too long, or it hangs",
		[SYMBOL_TROUBLE_DIED] = "who read it died of it",
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

static void print_hint(const struct profile_file *file, unsigned int percent)
{
	const struct names_remedy remedy = names_remedy_find("", file);
	const char *slash = strrchr(file->path, '/');
	const char *name = slash ? slash + 1 : file->path;

	if (remedy.package[0])
		log_info("%u %% of the samples are in code of %s without names: apt install %s",
			 percent, name, remedy.package);
	else if (remedy.debug_package[0])
		log_info("%u %% of the samples are in code of %s without names: apt install %s, "
			 "with the archive of debug packages",
			 percent, name, remedy.debug_package);
	else if (remedy.servers)
		log_info("%u %% of the samples are in code of %s without names: record into a "
			 ".gbpf file, then geckobpf convert --debuginfod=%s",
			 percent, name, remedy.servers);
	else
		log_info("%u %% of the samples are in code of %s without names: --symbol-dir DIR "
			 "says where its debug file is",
			 percent, name);
}

/* What is to be known of a file that was made to be trouble; NULL: nothing. */
static const char *warning_of(enum symbol_trouble trouble)
{
	switch (trouble) {
	case SYMBOL_TROUBLE_TOO_LARGE:
		return "more than are read of a file";
	case SYMBOL_TROUBLE_LATE:
		return "to read them took too long";
	case SYMBOL_TROUBLE_DIED:
		return "the process that read them died";
	default:
		return NULL;
	}
}

/* The worst of them: who made such files may have made many. */
static void warn_of_unread(const struct profile_summary *summary)
{
	const struct profile_files *files = &summary->unnamed;
	size_t shown = 0, i;

	for (i = 0; i < files->count && shown < FILES_SHOWN; i++) {
		const struct profile_file *file = &files->items[i];

		if (!warning_of(file->trouble))
			continue;
		log_warn("symbols of %s not used: %s (%" PRIu64 " samples without a name)",
			 file->path, warning_of(file->trouble), file->samples);
		shown++;
	}
}

void unnamed_hint(const struct profile_summary *summary)
{
	const struct profile_file *worst = summary->unnamed.items;
	uint64_t percent;

	if (!summary->unnamed.count || !summary->samples)
		return;
	percent = worst->samples * 100 / summary->samples;
	if (percent >= HINT_PERCENT && worst->trouble == SYMBOL_TROUBLE_STRIPPED)
		print_hint(worst, (unsigned int)percent);
	warn_of_unread(summary);
	if (log_get_level() >= LOG_DEBUG)
		unnamed_report(summary);
}

/* Each file of another build is told; of the others the worst. */
void unnamed_report(const struct profile_summary *summary)
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
