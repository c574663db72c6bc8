/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_table_image.c - any bytes as an unwind table that a parser has sent: what is taken can be laid out, and found again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "geckobpf_abi.h"
#include "service/table_image.h"
#include "unwind/table_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gb_chunk *pool;

static int give_pool(void *context, uint32_t index, struct gb_chunk **out)
{
	*out = pool;
	return 0;
}

static struct table_store *open_store(void)
{
	static struct unwind_memory memory;
	struct table_store *store;

	pool = calloc(GB_POOL_CHUNKS, sizeof(*pool));
	memory = (struct unwind_memory){
		.pages = calloc(GB_MAX_PAGES, sizeof(*memory.pages)),
		.rules = calloc(GB_MAX_RULES, sizeof(*memory.rules)),
		.add_pool = give_pool,
		.max_pools = 1,
	};
	if (!pool || !memory.pages || !memory.rules || table_store_open(&store, &memory))
		abort();
	return store;
}

static void lay_out(const struct unwind_table *table)
{
	static struct table_store *store;
	static uint64_t now_ns = 1;
	struct stored_table *stored;
	uint32_t page, first;

	if (!store)
		store = open_store();
	now_ns += TABLE_STORE_GRACE_NS;
	if (table_store_add(store, table, now_ns, &stored))
		return;
	first = (uint32_t)((int64_t)table->first_page + stored_page_offset(stored));
	for (page = 0; page < table->page_count; page++)
		if (!table_store_find(store, first + page, 4095))
			abort();
	table_store_remove(store, stored, now_ns);
	(void)table_store_tend(store, now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image = malloc(size + 1);
	struct unwind_table table;

	if (!image)
		abort();
	memcpy(image, data, size);
	if (!table_image_read(image, size, &table))
		lay_out(&table);
	free(image);
	return 0;
}
