/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_entry.c - any bytes through the decoder of profile buffer entries.
 *
 * The input is a list of entries: a length byte, then that many bytes (the last one may be cut
 * short). One decoder reads them all, so that what one entry says bears on the next. Whatever is
 * said must keep the reader's contract.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct listener {
	uint32_t node_count;
	bool is_restarted;
};

static int on_restart(void *context)
{
	*(struct listener *)context = (struct listener){.is_restarted = true};
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct listener *listener = context;

	if (!listener->is_restarted || node != listener->node_count++ ||
	    frame->kind >= FRAME_KINDS_MAX || (!frame_is_user(frame) && frame->stack_words) ||
	    (prefix != STACK_NODE_NONE && prefix >= node))
		abort();
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct listener *listener = context;

	if (!listener->is_restarted ||
	    (sample->stack != STACK_NODE_NONE && sample->stack >= listener->node_count))
		abort();
	return 0;
}

static int on_counter(void *context, const struct counter_entry *entry)
{
	const struct listener *listener = context;

	if (!listener->is_restarted || entry->counter >= ENTRY_COUNTERS)
		abort();
	return 0;
}

static int decode_copy(struct entry_decoder *decoder, const uint8_t *bytes, size_t size,
		       struct listener *listener)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, on_counter};
	uint8_t *exact = malloc(size ? size : 1);
	int err;

	if (!exact)
		return -ENOMEM;
	memcpy(exact, bytes, size);
	err = entry_decode(decoder, exact, size, &visitor, listener);
	free(exact);
	if (err && err != -EBADMSG && err != -ENOMEM)
		abort();
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct listener listener = {0};
	struct entry_decoder *decoder;

	if (entry_decoder_open(&decoder))
		return 0;
	while (size) {
		size_t length = *data++;

		size--;
		if (length > size)
			length = size;
		decode_copy(decoder, data, length, &listener);
		data += length;
		size -= length;
	}
	entry_decoder_close(decoder);
	return 0;
}
