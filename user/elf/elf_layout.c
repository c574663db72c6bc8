/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_layout.c - see elf_layout.h. */
#include "elf/elf_layout.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define PAGE_BYTES 4096ULL

static void add_segment(struct elf_layout *layout, const struct elf_segment *segment)
{
	uint64_t page = segment->address & ~(PAGE_BYTES - 1);

	if (!layout->segment_count || page < layout->base)
		layout->base = page;
	layout->segments[layout->segment_count++] = *segment;
}

int elf_layout_read(struct elf_layout *layout, const struct elf_file *file)
{
	struct elf_layout found = {0};
	size_t i;

	if (file->segment_count)
		found.segments = calloc(file->segment_count, sizeof(*found.segments));
	if (file->segment_count && !found.segments)
		return -ENOMEM;
	for (i = 0; i < file->segment_count; i++)
		if (file->segments[i].type == PT_LOAD)
			add_segment(&found, &file->segments[i]);
	found.build_id_bytes = build_id_of_file(file, found.build_id);
	*layout = found;
	return 0;
}

void elf_layout_free(struct elf_layout *layout)
{
	free(layout->segments);
	*layout = (struct elf_layout){0};
}

static bool is_executable(const struct elf_segment *segment)
{
	return segment->flags & PF_X;
}

bool elf_layout_has_code(const struct elf_layout *layout)
{
	size_t i;

	for (i = 0; i < layout->segment_count; i++)
		if (is_executable(&layout->segments[i]) && layout->segments[i].file_bytes)
			return true;
	return false;
}

/* Code is mapped in whole pages, all of a segment at once. */
static bool is_mapped_as(const struct elf_segment *segment, uint64_t bytes)
{
	uint64_t lead = segment->address & (PAGE_BYTES - 1);

	if (!is_executable(segment) || segment->memory_bytes > UINT64_MAX - 2 * PAGE_BYTES)
		return false;
	return ((segment->memory_bytes + lead + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)) == bytes;
}

int elf_layout_place_code(struct elf_layout *layout, uint64_t offset, uint64_t bytes)
{
	struct elf_segment *code = NULL;
	size_t i;

	for (i = 0; i < layout->segment_count; i++) {
		struct elf_segment *segment = &layout->segments[i];

		if (!is_mapped_as(segment, bytes)) {
			segment->file_bytes = 0;
			continue;
		}
		if (code)
			return -ENOENT; /* either of them could be meant */
		code = segment;
	}
	if (!code)
		return -ENOENT;
	code->offset = offset + (code->address & (PAGE_BYTES - 1));
	code->file_bytes = code->memory_bytes;
	return 0;
}

/*
 * How well a segment explains where code is: 0 not at all. Code is mapped in whole pages: those of a code segment may
 * begin with what the file has before it, headers as a rule, which another segment maps as data. Only code that was
 * made of data, by a program that changes its own pages, is in a segment of another kind.
 */
static int segment_fits(const struct elf_segment *segment, uint64_t offset)
{
	uint64_t lead = segment->offset & (PAGE_BYTES - 1);
	uint64_t mapped = (segment->file_bytes + lead + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

	if (offset >= segment->offset && offset - segment->offset < segment->file_bytes)
		return is_executable(segment) ? 3 : 1;
	if (offset >= segment->offset - lead && offset - (segment->offset - lead) < mapped)
		return is_executable(segment) ? 2 : 0;
	return 0;
}

/* The segment that explains best where the code is. NULL: none does. */
static const struct elf_segment *find_segment(const struct elf_layout *layout, uint64_t offset)
{
	const struct elf_segment *best = NULL;
	int best_fit = 0;
	size_t i;

	for (i = 0; i < layout->segment_count; i++) {
		int fit = segment_fits(&layout->segments[i], offset);

		if (fit > best_fit) {
			best_fit = fit;
			best = &layout->segments[i];
		}
	}
	return best;
}

int elf_layout_address(const struct elf_layout *layout, uint64_t offset, uint64_t *address)
{
	const struct elf_segment *best = find_segment(layout, offset);

	if (!best)
		return -ENOENT;
	*address = best->address + (offset - best->offset);
	return 0;
}

/* What is mapped as code only for the page that it shares with code is nobody's concern. */
void elf_layout_extent(const struct elf_layout *layout, uint64_t offset, uint64_t *first,
		       uint64_t *end)
{
	const struct elf_segment *best = find_segment(layout, offset);

	*first = offset;
	*end = offset + 1;
	if (!best || !is_executable(best) || offset < best->offset ||
	    offset - best->offset >= best->file_bytes)
		return;
	*first = best->offset;
	*end = best->file_bytes > UINT64_MAX - best->offset ? UINT64_MAX
							    : best->offset + best->file_bytes;
}
