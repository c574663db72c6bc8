/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_decode.c - bytes to samples and counters. What the bytes say is not trusted; what they make us remember
 * is bounded by their number: a frame costs bytes, and an entry makes SAMPLE_MAX_FRAMES nodes at
 * most.
 */
#include "buffer/entry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "buffer/entry_reader.h"
#include "buffer/epoch.h"

#define FRAME_NONE UINT32_MAX

struct known_frame {
	struct frame frame;
	uint32_t next; /* the frame that last came after it; FRAME_NONE: none */
};

struct entry_decoder {
	struct epoch epoch;
	uint32_t stack; /* of the sample before */
	bool is_started;
	bool is_version_2; /* the epoch */
	struct known_frame *frames; /* by number: epoch.frame_count */
	size_t frame_capacity;
	uint32_t *prefixes; /* by node: epoch.node_count */
	size_t prefix_capacity;
};

/* An entry being read. */
struct told {
	struct sample_view sample;
	uint8_t kind; /* of the entry, then of the sample that it ends with */
	uint8_t more; /* enum sample_more */
};

int entry_decoder_open(struct entry_decoder **out)
{
	struct entry_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	*out = decoder;
	return 0;
}

void entry_decoder_close(struct entry_decoder *decoder)
{
	if (!decoder)
		return;
	epoch_clear(&decoder->epoch);
	free(decoder->frames);
	free(decoder->prefixes);
	free(decoder);
}

void entry_decoder_forget(struct entry_decoder *decoder)
{
	decoder->is_started = false;
}

/* ---- values -------------------------------------------------------------------- */

static int get_thread(struct reader *reader, uint8_t kind, struct epoch *epoch)
{
	uint64_t number;
	int err;

	if (!(kind & SAMPLE_THREAD))
		return epoch->thread ? 0 : -EBADMSG;
	err = get_number(reader, (uint64_t)UINT32_MAX << 1 | 1, &number);
	if (!err)
		err = epoch_enter_thread(epoch, (uint32_t)(number >> 1));
	if (err || !(number & 1))
		return err;
	return get_byte(reader, &epoch->thread->user_end);
}

static int get_time(struct reader *reader, uint8_t kind, uint64_t period_ns, uint64_t *since_ns)
{
	uint64_t periods = 1;
	int err = kind & SAMPLE_PERIODS ? get_signed(reader, &periods) : 0;

	if (!err)
		err = get_signed(reader, since_ns);
	if (!err)
		*since_ns += periods * period_ns;
	return err;
}

/* Rounded, what it waited may be more than there was. */
static uint64_t cpu_time(uint64_t time_ns, int64_t wait_us)
{
	uint64_t wait_ns = (uint64_t)wait_us * NS_PER_US;

	return wait_us > 0 && wait_ns > time_ns ? 0 : time_ns - wait_ns;
}

static int get_cpu(struct reader *reader, uint8_t kind, struct thread_slot *thread,
		   uint64_t since_ns)
{
	uint64_t ran_us, since_us;
	int err;

	if (kind & SAMPLE_RAN_ON)
		return 0;
	err = get_number(reader, UINT64_MAX, &ran_us);
	if (err)
		return err;
	since_us = (uint64_t)divide_up((int64_t)since_ns, NS_PER_US);
	thread->wait_us = (int64_t)((uint64_t)thread->wait_us + since_us - ran_us);
	return 0;
}

static int get_run(struct reader *reader, uint8_t kind, uint64_t *run_ns)
{
	uint64_t run_us;
	int err;

	if (!(kind & SAMPLE_RUN))
		return 0;
	err = get_number(reader, UINT64_MAX / NS_PER_US, &run_us);
	if (err || !run_us)
		return -EBADMSG;
	*run_ns = run_us * NS_PER_US;
	return 0;
}

static int get_values(struct reader *reader, uint8_t kind, struct epoch *epoch,
		      struct sample_view *sample)
{
	struct thread_slot *thread = epoch->thread;
	uint64_t since_ns;
	int err = get_time(reader, kind, epoch->period_ns, &since_ns);

	if (!err)
		err = get_cpu(reader, kind, thread, since_ns);
	if (!err)
		err = get_run(reader, kind, &sample->run_ns);
	if (err)
		return err;
	thread->time_ns += since_ns;
	epoch->time_ns = thread->time_ns;
	sample->thread = thread->thread;
	sample->user_end = thread->user_end;
	sample->time_ns = thread->time_ns;
	sample->cpu_ns = cpu_time(thread->time_ns, thread->wait_us);
	sample->stack_base = thread->stack_base;
	sample->far_sp = thread->far_sp;
	return 0;
}

/* ---- stacks -------------------------------------------------------------------- */

/* `count` frames up from the sample before. */
static int go_up(const struct entry_decoder *decoder, uint64_t count, uint32_t *stack)
{
	uint32_t node = decoder->stack;

	for (; count && node != STACK_NODE_NONE; count--)
		node = decoder->prefixes[node];
	*stack = node;
	return count ? -EBADMSG : 0;
}

static int get_base(struct reader *reader, uint8_t kind, const struct entry_decoder *decoder,
		    uint32_t *stack)
{
	uint32_t node_count = decoder->epoch.node_count;
	uint64_t number;
	int err;

	if ((kind & SAMPLE_BASE) == SAMPLE_BASE_SAME)
		return 0;
	err = get_number(reader, UINT32_MAX, &number);
	if (err)
		return err;
	if ((kind & SAMPLE_BASE) == SAMPLE_BASE_UP)
		return number <= SAMPLE_MAX_FRAMES ? go_up(decoder, number, stack) : -EBADMSG;
	if (number >= node_count)
		return -EBADMSG;
	*stack = (uint32_t)number;
	if ((kind & SAMPLE_BASE) == SAMPLE_BASE_BACK)
		*stack = node_count - 1 - *stack;
	return 0;
}

/* Makes room for as many nodes as an entry may make. */
static int make_node_room(struct entry_decoder *decoder)
{
	uint32_t count = decoder->epoch.node_count;

	if (count > ENTRY_MAX_NODES - SAMPLE_MAX_FRAMES)
		return -EBADMSG;
	return array_reserve((void **)&decoder->prefixes, &decoder->prefix_capacity,
			     (size_t)count + SAMPLE_MAX_FRAMES, sizeof(*decoder->prefixes));
}

/* In version 2, why a stack was cut was said by a root of user code: no code is at addresses that low. */
static int tell_version_2_node(const struct reader *reader, uint32_t node, uint32_t prefix,
			       const struct frame *frame)
{
	struct frame told = *frame;

	if (prefix == STACK_NODE_NONE && frame_is(frame, GB_FRAME_USER) &&
	    frame->value < GB_STACK_END_COUNT)
		told.kind = GB_FRAME_TRUNCATED;
	return reader->visitor->node(reader->context, node, prefix, &told);
}

/* Frame `number` becomes a node under *stack, which becomes that node. There is room for it. */
static int add_node(const struct reader *reader, struct entry_decoder *decoder, uint32_t number,
		    uint32_t *stack)
{
	const struct frame *frame = &decoder->frames[number].frame;
	const uint32_t node = decoder->epoch.node_count++, prefix = *stack;

	decoder->prefixes[node] = prefix;
	*stack = node;
	if (decoder->is_version_2)
		return tell_version_2_node(reader, node, prefix, frame);
	return reader->visitor->node(reader->context, node, prefix, frame);
}

/* A value that has both: see entry.h. */
static void take_apart(struct frame *frame)
{
	frame->stack_words = (uint16_t)(frame->value >> GB_FRAME_PC_BITS);
	frame->value &= (1ULL << GB_FRAME_PC_BITS) - 1;
}

/* One that was not told before: what it is. */
static int get_new_frame(struct reader *reader, struct entry_decoder *decoder, uint64_t token,
			 struct known_frame *frame)
{
	uint64_t kind = token, change, words = 0;
	int err = token == FRAME_NEW_OTHER ? get_number(reader, FRAME_KINDS_MAX - 1, &kind) : 0;

	if (!err)
		err = get_signed(reader, &change);
	if (!err && token == FRAME_NEW_USER && !decoder->is_version_2)
		err = get_number(reader, FRAME_FAR, &words);
	if (err)
		return err;
	frame->frame.value = decoder->epoch.value[kind] += change;
	frame->frame.stack_words = (uint16_t)words;
	frame->frame.kind = (uint8_t)kind;
	if (token == FRAME_NEW_OTHER && frame_is_user(&frame->frame))
		take_apart(&frame->frame);
	frame->next = FRAME_NONE;
	return 0;
}

static int add_frame(struct reader *reader, struct entry_decoder *decoder, uint64_t token)
{
	uint32_t count = decoder->epoch.frame_count;
	int err = array_reserve((void **)&decoder->frames, &decoder->frame_capacity,
				(size_t)count + 1, sizeof(*decoder->frames));

	if (!err)
		err = get_new_frame(reader, decoder, token, &decoder->frames[count]);
	if (!err)
		decoder->epoch.frame_count++;
	return err;
}

/* New frames being read. */
struct frame_run {
	uint32_t stack; /* the node of the last one */
	uint32_t frame; /* its frame; FRAME_NONE: none yet */
	uint32_t room; /* for so many more */
};

/* Of frames that are expected. */
static int get_expected(struct reader *reader, struct entry_decoder *decoder, uint64_t count,
			struct frame_run *run)
{
	int err = 0;

	if (!count || count > run->room || run->frame == FRAME_NONE)
		return -EBADMSG;
	run->room -= (uint32_t)count;
	for (; count && !err; count--) {
		run->frame = decoder->frames[run->frame].next;
		if (run->frame == FRAME_NONE)
			return -EBADMSG;
		err = add_node(reader, decoder, run->frame, &run->stack);
	}
	return err;
}

/* Of one that is told. */
static int get_frame(struct reader *reader, struct entry_decoder *decoder, uint64_t token,
		     struct frame_run *run)
{
	uint32_t first = decoder->is_version_2 ? FRAME_NEW_OTHER : FRAME_NUMBER;
	uint32_t number = decoder->epoch.frame_count;
	int err = 0;

	if (token < first)
		err = add_frame(reader, decoder, token);
	else if (token - first < number)
		number = (uint32_t)(token - first);
	else
		return -EBADMSG;
	if (err || !run->room--)
		return err ? err : -EBADMSG;
	if (run->frame != FRAME_NONE)
		decoder->frames[run->frame].next = number;
	run->frame = number;
	return add_node(reader, decoder, number, &run->stack);
}

static int get_new_frames(struct reader *reader, struct entry_decoder *decoder, uint32_t *stack)
{
	struct frame_run run = {*stack, FRAME_NONE, SAMPLE_MAX_FRAMES};
	uint64_t token;
	int err = make_node_room(decoder);

	while (reader->in != reader->end && !err) {
		err = get_number(reader, UINT64_MAX, &token);
		if (err)
			break;
		if (token & 1)
			err = get_frame(reader, decoder, token >> 1, &run);
		else
			err = get_expected(reader, decoder, token >> 1, &run);
	}
	*stack = run.stack;
	return err;
}

/* ---- entries ------------------------------------------------------------------- */

/*
 * The fields of a sample with more, and its kind: what they say of the thread, which is not known
 * yet, waits in the epoch.
 */
static int get_more(struct reader *reader, struct epoch *epoch, struct told *told)
{
	uint64_t event = 0, weight = 1, stack_base = 0, far_sp = 0, slept_us = 0;
	int err = get_byte(reader, &told->more);

	if (!err && told->more & ~MORE_ALL)
		err = -EBADMSG;
	if (!err && told->more & MORE_EVENT)
		err = get_number(reader, UINT32_MAX, &event);
	if (!err && told->more & MORE_WEIGHT)
		err = get_signed(reader, &weight);
	if (!err && told->more & MORE_STACK_BASE)
		err = get_signed(reader, &stack_base);
	if (!err && told->more & MORE_FAR_SP)
		err = get_signed(reader, &far_sp);
	if (!err && told->more & MORE_SLEPT)
		err = get_number(reader, UINT64_MAX / NS_PER_US, &slept_us);
	if (!err)
		err = get_byte(reader, &told->kind);
	if (err || (told->kind & (ENTRY_SAMPLE | ENTRY_RESTART)) != ENTRY_SAMPLE)
		return -EBADMSG;
	epoch->stack_base += stack_base;
	epoch->far_sp += far_sp;
	told->sample.event = (uint32_t)event;
	told->sample.weight = (int64_t)weight;
	told->sample.slept_ns = slept_us * NS_PER_US;
	return 0;
}

static int get_counter(struct reader *reader, struct epoch *epoch, struct told *told)
{
	uint64_t counter, since_ns = 0, change = 0;
	struct counter_entry entry;
	int err = get_number(reader, ENTRY_COUNTERS - 1, &counter);

	if (!err)
		err = get_signed(reader, &since_ns);
	if (!err)
		err = get_signed(reader, &change);
	if (err || reader->in != reader->end)
		return -EBADMSG;
	told->kind = 0;
	epoch->counters[counter] += change;
	entry.counter = (uint32_t)counter;
	entry.time_ns = epoch->time_ns + since_ns;
	entry.value = (int64_t)epoch->counters[counter];
	return reader->visitor->counter ? reader->visitor->counter(reader->context, &entry) : 0;
}

/* The thread's stack is elsewhere than before. */
static void move_stack(struct epoch *epoch, uint8_t more)
{
	if (more & MORE_STACK_BASE)
		epoch->thread->stack_base = epoch->stack_base;
	if (more & MORE_FAR_SP)
		epoch->thread->far_sp = epoch->far_sp;
}

static int get_sample(struct reader *reader, struct entry_decoder *decoder, struct told *told)
{
	struct sample_view *sample = &told->sample;
	struct epoch *epoch = &decoder->epoch;
	int err = get_thread(reader, told->kind, epoch);

	if (err)
		return err;
	if (told->more)
		move_stack(epoch, told->more);
	err = get_values(reader, told->kind, epoch, sample);
	if (err)
		return err;
	sample->stack = epoch->thread->stack;
	err = get_base(reader, told->kind, decoder, &sample->stack);
	if (!err && reader->in != reader->end)
		err = get_new_frames(reader, decoder, &sample->stack);
	if (err)
		return err;
	epoch->thread->stack = sample->stack;
	decoder->stack = sample->stack;
	return 0;
}

static int decode_restart(struct reader *reader, struct entry_decoder *decoder)
{
	uint64_t period_ns, version = 2;
	int err = get_number(reader, UINT64_MAX, &period_ns);

	if (!err && !period_ns) {
		err = get_number(reader, UINT64_MAX, &version);
		if (!err)
			err = get_number(reader, UINT64_MAX, &period_ns);
		if (!err && version != ENTRY_VERSION)
			err = -EBADMSG;
	}
	if (err || !period_ns)
		return -EBADMSG;
	epoch_restart(&decoder->epoch, period_ns);
	decoder->stack = STACK_NODE_NONE;
	decoder->is_version_2 = version == 2;
	decoder->is_started = true;
	return reader->visitor->restart(reader->context);
}

/*
 * The readers of entries that are no mere samples, by their number. One reads what follows the
 * restart, and leaves the kind of the sample that comes after that in told->kind; or 0: that was
 * all. A new kind is a row, and its reader a file.
 */
static int (*const others[ENTRY_NUMBERS])(struct reader *reader, struct epoch *epoch,
					  struct told *told) = {
	[ENTRY_MORE_SAMPLE] = get_more,
	[ENTRY_COUNTER] = get_counter,
};

static int decode(struct reader *reader, struct entry_decoder *decoder, struct told *told)
{
	const uint8_t kind = told->kind;
	bool is_sample = kind & ENTRY_SAMPLE;
	int err = 0;

	if ((!is_sample && !others[kind >> 1]) || !(kind & ENTRY_RESTART || decoder->is_started))
		return -EBADMSG;
	if (kind & ENTRY_RESTART)
		err = decode_restart(reader, decoder);
	if (!err && !is_sample)
		err = others[kind >> 1](reader, &decoder->epoch, told);
	if (!err && told->kind)
		err = get_sample(reader, decoder, told);
	return err;
}

int entry_decode(struct entry_decoder *decoder, const uint8_t *bytes, size_t size,
		 const struct profile_visitor *visitor, void *context)
{
	struct reader reader = {bytes, bytes + size, visitor, context};
	struct told told;
	int err;

	/* Reading sets all the rest. */
	told.kind = size ? *reader.in++ : 0;
	told.more = 0;
	told.sample.event = 0;
	told.sample.weight = 1;
	told.sample.run_ns = 0;
	told.sample.slept_ns = 0;
	err = decode(&reader, decoder, &told);
	if (!err)
		return told.kind ? visitor->sample(context, &told.sample) : 0;
	entry_decoder_forget(decoder);
	return err;
}
