/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_name_answer.c - any bytes as what a parser answers about a file: what is taken can be looked at, all of it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "symbol/name_answer.h"
#include "symbol/name_question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct name_answer *answer, const uint64_t *offsets, size_t count)
{
	uint64_t address, sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (!elf_layout_address(&answer->layout, offsets[i], &address))
			sum += address;
	for (i = 0; i < answer->span_count; i++) {
		const struct name_span *span = &answer->spans[i];

		if (span->name != NAME_TEXT_NONE)
			sum += strlen(answer->texts + span->name);
		if (span->source != NAME_TEXT_NONE)
			sum += strlen(answer->texts + span->source);
	}
	/* So that it is looked at. */
	if (sum == UINT64_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t offsets[] = {0x100, 0x200, 0x300, 0x1000};
	static const struct file_search nowhere;
	const struct name_question question = {
		.wants_layout = true,
		.search = &nowhere,
		.offsets = offsets,
		.count = size % 5,
	};
	struct name_answer answer = {.bytes = malloc(size + 1), .size = size};

	if (!answer.bytes)
		return 0;
	memcpy(answer.bytes, data, size);
	if (!name_answer_read(&answer, &question))
		look_at(&answer, offsets, question.count);
	free(answer.bytes);
	return 0;
}
