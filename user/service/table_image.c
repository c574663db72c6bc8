/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_image.c - see table_image.h.
 *
 *   | head | pages | rows | rules | segments |     each padded to 8 bytes
 */
#include "service/table_image.h"

#include "reader/sealed.h"
#include "unwind/limits.h"

#include <errno.h>
#include <string.h>

#define MAX_ROWS (1u << 26) /* so that sums of sizes fit */
#define MAX_RULES (1u << 20)
#define MAX_SEGMENTS (1u << 16)
#define OFFSET_MASK ((1u << UNWIND_PAGE_BITS) - 1)

struct head {
	uint64_t first_page;
	uint32_t page_count, row_count, rule_count, segment_count;
	uint32_t tracks_reg, has_no_eh_frame;
	struct unwind_table_stats stats;
};

static struct head head_of(const struct unwind_table *table)
{
	return (struct head){
		.first_page = table->first_page,
		.page_count = table->page_count,
		.row_count = table->row_count,
		.rule_count = table->rule_count,
		.segment_count = table->segment_count,
		.tracks_reg = table->tracks_reg,
		.has_no_eh_frame = table->has_no_eh_frame,
		.stats = table->stats,
	};
}

int table_image_make(const struct unwind_table *table)
{
	const struct head head = head_of(table);
	const struct sealed_part parts[] = {
		{&head, sizeof(head)},
		{table->pages, table->page_count * sizeof(*table->pages)},
		{table->rows, table->row_count * sizeof(*table->rows)},
		{table->rules, table->rule_count * sizeof(*table->rules)},
		{table->segments, table->segment_count * sizeof(*table->segments)},
	};
	const size_t count = sizeof(parts) / sizeof(parts[0]);
	size_t bytes = 0, i;

	for (i = 0; i < count; i++)
		bytes += sealed_room(parts[i].bytes);
	return bytes > TABLE_IMAGE_MAX_BYTES ? -E2BIG : sealed_make(parts, count);
}

/* ---- reading ------------------------------------------------------------------------- */

/* Where the next part begins. Sizes were checked to be such that their sum is no more than there is. */
static void *take_part(const char **at, size_t bytes)
{
	const char *part = *at;

	*at += sealed_room(bytes);
	return (void *)part;
}

static int find_parts(const struct head *head, const char *at, size_t bytes,
		      struct unwind_table *table)
{
	const size_t pages = head->page_count * sizeof(*table->pages);
	const size_t rows = head->row_count * sizeof(*table->rows);
	const size_t rules = head->rule_count * sizeof(*table->rules);
	const size_t segments = head->segment_count * sizeof(*table->segments);

	if (bytes !=
	    sealed_room(pages) + sealed_room(rows) + sealed_room(rules) + sealed_room(segments))
		return -EBADMSG;
	*table = (struct unwind_table){
		.first_page = head->first_page,
		.page_count = head->page_count,
		.row_count = head->row_count,
		.rule_count = head->rule_count,
		.segment_count = head->segment_count,
		.tracks_reg = head->tracks_reg != 0,
		.has_no_eh_frame = head->has_no_eh_frame != 0,
		.stats = head->stats,
	};
	table->pages = take_part(&at, pages);
	table->rows = take_part(&at, rows);
	table->rules = take_part(&at, rules);
	table->segments = take_part(&at, segments);
	return 0;
}

static bool is_head(const struct head *head)
{
	return head->page_count && head->page_count <= GB_MAX_PAGES * 2 &&
	       head->first_page <= UINT64_MAX >> UNWIND_PAGE_BITS && head->row_count <= MAX_ROWS &&
	       head->rule_count <= MAX_RULES && head->segment_count <= MAX_SEGMENTS &&
	       head->stats.limit < UNWIND_LIMIT_COUNT;
}

/* The rows of a page are all there, sorted, from its begin on, and of rules that there are. */
static bool is_page(const struct unwind_table *table, const struct unwind_page *page)
{
	const uint32_t *rows = table->rows + page->first;
	uint32_t i;

	if (!page->count || page->count > UNWIND_MAX_ROWS_PER_PAGE ||
	    page->count > table->row_count || page->first > table->row_count - page->count ||
	    rows[0] & OFFSET_MASK)
		return false;
	for (i = 0; i < page->count; i++)
		if (rows[i] >> UNWIND_PAGE_BITS >= table->rule_count ||
		    (i && (rows[i] & OFFSET_MASK) <= (rows[i - 1] & OFFSET_MASK)))
			return false;
	return true;
}

/* Any offsets are as good as others: where they lead is read with care, and believed by nobody. */
static bool is_rule(const struct gb_unwind_rule *rule)
{
	return rule->cfa <= GB_CFA_SP_INDEXED && rule->fp <= GB_FP_SP &&
	       rule->ra <= GB_RA_INTERRUPTED;
}

/* Whether it may be is C's question: a bool is 0 or 1. */
static bool is_segment(const struct unwind_segment *segment)
{
	unsigned char is_code;

	memcpy(&is_code, &segment->is_code, sizeof(is_code));
	return is_code <= 1 && segment->offset <= UINT64_MAX - segment->bytes &&
	       segment->address <= UINT64_MAX - segment->bytes;
}

static bool is_table(const struct unwind_table *table)
{
	uint32_t i;

	for (i = 0; i < table->page_count; i++)
		if (!is_page(table, &table->pages[i]))
			return false;
	for (i = 0; i < table->rule_count; i++)
		if (!is_rule(&table->rules[i]))
			return false;
	for (i = 0; i < table->segment_count; i++)
		if (!is_segment(&table->segments[i]))
			return false;
	return true;
}

int table_image_read(const void *image, size_t bytes, struct unwind_table *table)
{
	struct head head;

	if (bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, image, sizeof(head));
	if (!is_head(&head) ||
	    find_parts(&head, (const char *)image + sizeof(head), bytes - sizeof(head), table))
		return -EBADMSG;
	return is_table(table) ? 0 : -EBADMSG;
}
