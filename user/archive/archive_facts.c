/* SPDX-License-Identifier: BSD-2-Clause */
/* archive_facts.c - see archive_facts.h. What is packed and what is unpacked stand side by side, field by field. */
#include "archive/archive_facts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "archive/archive.h"
#include "archive/archive_reader.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/pack.h"
#include "recording/fact_list.h"
#include "recording/losses.h"

#define MAX_INTERVAL_NS (10 * NS_PER_SEC) /* longer ones are refused by readers of profiles */
#define MAX_SOME 4096

/* ---- texts and lists ------------------------------------------------------------------ */

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

static void pack_list(struct packer *packer, const char *const *texts)
{
	size_t count = 0, i;

	while (texts && texts[count])
		count++;
	pack_number(packer, count);
	for (i = 0; i < count; i++)
		pack_string(packer, texts[i]);
}

/* How many items follow of which there are only some: each is compared with each. */
static uint64_t unpack_some(struct unpacker *in)
{
	uint64_t count = archive_unpack_count(in);

	if (count > MAX_SOME)
		in->error = -EBADMSG;
	return in->error ? 0 : count;
}

static void unpack_list(struct archive *archive, struct unpacker *in, const char ***list)
{
	uint64_t count = unpack_some(in), i;

	if (!in->error)
		in->error = renew((void **)list, count, sizeof(**list));
	for (i = 0; i < count && !in->error; i++) {
		(*list)[i] = keep_text(archive, in);
		/* It would end the list. */
		if (!(*list)[i] && !in->error)
			in->error = -EBADMSG;
	}
}

/* ---- HEAD ------------------------------------------------------------------------------ */

void archive_pack_head(struct packer *packer, const struct recording_facts *facts)
{
	pack_string(packer, facts->product);
	pack_string(packer, facts->version);
	pack_string(packer, facts->oscpu);
	pack_string(packer, facts->cpu_name);
	pack_number(packer, facts->physical_cpus);
	pack_number(packer, facts->logical_cpus);
	pack_number(packer, facts->start_real_ns);
	pack_number(packer, facts->start_ns);
	pack_number(packer, facts->is_cut);
	pack_number(packer, facts->interval_ns);
	pack_number(packer, facts->buffer_bytes);
	pack_number(packer, (uint64_t)(facts->duration_s * 1e6));
	pack_number(packer, facts->include_args);
	pack_list(packer, facts->threads);
	pack_list(packer, facts->features);
	pack_string(packer, facts->boot_id);
	pack_number(packer, facts->began_ns);
}

void archive_unpack_head(struct archive *archive, struct unpacker *in)
{
	struct recording_facts *facts = &archive->facts;

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
	unpack_list(archive, in, &archive->texts->threads);
	unpack_list(archive, in, &archive->texts->features);
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

/* ---- LOSSES ---------------------------------------------------------------------------- */

void archive_pack_losses(struct packer *packer, const struct loss *losses, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		pack_number(packer, losses[i].cause);
		pack_number(packer, losses[i].from_ns);
		pack_number(packer, losses[i].to_ns - losses[i].from_ns);
		pack_number(packer, losses[i].count);
	}
}

static void unpack_loss(struct losses *losses, struct unpacker *in)
{
	uint64_t cause = unpack_number(in, UINT64_MAX);
	struct loss loss = {.cause = cause < LOSS_CAUSE_COUNT ? (enum loss_cause)cause
							      : LOSS_UNKNOWN};

	loss.from_ns = unpack_number(in, INT64_MAX);
	loss.to_ns = loss.from_ns + unpack_number(in, INT64_MAX);
	loss.count = unpack_number(in, UINT64_MAX);
	if (!in->error)
		losses_add(losses, &loss);
}

void archive_unpack_losses(struct archive *archive, struct unpacker *in)
{
	struct losses *losses = &archive->texts->losses;

	while (!in->error && in->at < in->end)
		unpack_loss(losses, in);
	archive->facts.losses = losses->items;
	archive->facts.loss_count = losses->count;
}

/* ---- END ------------------------------------------------------------------------------- */

void archive_pack_end(struct packer *packer, const struct recording_facts *facts, bool is_last)
{
	size_t i;

	pack_number(packer, facts->end_ns);
	pack_number(packer, facts->until_ns);
	pack_number(packer, is_last);
	pack_number(packer, facts->pause_count);
	for (i = 0; i < facts->pause_count; i++) {
		pack_number(packer, facts->pauses[i].start_ns);
		pack_number(packer, facts->pauses[i].end_ns);
	}
	pack_number(packer, facts->log_count);
	for (i = 0; i < facts->log_count; i++) {
		pack_string(packer, facts->log[i].name);
		pack_number(packer, facts->log[i].value);
		pack_string(packer, facts->log[i].text);
	}
}

static void unpack_pauses(struct archive *archive, struct unpacker *in)
{
	struct archive_texts *texts = archive->texts;
	uint64_t count = archive_unpack_count(in), i;

	if (!in->error)
		in->error = renew((void **)&texts->pauses, count, sizeof(*texts->pauses));
	for (i = 0; i < count && !in->error; i++) {
		texts->pauses[i].start_ns = unpack_number(in, INT64_MAX);
		texts->pauses[i].end_ns = unpack_number(in, INT64_MAX);
	}
	archive->facts.pauses = texts->pauses;
	archive->facts.pause_count = in->error ? 0 : (size_t)count;
}

static void unpack_fact(struct fact_list *log, struct unpacker *in)
{
	char *name = unpack_string(in);
	const uint64_t value = unpack_number(in, UINT64_MAX);
	char *text = unpack_string(in);

	if (!name && !in->error)
		in->error = -EBADMSG;
	if (!in->error)
		fact_list_add(log, &(struct recording_fact){name, value, text});
	free(name);
	free(text);
}

/* Those that were told before hold on if there are none, or if these make no sense. */
static void unpack_log(struct archive *archive, struct unpacker *in)
{
	uint64_t count = unpack_some(in), i;
	struct fact_list log = {0};

	for (i = 0; i < count && !in->error; i++)
		unpack_fact(&log, in);
	if (!in->error)
		in->error = log.error;
	if (in->error || !count) {
		fact_list_clear(&log);
		return;
	}
	fact_list_clear(&archive->texts->log);
	archive->texts->log = log;
	archive->facts.log = log.items;
	archive->facts.log_count = log.count;
}

void archive_unpack_end(struct archive *archive, struct unpacker *in)
{
	archive->facts.end_ns = unpack_number(in, INT64_MAX);
	archive->facts.until_ns = unpack_number(in, INT64_MAX);
	archive->has_end = unpack_number(in, 1) != 0;
	unpack_pauses(archive, in);
	unpack_log(archive, in);
}
