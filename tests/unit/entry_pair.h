/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_pair.h - what the tests of the grammar share: an encoder, a decoder, and a visitor that
 * rebuilds the stacks it is told. After cmocka.h.
 */
#ifndef GECKOBPF_TESTS_ENTRY_PAIR_H
#define GECKOBPF_TESTS_ENTRY_PAIR_H

#include "alloc.h"
#include "buffer/entry.h"
#include "buffer/entry_cache.h"
#include "frames.h"

#define NODES_MAX 8192
#define PERIOD 1000000

/* A visitor that knows the tree and keeps the last sample. */
struct listener {
	struct listener_node {
		struct frame frame;
		uint32_t prefix;
	} nodes[NODES_MAX];
	uint32_t node_count;
	size_t restarts, samples;
	struct sample_view sample;
	int restart_result, node_result, sample_result;
};

static inline int on_restart(void *context)
{
	struct listener *listener = context;

	listener->restarts++;
	listener->node_count = 0;
	return listener->restart_result;
}

static inline int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct listener *listener = context;

	assert_int_equal(node, listener->node_count);
	assert_true(prefix == STACK_NODE_NONE || prefix < node);
	assert_true(node < NODES_MAX);
	listener->nodes[listener->node_count++] = (struct listener_node){*frame, prefix};
	return listener->node_result;
}

static inline int on_sample(void *context, const struct sample_view *sample)
{
	struct listener *listener = context;

	assert_true(sample->stack == STACK_NODE_NONE || sample->stack < listener->node_count);
	listener->samples++;
	listener->sample = *sample;
	return listener->sample_result;
}

static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};

struct pair {
	struct entry_cache *cache;
	struct entry_encoder *encoder;
	struct entry_decoder *decoder;
	struct listener listener;
};

static inline int open_pair_with(void **state, size_t cache_bytes)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	assert_non_null(pair);
	assert_int_equal(entry_cache_open(&pair->cache, cache_bytes), 0);
	assert_int_equal(entry_encoder_open(&pair->encoder, pair->cache, PERIOD), 0);
	assert_int_equal(entry_decoder_open(&pair->decoder), 0);
	*state = pair;
	return 0;
}

/* Nothing is forgotten. */
static inline int open_pair(void **state)
{
	return open_pair_with(state, 1 << 20);
}

/* Three slots. */
static inline int open_forgetful_pair(void **state)
{
	return open_pair_with(state, 1);
}

/* 24 slots. */
static inline int open_small_pair(void **state)
{
	return open_pair_with(state, 512);
}

static inline int close_pair(void **state)
{
	struct pair *pair = *state;

	entry_encoder_close(pair->encoder);
	entry_decoder_close(pair->decoder);
	entry_cache_close(pair->cache);
	free(pair);
	return 0;
}

/* The listener's last sample is this one, frame by frame. */
static inline void assert_heard(const struct listener *listener, const struct sample_entry *wanted)
{
	uint32_t node = listener->sample.stack;
	size_t n = wanted->frame_count;

	assert_int_equal(listener->sample.thread, wanted->thread);
	assert_int_equal(listener->sample.user_end, wanted->user_end);
	assert_int_equal(listener->sample.event, wanted->event);
	if (wanted->stack_base)
		assert_true(listener->sample.stack_base == wanted->stack_base);
	if (wanted->far_sp)
		assert_true(listener->sample.far_sp == wanted->far_sp);
	assert_true(listener->sample.weight == wanted->weight);
	assert_true(listener->sample.time_ns == wanted->time_ns);
	assert_true(listener->sample.cpu_ns <= wanted->cpu_ns);
	assert_true(listener->sample.cpu_ns + 999 >= wanted->cpu_ns);
	assert_true(!listener->sample.run_ns ||
		    listener->sample.run_ns == (wanted->run_ns + 999) / 1000 * 1000);
	while (n--) {
		assert_int_not_equal(node, STACK_NODE_NONE);
		assert_true(frame_equals(&listener->nodes[node].frame, &wanted->frames[n]));
		node = listener->nodes[node].prefix;
	}
	assert_int_equal(node, STACK_NODE_NONE);
}

/* Through the encoder and the decoder. Returns how many bytes it took. */
static inline size_t pass(struct pair *pair, const struct sample_entry *sample, bool restart)
{
	const uint8_t *bytes;
	uint8_t *exact;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, sample, restart, &bytes, &size), 0);
	/* A copy of that very size, so that reading past it is noticed. */
	exact = malloc(size);
	assert_non_null(exact);
	memcpy(exact, bytes, size);
	assert_int_equal(entry_decode(pair->decoder, exact, size, &visitor, &pair->listener), 0);
	free(exact);
	assert_heard(&pair->listener, sample);
	return size;
}

/* These are its bytes. */
static inline void assert_bytes(struct pair *pair, const struct sample_entry *sample, bool restart,
				const char *wanted, size_t wanted_size)
{
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, sample, restart, &bytes, &size), 0);
	assert_int_equal(size, wanted_size);
	assert_memory_equal(bytes, wanted, size);
	assert_int_equal(entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener), 0);
	assert_heard(&pair->listener, sample);
}

#define ASSERT_BYTES(pair, sample, restart, wanted)                                                \
	assert_bytes(pair, sample, restart, wanted, sizeof(wanted) - 1)

#endif
