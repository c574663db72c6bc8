/* SPDX-License-Identifier: BSD-2-Clause */
/* shadow_tables.c - see shadow_tables.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shadow_tables.h"
#include "unwind/table.h"

#define FILES_MAX 256
#define POOLS_MAX 64

/* A file whose table is in the store, or has none. */
struct file {
	char name[512];
	struct unwind_table *table;
	struct stored_table *stored;
};

struct shadow_tables tables;

static struct file files[FILES_MAX];
static size_t file_count;

void shadow_fail(const char *what)
{
	fprintf(stderr, "shadow_oracle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int give_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	*chunks = calloc(GB_POOL_CHUNKS, sizeof(**chunks));
	return *chunks ? 0 : -ENOMEM;
}

void shadow_tables_open(void)
{
	struct unwind_memory memory = {.pages = calloc(GB_MAX_PAGES, sizeof(struct gb_page)),
				       .rules = calloc(GB_MAX_RULES, sizeof(struct gb_unwind_rule)),
				       .add_pool = give_pool,
				       .max_pools = POOLS_MAX};

	if (!memory.pages || !memory.rules || table_store_open(&tables.store, &memory))
		shadow_fail("tables");
}

static struct file *file_named(const char *name)
{
	struct unwind_source source = {.fd = open(name, O_RDONLY | O_CLOEXEC)};
	struct file *file;
	size_t i;

	for (i = 0; i < file_count; i++)
		if (!strcmp(files[i].name, name)) {
			close(source.fd);
			return &files[i];
		}
	if (source.fd < 0 || file_count == FILES_MAX)
		return NULL;
	file = &files[file_count++];
	snprintf(file->name, sizeof(file->name), "%s", name);
	if (!unwind_table_compile(&file->table, &source) &&
	    table_store_add(tables.store, file->table, 1, &file->stored))
		shadow_fail("a table");
	close(source.fd);
	return file;
}

static void add_mapping(uint64_t begin, uint64_t end, uint64_t offset, const char *name)
{
	struct gb_mapping mapping = {.begin = begin, .end = end, .flags = GB_MAPPING_NO_TABLE};
	struct file *file = *name == '/' ? file_named(name) : NULL;
	uint32_t i;

	for (i = 0; file && file->stored && i < file->table->segment_count; i++) {
		const struct unwind_segment *segment = &file->table->segments[i];

		if (!segment->is_code || (segment->offset & ~4095ull) > offset ||
		    segment->offset + segment->bytes <= offset)
			continue;
		mapping.bias = begin - (segment->address - segment->offset + offset);
		mapping.page_offset = stored_page_offset(file->stored);
		mapping.flags = file->table->tracks_reg ? GB_MAPPING_TRACKS_REG : 0;
		break;
	}
	if (tables.mapping_count == SHADOW_MAPPINGS_MAX)
		return;
	snprintf(tables.names[tables.mapping_count], sizeof(tables.names[0]), "%s", name);
	tables.mappings[tables.mapping_count++] = mapping;
}

void shadow_tables_read(pid_t pid)
{
	unsigned long begin, end, offset;
	char path[64], line[1024], name[512], flags[8];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	if (!maps)
		shadow_fail(path);
	tables.mapping_count = 0;
	while (fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &begin, &end, flags, &offset,
			   name) < 4)
			continue;
		if (!strcmp(name, "[stack]"))
			tables.stack_end = end;
		if (flags[2] == 'x')
			add_mapping(begin, end, offset, name);
	}
	fclose(maps);
}

const struct gb_mapping *shadow_mapping_of(uint64_t address)
{
	size_t i;

	for (i = 0; i < tables.mapping_count; i++)
		if (address >= tables.mappings[i].begin && address < tables.mappings[i].end)
			return &tables.mappings[i];
	return NULL;
}

const char *shadow_place(uint64_t address)
{
	static char texts[4][192];
	static unsigned int next;
	const struct gb_mapping *mapping = shadow_mapping_of(address);
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%s+%#lx",
		 mapping ? tables.names[mapping - tables.mappings] : "?",
		 (unsigned long)(address - (mapping ? mapping->bias : 0)));
	return text;
}
