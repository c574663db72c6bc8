/* SPDX-License-Identifier: BSD-2-Clause */
/* context_code.c - see context_code.h. */
#include "unwind/context_code.h"
#include "unwind/arch.h"

#define PEEKS_MAX 1024 /* per file: each is a system call */

/* Where there is no such code, as in all files but libcs and static programs, nothing is read. */
static bool returns_from_signals(const struct eh_frame *frame)
{
	size_t i;

	for (i = 0; i < frame->cie_count; i++)
		if (frame->cies[i].is_signal)
			return true;
	return false;
}

/* Hand-written code that leaves the stack alone is described by no instruction at all. */
static bool is_plain(const struct eh_frame *frame, const struct fde *fde)
{
	uint32_t i;

	for (i = 0; i < fde->program_bytes; i++)
		if (frame->bytes[fde->program + i])
			return false;
	return true;
}

static bool is_start_context(const struct elf_code *code, uint64_t address, uint32_t size)
{
	uint8_t bytes[MACHINE_START_CONTEXT_MAX_BYTES];
	size_t got = elf_code_peek(code, address, bytes, size);

	return machine_is_start_context(bytes, got);
}

void context_code_mark(struct eh_frame *frame, const struct elf_code *code)
{
	unsigned int peeks = 0;
	size_t i;

	if (!returns_from_signals(frame))
		return;
	for (i = 0; i < frame->fde_count && peeks < PEEKS_MAX; i++) {
		struct fde *fde = &frame->fdes[i];

		if (fde->size < MACHINE_START_CONTEXT_MIN_BYTES ||
		    fde->size > MACHINE_START_CONTEXT_MAX_BYTES || !fde->start ||
		    !is_plain(frame, fde))
			continue;
		peeks++;
		if (!is_start_context(code, frame->text + fde->start, fde->size))
			continue;
		fde->is_outermost = true;
		fde->start--;
		fde->size++;
		return;
	}
}
