/* SPDX-License-Identifier: BSD-2-Clause */
/* stored.c - see stored.h. */
#include "stored.h"

#include "buffer/entry.h"
#include "buffer/entry_cache.h"
#include "geckobpf_abi.h"
#include "recording/sample_frames.h"

static struct {
	struct entry_cache *cache;
	struct entry_encoder *encoder;
	struct entry_decoder *decoder;
	struct frame put[SAMPLE_FRAMES_MAX];
	struct frame
		nodes[SAMPLE_FRAMES_MAX]; /* root first: each has the one before it as prefix */
	uint32_t node_count;
	struct sample_view sample;
} stored;

int stored_open(void)
{
	int err = entry_cache_open(&stored.cache, 1 << 16);

	if (!err)
		err = entry_encoder_open(&stored.encoder, stored.cache, 1000000);
	return err ? err : entry_decoder_open(&stored.decoder);
}

void stored_close(void)
{
	entry_encoder_close(stored.encoder);
	entry_decoder_close(stored.decoder);
	entry_cache_close(stored.cache);
}

static int on_restart(void *context)
{
	(void)context;
	stored.node_count = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	(void)context;
	if (node != stored.node_count || node >= SAMPLE_FRAMES_MAX ||
	    prefix != (node ? node - 1 : STACK_NODE_NONE))
		return -1;
	stored.nodes[stored.node_count++] = *frame;
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	(void)context;
	stored.sample = *sample;
	return 0;
}

static int pass(const struct gb_sample *sample)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};
	struct sample_entry entry = {.time_ns = sample->hdr.time_ns, .weight = 1};
	const uint8_t *bytes;
	size_t size;

	sample_frames_turn(sample, stored.put, &entry);
	if (entry_encode_sample(stored.encoder, &entry, true, &bytes, &size))
		return -1;
	return entry_decode(stored.decoder, bytes, size, &visitor, NULL);
}

int stored_stack(const struct gb_sample *sample, uint64_t *sps, size_t max)
{
	uint64_t cfa, far_sp, swapped;
	size_t count = 0, i;

	if (pass(sample))
		return -1;
	cfa = stored.sample.stack_base;
	far_sp = stored.sample.far_sp;
	for (i = 0; i < stored.node_count; i++) {
		if (!frame_is_user(&stored.nodes[i]))
			continue;
		if (count == max)
			return -1;
		cfa = frame_sp(&stored.nodes[i], cfa, &far_sp);
		sps[count++] = cfa;
	}
	for (i = 0; i < count / 2; i++) {
		swapped = sps[i];
		sps[i] = sps[count - 1 - i];
		sps[count - 1 - i] = swapped;
	}
	return (int)count;
}
