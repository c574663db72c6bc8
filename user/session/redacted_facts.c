/* SPDX-License-Identifier: BSD-2-Clause */
/* redacted_facts.c - see redacted_facts.h. A text is shown if its name is known to say nothing of the kind. */
#include "session/redacted_facts.h"

#include "archive/capture_files.h"
#include "base/array.h"
#include "profile/redaction.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES 32

struct redacting {
	struct redacted_facts *facts;
	struct redaction *redaction;
};

void redacted_facts_clear(struct redacted_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->count; i++)
		free(facts->items[i]);
	free(facts->items);
	*facts = (struct redacted_facts){0};
}

/* Zeroed room that lives as long as the facts; never of 0 bytes. NULL: no memory. */
static void *make_room(struct redacted_facts *facts, size_t count, size_t bytes)
{
	void *room = ARRAY_ROOM(facts) ? NULL : calloc(count + 1, bytes);

	if (room)
		facts->items[facts->count++] = room;
	return room;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Numbers are counters and settings. */
static bool is_shown(const struct recording_fact *fact)
{
	static const char *const shown[] = {"options", "event", "recorder_priority",
					    "kernel_release", "kernel_version"};
	size_t i;

	if (!fact->text || begins(fact->name, "fallback_"))
		return true;
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (!strcmp(fact->name, shown[i]))
			return true;
	return false;
}

static int redact_log(const struct redacting *redacting, struct recording_facts *facts)
{
	struct recording_fact *log = make_room(redacting->facts, facts->log_count, sizeof(*log));
	size_t i, count = 0;

	if (!log)
		return -ENOMEM;
	for (i = 0; i < facts->log_count; i++)
		if (is_shown(&facts->log[i]))
			log[count++] = facts->log[i];
		else
			redaction_add(redacting->redaction, REDACTED_MACHINE);
	facts->log = log;
	facts->log_count = count;
	return 0;
}

static int redact(const struct redacting *redacting, struct recording_facts *facts)
{
	if (facts->boot_id)
		redaction_add(redacting->redaction, REDACTED_MACHINE);
	facts->boot_id = NULL;
	facts->include_args = 0;
	return redact_log(redacting, facts);
}

/* A file is called what its owner likes: the recordings have numbers instead. */
static int redact_part(const struct redacting *redacting, struct recording_part *part,
		       size_t number)
{
	struct recording_facts *facts = make_room(redacting->facts, 1, sizeof(*facts));
	char *name = make_room(redacting->facts, PART_BYTES, 1);

	if (!facts || !name)
		return -ENOMEM;
	snprintf(name, PART_BYTES, "recording %zu", number);
	*facts = *part->facts;
	*part = (struct recording_part){name, facts};
	return redact(redacting, facts);
}

static int redact_whole(const struct redacting *redacting, struct capture_files *captures)
{
	struct recording_facts *whole = &redacting->facts->whole;
	/* What several recordings say is counted there. */
	const struct redacting uncounted = {redacting->facts, NULL};
	struct recording_part *parts;
	size_t i;
	int err;

	*whole = *captures->whole;
	parts = make_room(redacting->facts, whole->part_count, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	if (whole->part_count)
		memcpy(parts, whole->parts, whole->part_count * sizeof(*parts));
	err = redact(whole->part_count ? &uncounted : redacting, whole);
	for (i = 0; i < whole->part_count && !err; i++)
		err = redact_part(redacting, &parts[i], i + 1);
	whole->parts = parts;
	captures->whole = whole;
	return err;
}

/* What the walk leaves out by itself. */
static void count_texts(struct redaction *redaction, const struct archive *archive)
{
	size_t i;

	for (i = 0; i < processes_count(archive->processes); i++) {
		const struct process *process = processes_at(archive->processes, i);

		if (process->cmdline && strchr(process->cmdline, ' '))
			redaction_add(redaction, REDACTED_ARGUMENTS);
	}
	for (i = 0; i < objects_count(archive->objects); i++)
		if (strchr(objects_at(archive->objects, i)->path, '/'))
			redaction_add(redaction, REDACTED_DIRECTORIES);
}

int redacted_facts_make(struct redacted_facts *out, struct capture_files *captures,
			struct redaction *redaction)
{
	const struct redacting redacting = {out, redaction};
	const struct redacting uncounted = {out, NULL};
	size_t i;
	int err = redact_whole(&redacting, captures);

	for (i = 0; i < captures->count && !err; i++) {
		/* What a recording says of itself is in the whole, too. */
		err = redact(&uncounted, &captures->items[i].facts);
		count_texts(redaction, &captures->items[i].archive);
	}
	return err;
}
