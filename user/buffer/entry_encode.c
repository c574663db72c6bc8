/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_encode.c - samples and counters to bytes.
 *
 * Which nodes and frames readers know is kept in a cache that may forget (entry_cache.h). It
 * decides only how a stack is told: what it says is what readers were told in this epoch, and what
 * it has forgotten is told again, under a new number. A frame with a new number follows no frame
 * and is followed by none, here and at the reader's.
 */
#include "buffer/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "buffer/entry_cache.h"
#include "buffer/epoch.h"

/* A frame of the stack that was encoded last. */
struct path_step {
	uint64_t key; /* the frame, but for its kind */
	uint64_t hash; /* of all frames from the root to this one */
	/* Where the cache has its node; when a new one has been put there, where it has the frame. */
	struct entry_cache_set *set;
	uint32_t tag; /* of the node, in the cache */
	uint32_t node;
	uint8_t kind;
};

struct entry_encoder {
	struct entry_cache *cache; /* borrowed */
	uint64_t cache_epoch; /* 0: must restart */
	uint64_t seed; /* of all hashes: where in the cache this encoder's stacks are */
	uint64_t period_ns;
	struct epoch epoch;
	/* Most stacks begin as the one before: those frames need no look into the cache. */
	struct path_step *path;
	size_t path_count, path_capacity;
};

/* The stack at hand: path[], of which */
struct walk {
	size_t shared; /* these are the first steps of the stack before as well, */
	size_t popped; /* which had so many more, */
	size_t known; /* and these have nodes that readers know */
};

/* What is being written. */
struct writer {
	uint8_t *out;
	uint8_t kind;
};

int entry_encoder_open(struct entry_encoder **out, struct entry_cache *cache, uint64_t period_ns)
{
	struct entry_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return -ENOMEM;
	encoder->cache = cache;
	encoder->period_ns = period_ns;
	*out = encoder;
	return 0;
}

void entry_encoder_close(struct entry_encoder *encoder)
{
	if (!encoder)
		return;
	epoch_clear(&encoder->epoch);
	free(encoder->path);
	free(encoder);
}

void entry_encoder_drop(struct entry_encoder *encoder)
{
	encoder->cache_epoch = 0;
}

static void put_number(struct writer *writer, uint64_t number)
{
	writer->out = leb128_put(writer->out, number);
}

static void put_signed(struct writer *writer, uint64_t difference)
{
	put_number(writer, zigzag((int64_t)difference));
}

/* ---- the path ------------------------------------------------------------------ */

/* In the cache. */
static uint32_t node_tag(const struct entry_encoder *encoder, const struct frame *frame)
{
	return entry_cache_tag(encoder->cache_epoch, ENTRY_CACHE_NODE, frame->kind);
}

static uint32_t frame_tag(const struct path_step *step)
{
	return step->tag | ENTRY_CACHE_FRAME;
}

/* How many frames, from the root, the sample shares with the one before. */
static size_t shared_path(const struct entry_encoder *encoder, const struct sample_entry *sample,
			  size_t frame_count)
{
	size_t end = frame_count < encoder->path_count ? frame_count : encoder->path_count;
	size_t n;

	for (n = 0; n < end; n++) {
		const struct path_step *step = &encoder->path[n];
		const struct frame *frame = &sample->frames[n];

		if (step->key != entry_cache_key(frame) || step->kind != frame->kind)
			break;
	}
	return n;
}

/*
 * Frame by frame, the lookups would wait for memory one after the other, since each needs the node
 * that the one before has found. But where they look is known before.
 */
static void lay_path(struct entry_encoder *encoder, const struct sample_entry *sample, size_t from,
		     size_t frame_count)
{
	uint64_t hash = from ? encoder->path[from - 1].hash : encoder->seed;
	size_t n;

	for (n = from; n < frame_count; n++) {
		const struct frame *frame = &sample->frames[n];
		struct path_step *step = &encoder->path[n];

		step->key = entry_cache_key(frame);
		step->kind = frame->kind;
		step->tag = node_tag(encoder, frame);
		hash = entry_cache_hash(hash, step->key, frame->kind);
		step->hash = hash;
		step->set = entry_cache_set(encoder->cache, hash);
		__builtin_prefetch(step->set);
	}
	encoder->path_count = frame_count;
}

static uint32_t node_of(const struct entry_encoder *encoder, size_t steps)
{
	return steps ? encoder->path[steps - 1].node : STACK_NODE_NONE;
}

/* The nodes of the path from step `n` on, as long as they are known. Returns where that ends. */
static size_t find_nodes(struct entry_encoder *encoder, size_t n)
{
	const size_t count = encoder->path_count;
	struct path_step *path = encoder->path;
	uint32_t node = node_of(encoder, n);

	for (; n < count; n++) {
		struct path_step *step = &path[n];

		node = entry_cache_find_node(step->set, step->tag, node, step->key);
		if (node == ENTRY_CACHE_NONE)
			break;
		step->node = node;
	}
	return n;
}

static void make_nodes(struct entry_encoder *encoder, size_t n)
{
	const size_t count = encoder->path_count;
	struct path_step *path = encoder->path;
	uint32_t node = node_of(encoder, n);

	for (; n < count; n++) {
		struct path_step *step = &path[n];
		const struct entry_cache_item item = {
			.key = step->key,
			.tag = step->tag,
			.number = encoder->epoch.node_count++,
			.link = node,
		};

		node = item.number;
		step->node = node;
		entry_cache_put(step->set, &item);
	}
}

/* Makes path[] that of the sample. */
static struct walk walk_path(struct entry_encoder *encoder, const struct sample_entry *sample,
			     size_t frame_count)
{
	struct walk walk = {.shared = shared_path(encoder, sample, frame_count)};

	walk.popped = encoder->path_count - walk.shared;
	lay_path(encoder, sample, walk.shared, frame_count);
	walk.known = find_nodes(encoder, walk.shared);
	return walk;
}

/* ---- values -------------------------------------------------------------------- */

static int put_thread(struct writer *writer, struct epoch *epoch, const struct sample_entry *sample)
{
	const struct thread_slot *before = epoch->thread;
	uint64_t is_other_end;
	int err;

	if (before && before->thread == sample->thread && before->user_end == sample->user_end)
		return 0;
	err = epoch_enter_thread(epoch, sample->thread);
	if (err)
		return err;
	is_other_end = epoch->thread->user_end != sample->user_end;
	writer->kind |= SAMPLE_THREAD;
	put_number(writer, (uint64_t)sample->thread << 1 | is_other_end);
	if (is_other_end)
		*writer->out++ = sample->user_end;
	epoch->thread->user_end = sample->user_end;
	return 0;
}

static void put_time(struct writer *writer, uint64_t since_ns, uint64_t period_ns)
{
	uint64_t rest = since_ns - period_ns, half = period_ns / 2;
	int64_t periods;

	/* As far from a period as to another number of them? */
	if (rest + half > period_ns) {
		periods = (int64_t)since_ns / (int64_t)period_ns;
		rest = since_ns - (uint64_t)periods * period_ns;
		if ((int64_t)rest > (int64_t)half) {
			periods++;
			rest -= period_ns;
		}
		writer->kind |= SAMPLE_PERIODS;
		put_signed(writer, (uint64_t)periods);
	}
	put_signed(writer, rest);
}

static void put_cpu(struct writer *writer, struct thread_slot *thread, uint64_t since_ns,
		    const struct sample_entry *sample)
{
	int64_t wait_us = divide_up((int64_t)(sample->time_ns - sample->cpu_ns), NS_PER_US);
	uint64_t waited = (uint64_t)wait_us - (uint64_t)thread->wait_us;

	thread->wait_us = wait_us;
	if (waited)
		put_number(writer, (uint64_t)divide_up((int64_t)since_ns, NS_PER_US) - waited);
	else
		writer->kind |= SAMPLE_RAN_ON;
}

/*
 * How long it had been running, in us, if it came onto the CPU more than a period after its sample
 * before; else 0.
 */
static uint64_t run_to_tell(const struct thread_slot *thread, const struct sample_entry *sample,
			    uint64_t period_ns)
{
	uint64_t before_ns = thread->is_known ? thread->time_ns : 0;
	uint64_t run_us = sample->run_ns / NS_PER_US + (sample->run_ns % NS_PER_US > 0);
	uint64_t since_ns = sample->time_ns - before_ns;

	if (sample->time_ns < before_ns || run_us > since_ns / NS_PER_US)
		return 0;
	return since_ns - run_us * NS_PER_US > period_ns ? run_us : 0;
}

static void put_values(struct writer *writer, struct epoch *epoch,
		       const struct sample_entry *sample)
{
	struct thread_slot *thread = epoch->thread;
	uint64_t since_ns = sample->time_ns - thread->time_ns;
	uint64_t run_us = run_to_tell(thread, sample, epoch->period_ns);

	put_time(writer, since_ns, epoch->period_ns);
	put_cpu(writer, thread, since_ns, sample);
	if (run_us) {
		writer->kind |= SAMPLE_RUN;
		put_number(writer, run_us);
	}
	thread->time_ns = sample->time_ns;
	thread->is_known = true;
	epoch->time_ns = sample->time_ns;
}

/* ---- stacks -------------------------------------------------------------------- */

static void put_base(struct writer *writer, const struct entry_encoder *encoder,
		     const struct walk *walk)
{
	uint32_t base = node_of(encoder, walk->known);
	uint32_t back = encoder->epoch.node_count - 1 - base;

	if (base == encoder->epoch.thread->stack)
		return;
	if (walk->known == walk->shared) {
		writer->kind |= SAMPLE_BASE_UP;
		put_number(writer, walk->popped);
	} else if (leb128_size(base) <= leb128_size(back)) {
		writer->kind |= SAMPLE_BASE_NODE;
		put_number(writer, base);
	} else {
		writer->kind |= SAMPLE_BASE_BACK;
		put_number(writer, back);
	}
}

static void put_token(struct writer *writer, uint64_t token)
{
	put_number(writer, token << 1 | 1);
}

static void put_run(struct writer *writer, uint64_t frames)
{
	if (frames)
		put_number(writer, frames << 1);
}

/* Finds out where the frames from step `n` on are to be looked up. */
static void lay_frames(struct entry_encoder *encoder, size_t n)
{
	for (; n < encoder->path_count; n++) {
		struct path_step *step = &encoder->path[n];
		uint64_t hash = entry_cache_hash(~encoder->seed, step->key, step->kind);

		step->set = entry_cache_set(encoder->cache, hash);
		__builtin_prefetch(step->set);
	}
}

/* A frame that the cache does not know, by its value. */
static void put_new_frame(struct writer *writer, struct epoch *epoch, const struct frame *frame,
			  const struct path_step *step)
{
	const struct entry_cache_item item = {step->key, frame_tag(step), epoch->frame_count++,
					      ENTRY_CACHE_NONE};
	uint64_t value = frame_is(frame, GB_FRAME_USER) ? frame->value : entry_cache_key(frame);
	uint64_t *before = &epoch->value[frame->kind];

	put_token(writer, frame->kind < FRAME_NEW_OTHER ? frame->kind : FRAME_NEW_OTHER);
	if (frame->kind >= FRAME_NEW_OTHER)
		put_number(writer, frame->kind);
	put_signed(writer, value - *before);
	if (frame_is(frame, GB_FRAME_USER))
		put_number(writer, frame->stack_words);
	*before = value;
	entry_cache_put(step->set, &item);
}

/*
 * `number` came after the frame of `step`. If that is forgotten by now, its number is not told any
 * more, and nothing needs to follow it.
 */
static void set_next(const struct path_step *step, uint32_t number)
{
	if (entry_cache_find_frame(step->set, frame_tag(step), step->key))
		step->set->link[0] = number;
}

/* Tells a frame that is not the expected one. Returns its number. */
static uint32_t put_frame(struct writer *writer, struct epoch *epoch, const struct frame *frame,
			  const struct path_step *step, bool is_known)
{
	if (is_known)
		put_token(writer, (uint64_t)FRAME_NUMBER + step->set->number[0]);
	else
		put_new_frame(writer, epoch, frame, step);
	return step->set->number[0];
}

static void put_new_frames(struct writer *writer, struct entry_encoder *encoder,
			   const struct sample_entry *sample, size_t known)
{
	uint32_t number, expected = ENTRY_CACHE_NONE, before = ENTRY_CACHE_NONE;
	const struct path_step *path = encoder->path;
	const size_t count = encoder->path_count;
	uint64_t run = 0;
	size_t n;

	lay_frames(encoder, known);
	for (n = known; n < count; n++, before = number) {
		const struct path_step *step = &path[n];
		bool is_known = entry_cache_find_frame(step->set, frame_tag(step), step->key);

		if (is_known && step->set->number[0] == expected) {
			number = expected;
			expected = step->set->link[0];
			run++;
			continue;
		}
		put_run(writer, run);
		run = 0;
		number = put_frame(writer, &encoder->epoch, &sample->frames[n], step, is_known);
		expected = step->set->link[0];
		if (n > known)
			set_next(&step[-1], number);
		/* A frame that came after itself. */
		if (number == before)
			expected = number;
	}
	put_run(writer, run);
}

/* ---- entries ------------------------------------------------------------------- */

static int make_room(struct entry_encoder *encoder, const struct sample_entry *sample)
{
	if (sample->frame_count > SAMPLE_MAX_FRAMES)
		return -E2BIG;
	return array_reserve((void **)&encoder->path, &encoder->path_capacity, sample->frame_count,
			     sizeof(*encoder->path));
}

/* Begins an epoch if one has to begin; returns whether it did. */
static bool restart_if_needed(struct entry_encoder *encoder, bool is_wanted)
{
	if (!is_wanted && encoder->cache_epoch &&
	    entry_cache_knows(encoder->cache, encoder->cache_epoch) &&
	    encoder->epoch.node_count < ENTRY_MAX_NODES - SAMPLE_MAX_FRAMES)
		return false;
	epoch_restart(&encoder->epoch, encoder->period_ns);
	encoder->cache_epoch = entry_cache_begin(encoder->cache);
	if (!encoder->seed)
		encoder->seed = encoder->cache_epoch;
	encoder->path_count = 0;
	return true;
}

static bool is_news(uint64_t told, uint64_t address)
{
	return address && address != told;
}

/* What is there to say of a sample that most have nothing to say of: bits of enum sample_more. */
static uint8_t more_to_say(const struct thread_slot *thread, const struct sample_entry *sample)
{
	return (uint8_t)((sample->event ? MORE_EVENT : 0) |
			 (sample->weight != 1 ? MORE_WEIGHT : 0) |
			 (is_news(thread->stack_base, sample->stack_base) ? MORE_STACK_BASE : 0) |
			 (is_news(thread->far_sp, sample->far_sp) ? MORE_FAR_SP : 0) |
			 (sample->slept_ns >= NS_PER_US ? MORE_SLEPT : 0));
}

static void put_more(struct writer *writer, struct epoch *epoch, uint8_t more,
		     const struct sample_entry *sample)
{
	*writer->out++ = more;
	if (more & MORE_EVENT)
		put_number(writer, sample->event);
	if (more & MORE_WEIGHT)
		put_signed(writer, (uint64_t)sample->weight);
	if (more & MORE_STACK_BASE) {
		put_signed(writer, sample->stack_base - epoch->stack_base);
		epoch->stack_base = epoch->thread->stack_base = sample->stack_base;
	}
	if (more & MORE_FAR_SP) {
		put_signed(writer, sample->far_sp - epoch->far_sp);
		epoch->far_sp = epoch->thread->far_sp = sample->far_sp;
	}
	if (more & MORE_SLEPT)
		put_number(writer, sample->slept_ns / NS_PER_US);
}

static void put_restart(struct writer *writer, const struct entry_encoder *encoder)
{
	put_number(writer, 0);
	put_number(writer, ENTRY_VERSION);
	put_number(writer, encoder->period_ns);
}

/*
 * Puts before the sample at `body`, whose first byte is its kind, what comes before it. Returns where that begins.
 */
static uint8_t *put_head(struct entry_encoder *encoder, const struct sample_entry *sample,
			 bool is_restart, uint8_t *body)
{
	uint8_t more = more_to_say(encoder->epoch.thread, sample);
	uint8_t head[ENTRY_HEAD_BYTES];
	struct writer writer = {.out = head + 1};
	size_t size;

	if (!more && !is_restart)
		return body;
	head[0] = (uint8_t)((more ? ENTRY_MORE_SAMPLE << 1 : *body++) |
			    (is_restart ? ENTRY_RESTART : 0));
	if (is_restart)
		put_restart(&writer, encoder);
	if (more)
		put_more(&writer, &encoder->epoch, more, sample);
	size = (size_t)(writer.out - head);
	return memcpy(body - size, head, size);
}

static int encode(struct entry_encoder *encoder, const struct sample_entry *sample,
		  struct writer *writer)
{
	struct walk walk;
	int err = put_thread(writer, &encoder->epoch, sample);

	if (err)
		return err;
	put_values(writer, &encoder->epoch, sample);
	walk = walk_path(encoder, sample, sample->frame_count);
	put_base(writer, encoder, &walk);
	make_nodes(encoder, walk.known);
	put_new_frames(writer, encoder, sample, walk.known);
	encoder->epoch.thread->stack = node_of(encoder, encoder->path_count);
	return 0;
}

int entry_encode_sample(struct entry_encoder *encoder, const struct sample_entry *sample,
			bool restart, const uint8_t **bytes, size_t *size)
{
	uint8_t *body = encoder->cache->scratch + ENTRY_HEAD_BYTES;
	struct writer writer = {body + 1, ENTRY_SAMPLE};
	int err = make_room(encoder, sample);

	if (err)
		return err;
	restart = restart_if_needed(encoder, restart);
	err = encode(encoder, sample, &writer);
	if (err) {
		entry_encoder_drop(encoder);
		return err;
	}
	*body = writer.kind;
	*bytes = put_head(encoder, sample, restart, body);
	*size = (size_t)(writer.out - *bytes);
	return 0;
}

int entry_encode_counter(struct entry_encoder *encoder, const struct counter_entry *entry,
			 bool restart, const uint8_t **bytes, size_t *size)
{
	uint8_t *start = encoder->cache->scratch;
	struct writer writer = {start + 1, ENTRY_COUNTER << 1};
	uint64_t *before;

	if (entry->counter >= ENTRY_COUNTERS)
		return -EINVAL;
	if (restart_if_needed(encoder, restart)) {
		writer.kind |= ENTRY_RESTART;
		put_restart(&writer, encoder);
	}
	before = &encoder->epoch.counters[entry->counter];
	put_number(&writer, entry->counter);
	put_signed(&writer, entry->time_ns - encoder->epoch.time_ns);
	put_signed(&writer, (uint64_t)entry->value - *before);
	*before = (uint64_t)entry->value;
	*start = writer.kind;
	*bytes = start;
	*size = (size_t)(writer.out - start);
	return 0;
}
