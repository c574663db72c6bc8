/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_code.c - see signal_code.h. */
#include "unwind/signal_code.h"
#include "unwind/arch.h"

#define READS_MAX 1024 /* per file */
#define BLOCK_BYTES 16384
#define WINDOW_BYTES 4096
#define FUNCTION_BYTES (1 + MACHINE_SIGRETURN_MAX_BYTES) /* are looked at */

/* The code read last: small functions come in crowds. */
struct window {
	const struct elf_code *code;
	unsigned int reads_left;
	uint64_t address;
	size_t size;
	uint8_t bytes[WINDOW_BYTES];
};

/* The first bytes of the code at `address`, *got of them; NULL: enough has been read. */
static const uint8_t *look_at(struct window *window, uint64_t address, size_t *got)
{
	uint64_t skip = address - window->address;

	if (skip >= window->size || window->size - skip < FUNCTION_BYTES) {
		if (!window->reads_left)
			return NULL;
		window->reads_left--;
		window->address = address;
		window->size = elf_code_peek(window->code, address, window->bytes, WINDOW_BYTES);
		skip = 0;
	}
	*got = window->size - skip < FUNCTION_BYTES ? window->size - skip : FUNCTION_BYTES;
	return window->bytes + skip;
}

/* Where in the first bytes of a function a sigreturn is: 0, or 1 if it begins early; -1: nowhere. */
static int sigreturn_at(struct window *window, uint64_t address)
{
	size_t got, at, length;
	const uint8_t *bytes = look_at(window, address, &got);

	if (!bytes || !machine_find_sigreturn(bytes, got, &at, &length) || at > 1)
		return -1;
	return (int)at;
}

void signal_code_mark(struct eh_frame *frame, const struct elf_code *code)
{
	struct window window = {.code = code, .reads_left = READS_MAX};
	size_t i;

	for (i = 0; i < frame->fde_count; i++) {
		struct fde *fde = &frame->fdes[i];
		bool says_so = frame->cies[fde->cie].is_signal;
		int at;

		if (!says_so && !machine_sigreturn_size(fde->size))
			continue;
		at = sigreturn_at(&window, frame->text + fde->start);
		fde->is_signal = says_so || at == 0;
		if (fde->is_signal && at != 1 && fde->start) {
			fde->start--;
			fde->size++;
		}
	}
}

/* The first one in a block. */
static bool find_in(const uint8_t *block, size_t size, size_t *at, size_t *length,
		    bool *is_outermost)
{
	size_t call_at, call_length;
	bool has_signal = machine_find_sigreturn(block, size, at, length);

	*is_outermost = machine_find_outermost_call(block, size, &call_at, &call_length) &&
			(!has_signal || call_at < *at);
	if (*is_outermost) {
		*at = call_at;
		*length = call_length;
	}
	return has_signal || *is_outermost;
}

bool signal_code_find(struct signal_code_search *search, uint32_t start, uint32_t end,
		      struct known_code *out)
{
	const struct elf_code *code = search->code;
	uint8_t block[BLOCK_BYTES];
	uint64_t next = start;
	size_t size, at, length;

	if (search->text + next < code->code_start)
		next = code->code_start - search->text;
	if (search->text + end > code->code_end)
		end = (uint32_t)(code->code_end - search->text);
	while (next < end && search->budget > search->kept) {
		size = end - next < sizeof(block) ? end - next : sizeof(block);
		size = elf_code_peek(code, search->text + next, block, size);
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
		next += size - (MACHINE_OUTERMOST_CALL_MAX_BYTES - 1);
	}
	return false;
}
