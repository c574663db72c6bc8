/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_code.c - see signal_code.h. */
#include "unwind/signal_code.h"
#include "unwind/x86_64.h"

#define PEEKS_MAX 1024 /* per file: each is a system call */
#define BLOCK_BYTES 16384

/* Where in the first bytes of a function a sigreturn is: 0, or 1 if it begins early; -1: nowhere. */
static int sigreturn_at(const struct elf_code *code, uint64_t address)
{
	uint8_t bytes[1 + MACHINE_SIGRETURN_MAX_BYTES];
	size_t got = elf_code_peek(code, address, bytes, sizeof(bytes));
	size_t at, length;

	return machine_find_sigreturn(bytes, got, &at, &length) && at <= 1 ? (int)at : -1;
}

void signal_code_mark(struct eh_frame *frame, const struct elf_code *code)
{
	unsigned int peeks = 0;
	size_t i;

	for (i = 0; i < frame->fde_count; i++) {
		struct fde *fde = &frame->fdes[i];
		bool says_so = frame->cies[fde->cie].is_signal;
		int at = -1;

		if (!says_so && !machine_sigreturn_size(fde->size))
			continue;
		if (peeks++ < PEEKS_MAX)
			at = sigreturn_at(code, frame->text + fde->start);
		fde->is_signal = says_so || at == 0;
		if (fde->is_signal && at != 1 && fde->start) {
			fde->start--;
			fde->size++;
		}
	}
}

/* The first one in a block. */
static bool find_in(const uint8_t *block, size_t size, size_t *at, size_t *length, bool *is_outermost)
{
	size_t main_at, main_length;
	bool has_signal = machine_find_sigreturn(block, size, at, length);

	*is_outermost = machine_find_main_call(block, size, &main_at, &main_length) &&
			(!has_signal || main_at < *at);
	if (*is_outermost) {
		*at = main_at;
		*length = main_length;
	}
	return has_signal || *is_outermost;
}

bool signal_code_find(struct signal_code_search *search, uint32_t start, uint32_t end,
		      struct known_code *out)
{
	uint8_t block[BLOCK_BYTES];
	uint64_t next = start;
	size_t size, at, length;

	while (next < end && search->budget) {
		size = end - next < sizeof(block) ? end - next : sizeof(block);
		size = elf_code_peek(search->code, search->text + next, block, size);
		if (size < MACHINE_SIGRETURN_MAX_BYTES)
			return false;
		search->budget -= size < search->budget ? size : search->budget;
		if (find_in(block, size, &at, &length, &out->is_outermost)) {
			out->start = (uint32_t)(next + at);
			out->stop = (uint32_t)(next + at + length);
			return true;
		}
		if (size < sizeof(block))
			return false;
		/* One may lie across the blocks' border. */
		next += size - (MACHINE_MAIN_CALL_MAX_BYTES - 1);
	}
	return false;
}
