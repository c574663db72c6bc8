/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_pointer.c - see shapes.h. Built with frame pointers and without any unwind information. */
#include "shapes.h"

NOINLINE int frame_pointer_calls(int depth, struct self_stack *trail, void (*leaf)(void))
{
	/* Return address and RSP of the caller, as the ABI lays a frame out. */
	trail->frames[trail->count++] = (struct self_frame){
		.pc = (uintptr_t)__builtin_return_address(0),
		.sp = (uintptr_t)__builtin_frame_address(0) + 16,
	};
	if (depth > 1)
		return frame_pointer_calls(depth - 1, trail, leaf) + 1;
	leaf();
	BARRIER();
	return 1;
}
