/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_code_flow.c - any bytes as code without unwind information.
 *
 * The first four bytes say where functions are said to begin, and which part of the rest has a description after all. Every
 * state must be one that a rule can be made of or not, and what is inside an instruction must be so by its decoding.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/code_flow.h"

#define ADDRESS 0x401000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool may_return(void *context, uint64_t address)
{
	return address & 1;
}

static void check(const struct code_flow *flow)
{
	struct instruction instruction;
	struct cfa_state described;
	uint64_t frames = 0, with_fp = 0;
	uint32_t at, length;
	bool is_inside;

	for (at = 0; at < flow->size; at++) {
		const struct frame_state *state = code_flow_at(flow, at, &is_inside);

		if (state && is_inside)
			abort();
		if (state && frame_state_describe(state, &described) && !described.how)
			abort();
		if (state && code_flow_is_padding(flow, at, &length))
			abort();
		if (code_walk_decode(flow, at, &instruction) &&
		    (!instruction.length || instruction.length > INSTRUCTION_MAX_BYTES))
			abort();
	}
	code_flow_count_frames(flow, &frames, &with_fp);
	if (with_fp > frames)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_flow flow;
	uint32_t bytes;

	if (size < 5 || size > 4096)
		return 0;
	bytes = (uint32_t)size - 4;
	if (code_flow_open(&flow, ADDRESS, bytes))
		abort();
	flow.may_return = may_return;
	memcpy(flow.code, data + 4, bytes);
	code_flow_claim(&flow, 0, data[0] * 8u);
	code_flow_claim(&flow, data[0] * 8u + (data[1] & 15u), bytes);
	if (code_flow_enter(&flow, data[2], data[1] & 16) ||
	    code_flow_enter(&flow, data[3], false) || code_flow_point(&flow, data[3] * 2u) ||
	    code_flow_run(&flow))
		abort();
	check(&flow);
	code_flow_close(&flow);
	return 0;
}
