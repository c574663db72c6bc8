/* SPDX-License-Identifier: BSD-2-Clause */
/* function_list.c - see function_list.h. */
#include "unwind/function_list.h"
#include "elf/elf_file.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_code.h"
#include "unwind/fde_order.h"
#include "unwind/go_code.h"
#include "unwind/go_lines.h"

#include <errno.h>
#include <stdlib.h>

/* Offsets in the text. */
struct function_range {
	uint32_t start, size;
};

struct function_list {
	uint64_t text; /* an address */
	struct function_range *ranges; /* of .eh_frame, sorted */
	size_t range_count;
	struct go_code go;
};

static int keep_ranges(struct function_list *list, const struct eh_frame *frame)
{
	uint64_t *order;
	size_t i;
	int err;

	if (!frame->fde_count)
		return 0;
	err = fde_order_make(frame, &order);
	if (err)
		return err;
	list->ranges = calloc(frame->fde_count, sizeof(*list->ranges));
	for (i = 0; list->ranges && i < frame->fde_count; i++) {
		const struct fde *fde = &frame->fdes[fde_order_index(order[i])];

		list->ranges[i] = (struct function_range){fde->start, fde->size};
	}
	list->range_count = i;
	free(order);
	return list->ranges ? 0 : -ENOMEM;
}

static int read_ranges(struct function_list *list, const struct elf_code *code, uint64_t text_bytes)
{
	struct eh_frame frame = {.size = code->eh_frame.bytes,
				 .address = code->eh_frame.address,
				 .is_open_ended = code->eh_frame.is_open_ended,
				 .text = list->text,
				 .text_bytes = text_bytes};
	uint8_t *bytes;
	int err = frame.size ? elf_code_read_eh_frame(code, &bytes) : -ENODATA;

	if (err)
		return elf_file_malformed(err) ? 0 : err;
	frame.bytes = bytes;
	err = eh_frame_scan(&frame);
	if (!err)
		err = keep_ranges(list, &frame);
	eh_frame_close(&frame);
	free(bytes);
	return err;
}

int function_list_open(struct function_list **out, const struct unwind_source *source)
{
	struct function_list *list = calloc(1, sizeof(*list));
	struct elf_code code;
	uint64_t text_bytes;
	int err;

	if (!list)
		return -ENOMEM;
	err = elf_code_open(&code, source);
	if (!err) {
		list->text = code.first_page << UNWIND_PAGE_BITS;
		text_bytes = code.page_count << UNWIND_PAGE_BITS;
		err = go_code_open(&list->go, &code, list->text, text_bytes);
	}
	if (!err)
		err = read_ranges(list, &code, text_bytes);
	elf_code_close(&code);
	list->go.code = NULL;
	if (err) {
		function_list_close(list);
		return err;
	}
	*out = list;
	return 0;
}

void function_list_close(struct function_list *list)
{
	if (!list)
		return;
	go_code_close(&list->go);
	free(list->ranges);
	free(list);
}

size_t function_list_bytes(const struct function_list *list)
{
	return sizeof(*list) + list->range_count * sizeof(*list->ranges) + list->go.size;
}

/* The last that starts at `offset` or before; NULL: all start later. */
static const struct function_range *last_range(const struct function_list *list, uint64_t offset)
{
	size_t low = 0, high = list->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->ranges[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &list->ranges[low - 1] : NULL;
}

bool function_list_find(const struct function_list *list, uint64_t address,
			struct listed_function *out)
{
	uint64_t offset = address - list->text; /* in no text if it is before it */
	const struct function_range *range;
	struct go_function_name go;

	if (go_code_find(&list->go, offset, &go)) {
		*out = (struct listed_function){list->text + go.start, go.end - go.start, go.name};
		return true;
	}
	range = address < list->text ? NULL : last_range(list, offset);
	if (!range)
		return false;
	*out = (struct listed_function){list->text + range->start, range->size, NULL};
	return true;
}

bool function_list_line(const struct function_list *list, uint64_t address, struct listed_line *out)
{
	struct go_line line;

	if (!go_line_find(&list->go, address - list->text, &line))
		return false;
	*out = (struct listed_line){line.file, line.line};
	return true;
}
