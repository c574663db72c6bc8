/* SPDX-License-Identifier: BSD-2-Clause */
/* entry.c - samples to bytes and back. */
#include "buffer/entry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/leb128.h"
#include "buffer/epoch.h"

enum {
	ENTRY_RESTART = 1 << 0,
	SAMPLE_THREAD = 1 << 1,
	SAMPLE_SAME_STACK = 1 << 2,
	SAMPLE_NEW_FRAMES = 1 << 3,
	SAMPLE_USER_END = 1 << 4,
	SAMPLE_RUN_MOVED = 1 << 5,
	SAMPLE_RUN_GOES_ON = 1 << 6,
	ENTRY_SAMPLE = 1 << 7,
};

/* Bytes of a sample without its frames, at most. */
#define SAMPLE_HEAD_BYTES (1 + LEB128_MAX_BYTES_U32 + 3 * LEB128_MAX_BYTES_U64 + 1 + 3 * 10)

/* ---- writing ----------------------------------------------------------------- */

/* A frame of the stack that was encoded last. */
struct path_step {
	uint64_t pc;
	uint32_t is_kernel;
	uint32_t node;
};

struct entry_encoder {
	struct epoch epoch;
	struct node_table nodes;
	/* Most stacks begin as the one before: those frames need no look into the table. */
	struct path_step *path;
	size_t path_count, path_capacity;
	uint8_t *bytes;
	size_t bytes_capacity;
	bool must_restart;
};

int entry_encoder_open(struct entry_encoder **out)
{
	struct entry_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return -ENOMEM;
	encoder->must_restart = true;
	*out = encoder;
	return 0;
}

void entry_encoder_close(struct entry_encoder *encoder)
{
	if (!encoder)
		return;
	epoch_clear(&encoder->epoch);
	node_table_clear(&encoder->nodes);
	free(encoder->path);
	free(encoder->bytes);
	free(encoder);
}

void entry_encoder_drop(struct entry_encoder *encoder)
{
	encoder->must_restart = true;
}

static void encoder_restart(struct entry_encoder *encoder)
{
	epoch_restart(&encoder->epoch);
	node_table_restart(&encoder->nodes);
	encoder->path_count = 0;
	encoder->must_restart = false;
}

static int encoder_make_room(struct entry_encoder *encoder, size_t frame_count)
{
	size_t bytes;
	int err;

	if (frame_count >= UINT32_MAX - encoder->nodes.count)
		return -E2BIG;
	if (__builtin_mul_overflow(frame_count, (size_t)LEB128_MAX_BYTES_U64, &bytes) ||
	    __builtin_add_overflow(bytes, (size_t)SAMPLE_HEAD_BYTES, &bytes))
		return -E2BIG;
	err = array_reserve((void **)&encoder->bytes, &encoder->bytes_capacity, bytes, 1);
	if (err)
		return err;
	return array_reserve((void **)&encoder->path, &encoder->path_capacity, frame_count,
			     sizeof(*encoder->path));
}

static uint32_t is_kernel_frame(const struct sample_entry *sample, size_t n)
{
	return n >= sample->user_count;
}

/* How many frames, from the root, the sample shares with the one before. */
static size_t shared_path(const struct entry_encoder *encoder, const struct sample_entry *sample,
			  size_t frame_count)
{
	size_t end = frame_count < encoder->path_count ? frame_count : encoder->path_count;
	size_t n;

	for (n = 0; n < end; n++) {
		const struct path_step *step = &encoder->path[n];

		if (step->pc != sample->frames[n] || step->is_kernel != is_kernel_frame(sample, n))
			break;
	}
	return n;
}

/* The node of frame `n`, whose prefix is path[n - 1]; made if it is new, which *is_new tells. */
static int encoder_step(struct entry_encoder *encoder, const struct sample_entry *sample, size_t n,
			bool *is_new)
{
	struct path_step *step = &encoder->path[n];
	uint32_t prefix = n ? step[-1].node : STACK_NODE_NONE;
	struct node_slot frame;

	step->pc = sample->frames[n];
	step->is_kernel = is_kernel_frame(sample, n);
	frame = (struct node_slot){step->pc, prefix, step->is_kernel, 0, 0};
	return node_table_get(&encoder->nodes, &frame, &step->node, is_new);
}

/* Makes path[] that of the sample. *known gets how many frames from the root had a node before. */
static int encoder_walk(struct entry_encoder *encoder, const struct sample_entry *sample,
			size_t frame_count, size_t *known)
{
	size_t n = shared_path(encoder, sample, frame_count);
	bool is_new = false;

	*known = frame_count;
	for (; n < frame_count; n++) {
		int err = encoder_step(encoder, sample, n, &is_new);

		if (err)
			return err;
		/* Below a new node, all are new. */
		if (is_new && *known == frame_count)
			*known = n;
	}
	encoder->path_count = frame_count;
	return 0;
}

/* Difference to *before, which becomes `now`. */
static uint8_t *put_change(uint8_t *out, uint64_t *before, uint64_t now)
{
	out = leb128_put(out, zigzag((int64_t)(now - *before)));
	*before = now;
	return out;
}

static uint8_t *put_run(uint8_t *out, uint8_t *kind, struct thread_slot *thread,
			const struct sample_entry *sample)
{
	uint64_t start_ns = sample->time_ns - sample->run_ns;

	if (!sample->run_ns)
		return out;
	if (start_ns == thread->run_start_ns) {
		*kind |= SAMPLE_RUN_GOES_ON;
		return out;
	}
	*kind |= SAMPLE_RUN_MOVED;
	return put_change(out, &thread->run_start_ns, start_ns);
}

static uint8_t *put_user_end(uint8_t *out, uint8_t *kind, struct thread_slot *thread,
			     uint8_t user_end)
{
	if (user_end == thread->user_end)
		return out;
	*kind |= SAMPLE_USER_END;
	thread->user_end = user_end;
	*out++ = user_end;
	return out;
}

static uint8_t *put_new_frames(uint8_t *out, struct entry_encoder *encoder, size_t known,
			       const struct sample_entry *sample)
{
	size_t user = known < sample->user_count ? sample->user_count - known : 0;
	size_t n;

	out = leb128_put(out, user);
	out = leb128_put(out, encoder->path_count - known - user);
	for (n = known; n < encoder->path_count; n++) {
		const struct path_step *step = &encoder->path[n];

		out = put_change(out, &encoder->epoch.pc[step->is_kernel], step->pc);
	}
	return out;
}

/* The stack is in path[]; its first `known` frames are known to readers. */
static uint8_t *put_stack(uint8_t *out, uint8_t *kind, struct entry_encoder *encoder,
			  struct thread_slot *thread, size_t known,
			  const struct sample_entry *sample)
{
	size_t count = encoder->path_count;
	uint32_t stack = count ? encoder->path[count - 1].node : STACK_NODE_NONE;
	bool is_same = known == count && stack == thread->stack;

	thread->stack = stack;
	if (is_same) {
		*kind |= SAMPLE_SAME_STACK;
		return out;
	}
	out = leb128_put(out, known ? (uint64_t)encoder->path[known - 1].node + 1 : 0);
	if (known == count)
		return out;
	*kind |= SAMPLE_NEW_FRAMES;
	return put_new_frames(out, encoder, known, sample);
}

static int encode(struct entry_encoder *encoder, const struct sample_entry *sample, uint8_t kind,
		  size_t *size)
{
	size_t frame_count = (size_t)sample->user_count + sample->kernel_count;
	struct epoch *epoch = &encoder->epoch;
	struct thread_slot *thread;
	uint8_t *out;
	size_t known;
	int err;

	err = encoder_make_room(encoder, frame_count);
	if (err)
		return err;
	err = encoder_walk(encoder, sample, frame_count, &known);
	if (err)
		return err;
	thread = epoch_thread(epoch, sample->thread);
	if (!thread)
		return -ENOMEM;
	out = encoder->bytes + 1;
	if (sample->thread != epoch->thread) {
		kind |= SAMPLE_THREAD;
		epoch->thread = sample->thread;
		out = leb128_put(out, sample->thread);
	}
	out = put_change(out, &epoch->time_ns, sample->time_ns);
	out = put_change(out, &thread->cpu_ns, sample->cpu_ns);
	out = put_run(out, &kind, thread, sample);
	out = put_user_end(out, &kind, thread, sample->user_end);
	out = put_stack(out, &kind, encoder, thread, known, sample);
	encoder->bytes[0] = kind;
	*size = (size_t)(out - encoder->bytes);
	return 0;
}

int entry_encode_sample(struct entry_encoder *encoder, const struct sample_entry *sample,
			bool restart, const uint8_t **bytes, size_t *size)
{
	uint8_t kind = ENTRY_SAMPLE;
	int err;

	if (restart || encoder->must_restart) {
		encoder_restart(encoder);
		kind |= ENTRY_RESTART;
	}
	err = encode(encoder, sample, kind, size);
	if (err) {
		encoder->must_restart = true;
		return err;
	}
	*bytes = encoder->bytes;
	return 0;
}

/* ---- reading ----------------------------------------------------------------- */

struct entry_decoder {
	struct epoch epoch;
	bool is_started;
};

/* What is left of one payload, and who is told. */
struct reader {
	const uint8_t *in, *end;
	const struct profile_visitor *visitor;
	void *context;
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
	free(decoder);
}

static int get_number(struct reader *reader, uint64_t max, uint64_t *value)
{
	uint64_t got;
	const uint8_t *after = leb128_get(reader->in, reader->end, &got);

	if (!after || got > max)
		return -EBADMSG;
	reader->in = after;
	*value = got;
	return 0;
}

/* Adds a difference to *value. */
static int get_change(struct reader *reader, uint64_t *value)
{
	uint64_t change;
	int err = get_number(reader, UINT64_MAX, &change);

	if (err)
		return err;
	*value += (uint64_t)unzigzag(change);
	return 0;
}

static int get_thread(struct reader *reader, uint8_t kind, struct epoch *epoch,
		      struct thread_slot **thread)
{
	uint64_t number = epoch->thread;
	int err = kind & SAMPLE_THREAD ? get_number(reader, UINT32_MAX, &number) : 0;

	if (err)
		return err;
	epoch->thread = (uint32_t)number;
	*thread = epoch_thread(epoch, epoch->thread);
	return *thread ? 0 : -ENOMEM;
}

static int get_run(struct reader *reader, uint8_t kind, struct thread_slot *thread,
		   struct sample_view *sample)
{
	int err = kind & SAMPLE_RUN_MOVED ? get_change(reader, &thread->run_start_ns) : 0;

	if (err)
		return err;
	if (kind & (SAMPLE_RUN_MOVED | SAMPLE_RUN_GOES_ON))
		sample->run_ns = sample->time_ns - thread->run_start_ns;
	return 0;
}

static int get_user_end(struct reader *reader, uint8_t kind, struct thread_slot *thread)
{
	if (!(kind & SAMPLE_USER_END))
		return 0;
	if (reader->in == reader->end)
		return -EBADMSG;
	thread->user_end = *reader->in++;
	return 0;
}

/* `count` new nodes under *stack, which becomes the last of them. */
static int get_frames(struct reader *reader, struct epoch *epoch, uint64_t count, bool is_kernel,
		      uint32_t *stack)
{
	for (; count; count--) {
		uint32_t node = epoch->node_count;
		int err = get_change(reader, &epoch->pc[is_kernel]);

		if (err)
			return err;
		if (node >= STACK_NODE_NONE - 1)
			return -EBADMSG;
		err = reader->visitor->node(reader->context, node, *stack, epoch->pc[is_kernel],
					    is_kernel);
		if (err)
			return err;
		epoch->node_count++;
		*stack = node;
	}
	return 0;
}

static int get_new_frames(struct reader *reader, struct epoch *epoch, uint32_t *stack)
{
	uint64_t user, kernel;
	int err = get_number(reader, UINT32_MAX, &user);

	if (!err)
		err = get_number(reader, UINT32_MAX, &kernel);
	if (!err && user + kernel == 0)
		err = -EBADMSG;
	if (!err)
		err = get_frames(reader, epoch, user, false, stack);
	if (!err)
		err = get_frames(reader, epoch, kernel, true, stack);
	return err;
}

static int get_stack(struct reader *reader, uint8_t kind, struct epoch *epoch,
		     struct thread_slot *thread)
{
	uint64_t base;
	int err;

	if (kind & SAMPLE_SAME_STACK)
		return kind & SAMPLE_NEW_FRAMES ? -EBADMSG : 0;
	err = get_number(reader, epoch->node_count, &base);
	if (err)
		return err;
	thread->stack = base ? (uint32_t)base - 1 : STACK_NODE_NONE;
	return kind & SAMPLE_NEW_FRAMES ? get_new_frames(reader, epoch, &thread->stack) : 0;
}

static int get_values(struct reader *reader, uint8_t kind, struct epoch *epoch,
		      struct thread_slot *thread, struct sample_view *sample)
{
	int err = get_change(reader, &epoch->time_ns);

	if (!err)
		err = get_change(reader, &thread->cpu_ns);
	sample->thread = epoch->thread;
	sample->time_ns = epoch->time_ns;
	sample->cpu_ns = thread->cpu_ns;
	if (!err)
		err = get_run(reader, kind, thread, sample);
	if (!err)
		err = get_user_end(reader, kind, thread);
	sample->user_end = thread->user_end;
	return err;
}

static int decode_sample(struct reader *reader, uint8_t kind, struct epoch *epoch)
{
	struct sample_view sample = {0};
	struct thread_slot *thread;
	int err;

	if ((kind & SAMPLE_RUN_MOVED) && (kind & SAMPLE_RUN_GOES_ON))
		return -EBADMSG;
	err = get_thread(reader, kind, epoch, &thread);
	if (!err)
		err = get_values(reader, kind, epoch, thread, &sample);
	if (!err)
		err = get_stack(reader, kind, epoch, thread);
	if (!err && reader->in != reader->end)
		err = -EBADMSG;
	if (err)
		return err;
	sample.stack = thread->stack;
	return reader->visitor->sample(reader->context, &sample);
}

int entry_decode(struct entry_decoder *decoder, const uint8_t *bytes, size_t size,
		 const struct profile_visitor *visitor, void *context)
{
	struct reader reader = {bytes, bytes + size, visitor, context};
	uint8_t kind;
	int err;

	if (!size)
		return -EBADMSG;
	kind = *reader.in++;
	if (!(kind & ENTRY_SAMPLE) || !(kind & ENTRY_RESTART || decoder->is_started))
		return -EBADMSG;
	if (kind & ENTRY_RESTART) {
		epoch_restart(&decoder->epoch);
		decoder->is_started = true;
		err = visitor->restart(context);
		if (err)
			return err;
	}
	return decode_sample(&reader, kind, &decoder->epoch);
}
