/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * held_samples.c - samples that wait for unwind tables, and those of the same threads behind them, so that each thread's
 * stay in their order.
 *
 *   sample ──> its thread has one that waits, or it needs a table that is on its way ──> held ──> buffer
 *                                                                     └── it came, took too long, or there are too many
 */
#include "base/array.h"
#include "base/clock.h"
#include "recording/records_state.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process that has ended is remembered longer. */
#define HELD_NS (800 * NS_PER_MS)
/* Of 64 KiB at most each; then those that have waited longest go as they are. */
#define HELD_MAX_BYTES (16u << 20)
#define HELD_MAX_COUNT 4096

struct held_sample {
	struct gb_sample *sample; /* owned */
	uint64_t until_ns;
	uint32_t awaited; /* the file, or HELD_BEHIND */
};

bool records_hold_samples(const struct records *records)
{
	return records->held.count > 0;
}

void records_drop_held(struct records *records)
{
	size_t i;

	for (i = 0; i < records->held.count; i++)
		free(records->held.items[i].sample);
	free(records->held.items);
}

/* Whether it makes no sense to look at it yet. */
static bool must_wait(const struct records *records, const struct held_sample *held,
		      const struct thread *thread)
{
	if (thread->held_round == records->held.round)
		return true;
	return held->awaited != HELD_BEHIND &&
	       records->listener.is_awaited(records->listener.context, held->awaited);
}

static void put(struct records *records, const struct held_sample *held, struct thread *thread)
{
	thread->held_count -= thread->held_count > 0;
	if (held->sample->hdr.kind == GB_RECORD_RAW)
		records_put_unwound(records, thread);
	else
		records_put_sample(records, thread, held->sample);
}

/* False: it is held still. `is_late`: it goes as it is. */
static bool release(struct records *records, struct held_sample *held, bool is_late)
{
	const struct gb_sample *sample = held->sample;
	struct thread *thread;

	if (processes_thread(records->config.processes, &sample->task, &thread)) {
		records->counts.put_failed++;
		return true;
	}
	if (!is_late && must_wait(records, held, thread)) {
		thread->held_round = records->held.round;
		return false;
	}
	held->awaited = HELD_BEHIND;
	if (sample->hdr.kind == GB_RECORD_RAW &&
	    !records_unwind(records, thread, sample, &held->awaited) && !is_late) {
		thread->held_round = records->held.round;
		return false;
	}
	put(records, held, thread);
	return true;
}

/* The first `count` go as they are, if they have to; the others when they may. */
static void release_each(struct records *records, size_t count)
{
	const uint64_t now_ns = clock_now_ns();
	size_t kept = 0, i;

	records->held.round++;
	for (i = 0; i < records->held.count; i++) {
		struct held_sample held = records->held.items[i];

		if (!release(records, &held, i < count || now_ns >= held.until_ns)) {
			records->held.items[kept++] = held;
			continue;
		}
		records->held.bytes -= held.sample->hdr.size;
		free(held.sample);
	}
	records->held.count = kept;
}

void records_release(struct records *records, bool all)
{
	if (records->held.count)
		release_each(records, all ? records->held.count : 0);
}

int records_hold(struct records *records, struct thread *thread, const struct gb_sample *sample,
		 uint32_t awaited)
{
	const size_t bytes = sample->hdr.size;
	struct gb_sample *copy = ARRAY_ROOM(&records->held) ? NULL : malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, sample, bytes);
	records->held.items[records->held.count++] =
		(struct held_sample){copy, clock_now_ns() + HELD_NS, awaited};
	records->held.bytes += bytes;
	thread->held_count++;
	if (records->held.bytes > HELD_MAX_BYTES || records->held.count > HELD_MAX_COUNT)
		release_each(records, records->held.count / 4 + 1);
	return 0;
}
