/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_table.c - see symbol_table.h.
 *
 * Functions may lie within functions (assembler labels, outlined parts), or overlap when the file
 * lies. Each symbol therefore knows its `outer` one, and a lookup walks outwards until one covers
 * the address:
 *
 *   addresses  0         50   60         100
 *   a          |-------------------------|          outer: none
 *   b                    |----|                     outer: a
 *   find(70): b is the last that starts before, but ends; its outer, a, covers it
 */
#include "symbol/symbol_table.h"
#include "base/array.h"
#include "symbol/address_sort.h"
#include "elf/elf_entries.h"
#include "elf/elf_file.h"
#include "elf/name_budget.h"
#include "symbol/name_strings.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define MAX_SOURCES 8
/* Functions within functions: what compilers make has two or three of them. */
#define DEPTH_MAX 32
/* Of the names of one place that are compared. */
#define COMPARED_BYTES 4096

enum { RANK_GLOBAL = 2, RANK_WEAK = 1, RANK_SIZED = 4, RANK_FUNCTION = 8 };

struct symbol_table {
	struct table_symbol *items;
	size_t count, capacity;
	size_t max_count;
	struct name_strings sources[MAX_SOURCES];
	uint8_t source_count;
	bool is_cut;
	struct name_budget *budget;
	uint64_t functions, string_bytes; /* what it took of that */
};

int symbol_table_open(struct symbol_table **out, struct name_budget *budget)
{
	struct symbol_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->budget = budget;
	table->max_count = name_budget_share(budget->functions, UINT32_MAX);
	*out = table;
	return 0;
}

void symbol_table_close(struct symbol_table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->source_count; i++)
		name_strings_close(&table->sources[i]);
	table->budget->functions += table->functions;
	table->budget->string_bytes += table->string_bytes;
	free(table->items);
	free(table);
}

/* ---- filling ------------------------------------------------------------------ */

/*
 * Labels that assemblers and compilers leave behind: ".L12", ".annobin_x", and "$x", "$d" on ARM
 * and RISC-V.
 */
static bool is_noise(const char *name)
{
	return name[0] == '.' || name[0] == '$';
}

static uint8_t rank_of(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
	uint8_t rank = 0;

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		rank |= RANK_FUNCTION;
	if (symbol->st_size)
		rank |= RANK_SIZED;
	if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
		rank |= RANK_GLOBAL;
	else if (bind == STB_WEAK)
		rank |= RANK_WEAK;
	return rank;
}

static bool is_function(const Elf64_Sym *symbol, const struct elf_section *section,
			const char *name)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return name[0] != '\0';
	return type == STT_NOTYPE && section->flags & SHF_EXECINSTR && name[0] != '\0' &&
	       !is_noise(name);
}

/* What a symbol table is read into. */
struct filling {
	struct symbol_table *table;
	const struct elf_file *file;
	struct name_strings strings;
	size_t entry_bytes;
};

/* Takes the symbol in if it is a function of this file. There must be room for it. */
static void add_symbol(struct filling *filling, const Elf64_Sym *symbol)
{
	const struct elf_file *file = filling->file;
	struct symbol_table *table = filling->table;
	const struct elf_section *section;
	uint64_t left;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= file->section_count ||
	    ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
		return;
	section = &file->sections[symbol->st_shndx];
	if (symbol->st_value < section->address ||
	    symbol->st_value - section->address >= section->size ||
	    !is_function(symbol, section, name_strings_at(&filling->strings, symbol->st_name)))
		return;
	left = section->size - (symbol->st_value - section->address);
	if (symbol->st_size && symbol->st_size < left)
		left = symbol->st_size;
	table->items[table->count++] = (struct table_symbol){
		.address = symbol->st_value,
		.size = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX,
		.name = symbol->st_name,
		.flags = symbol->st_size ? 0 : TABLE_SYMBOL_GUESSED,
		.source = table->source_count,
		.rank = rank_of(symbol),
	};
}

static void read_symbol(const char *bytes, bool is_64_bit, Elf64_Sym *symbol)
{
	Elf32_Sym small;

	if (is_64_bit) {
		memcpy(symbol, bytes, sizeof(*symbol));
		return;
	}
	memcpy(&small, bytes, sizeof(small));
	*symbol = (Elf64_Sym){
		.st_name = small.st_name,
		.st_info = small.st_info,
		.st_shndx = small.st_shndx,
		.st_value = small.st_value,
		.st_size = small.st_size,
	};
}

static int add_entries(void *context, const char *entries, size_t count)
{
	struct filling *filling = context;
	struct symbol_table *table = filling->table;
	size_t i;

	for (i = 0; i < count; i++) {
		Elf64_Sym symbol;

		if (table->count == table->max_count)
			return -EFBIG;
		if (ARRAY_ROOM(table))
			return -ENOMEM;
		read_symbol(entries + i * filling->entry_bytes, filling->file->is_64_bit, &symbol);
		add_symbol(filling, &symbol);
	}
	return 0;
}

static int open_strings(struct filling *filling, const struct elf_section *symbols)
{
	const struct elf_file *file = filling->file;
	const uint64_t room = filling->table->budget->string_bytes;

	if (symbols->link >= file->section_count)
		return -ENOEXEC;
	return name_strings_open(&filling->strings, file, &file->sections[symbols->link], room);
}

static int fill(struct filling *filling, const struct elf_section *section)
{
	struct symbol_table *table = filling->table;
	uint64_t *all_bytes = &table->budget->table_bytes, left_bytes, share;
	const size_t before = table->count;
	int err;

	left_bytes = share = name_budget_share(*all_bytes, NAME_TABLE_MAX_BYTES);
	err = elf_entries_walk(filling->file, section, filling->entry_bytes, &left_bytes,
			       add_entries, filling);
	name_budget_spend(all_bytes, share - left_bytes);
	if (err)
		table->count = before;
	return err;
}

/* Its strings are the table's from now on. */
static void keep_strings(struct symbol_table *table, const struct name_strings *strings)
{
	const size_t bytes = name_strings_bytes(strings);

	table->sources[table->source_count++] = *strings;
	table->string_bytes += bytes;
	name_budget_spend(&table->budget->string_bytes, bytes);
}

int symbol_table_add(struct symbol_table *table, const struct elf_file *file,
		     const struct elf_section *section, uint8_t *source)
{
	struct filling filling = {
		.table = table,
		.file = file,
		.entry_bytes = file->is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym),
	};
	int err;

	if (section->entry_bytes != filling.entry_bytes || table->source_count == MAX_SOURCES)
		return -ENOEXEC;
	err = open_strings(&filling, section);
	if (err)
		return err;
	err = fill(&filling, section);
	if (err) {
		name_strings_close(&filling.strings);
		return err;
	}
	if (source)
		*source = table->source_count;
	keep_strings(table, &filling.strings);
	return 0;
}

int symbol_table_add_stub(struct symbol_table *table, uint8_t source, uint32_t name,
			  uint64_t address, uint32_t size)
{
	if (!name_strings_at(&table->sources[source], name)[0])
		return -ENOEXEC;
	if (table->count == table->max_count)
		return -EFBIG;
	if (ARRAY_ROOM(table))
		return -ENOMEM;
	table->items[table->count++] = (struct table_symbol){
		.address = address,
		.size = size,
		.name = name,
		.flags = TABLE_SYMBOL_STUB,
		.source = source,
		.rank = RANK_SIZED,
	};
	return 0;
}

/* ---- finishing ---------------------------------------------------------------- */

/* "_Z" and "_R" begin mangled names: their underscore is not one. */
static size_t underscores(const char *name)
{
	size_t count = 0;

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		return 0;
	while (count < COMPARED_BYTES && name[count] == '_')
		count++;
	return count;
}

/* "malloc" is better than "__libc_malloc", "strtol" than "strtoll". */
static bool has_better_name(struct symbol_table *table, const struct table_symbol *a,
			    const struct table_symbol *b)
{
	const char *name = symbol_table_name(table, a);
	size_t noise_a = underscores(name), length_a = strnlen(name, COMPARED_BYTES), noise_b;

	name = symbol_table_name(table, b);
	noise_b = underscores(name);
	return noise_a != noise_b ? noise_a < noise_b : length_a < strnlen(name, COMPARED_BYTES);
}

static bool is_better(struct symbol_table *table, const struct table_symbol *a,
		      const struct table_symbol *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->size != b->size)
		return a->size > b->size;
	return has_better_name(table, a, b);
}

/* Of symbols at the same address leaves the best; of equally good ones the first. */
static void keep_best(struct symbol_table *table)
{
	size_t kept = 0, i;

	for (i = 0; i < table->count; i++) {
		struct table_symbol *symbol = &table->items[i], *last;

		last = kept ? &table->items[kept - 1] : NULL;
		if (!last || last->address != symbol->address)
			table->items[kept++] = *symbol;
		else if (is_better(table, symbol, last))
			*last = *symbol;
	}
	table->count = kept;
}

static bool covers(const struct table_symbol *symbol, uint64_t address)
{
	return address - symbol->address < symbol->size;
}

/*
 * From the symbol numbered `number` (index + 1) outwards, the first that covers `address`; 0: none
 * does.
 */
static uint32_t covering(const struct symbol_table *table, uint32_t number, uint64_t address)
{
	while (number && !covers(&table->items[number - 1], address))
		number = table->items[number - 1].outer;
	return number;
}

/*
 * Finds a symbol's place behind the `kept` ones; false: it is a label within a function, not worth
 * a symbol. A function of unknown size ends where the next one starts, and where the one around it
 * ends.
 */
static bool fit_in(struct symbol_table *table, size_t kept, struct table_symbol *symbol)
{
	struct table_symbol *last = kept ? &table->items[kept - 1] : NULL, *outer;
	bool open_end = last && last->flags & TABLE_SYMBOL_GUESSED;
	uint64_t left;

	symbol->outer = covering(table, open_end ? last->outer : (uint32_t)kept, symbol->address);
	if (symbol->outer) {
		if (!(symbol->rank & RANK_FUNCTION) && !(symbol->flags & TABLE_SYMBOL_STUB))
			return false;
		outer = &table->items[symbol->outer - 1];
		if (outer->depth == DEPTH_MAX) {
			table->is_cut = true;
			return false;
		}
		symbol->depth = outer->depth + 1;
		left = outer->size - (symbol->address - outer->address);
		if (symbol->flags & TABLE_SYMBOL_GUESSED && symbol->size > left)
			symbol->size = (uint32_t)left;
	}
	if (open_end && covers(last, symbol->address))
		last->size = (uint32_t)(symbol->address - last->address);
	return true;
}

static void link_outer(struct symbol_table *table)
{
	size_t kept = 0, i;

	for (i = 0; i < table->count; i++) {
		struct table_symbol symbol = table->items[i];

		if (fit_in(table, kept, &symbol))
			table->items[kept++] = symbol;
	}
	table->count = kept;
}

/* Gives back what was reserved for symbols that turned out not to be functions. */
static void shrink(struct symbol_table *table)
{
	struct table_symbol *fitting;

	if (!table->count) {
		free(table->items);
		table->items = NULL;
		table->capacity = 0;
		return;
	}
	fitting = realloc(table->items, table->count * sizeof(*fitting));
	if (!fitting)
		return;
	table->items = fitting;
	table->capacity = table->count;
}

int symbol_table_finish(struct symbol_table *table)
{
	int err = -ENOMEM;

	if (table->count < UINT32_MAX)
		err = address_sort(table->items, table->count, sizeof(*table->items));
	if (err)
		return err;
	keep_best(table);
	link_outer(table);
	shrink(table);
	table->functions = table->count;
	name_budget_spend(&table->budget->functions, table->functions);
	return 0;
}

/* ---- looking up --------------------------------------------------------------- */

/* How many symbols start at `address` or before. */
static size_t count_started(const struct symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct table_symbol *symbol_table_find(struct symbol_table *table, uint64_t address)
{
	uint32_t number = covering(table, (uint32_t)count_started(table, address), address);

	return number ? &table->items[number - 1] : NULL;
}

/* Within it others may lie: those that are before the address have ended, and the next one has not begun. */
void symbol_table_extent(const struct symbol_table *table, const struct table_symbol *symbol,
			 uint64_t address, uint64_t *from, uint64_t *to)
{
	const size_t started = count_started(table, address);
	const struct table_symbol *inner;
	uint32_t number;

	*from = symbol->address;
	*to = symbol->size > UINT64_MAX - symbol->address ? UINT64_MAX
							  : symbol->address + symbol->size;
	if (started < table->count && table->items[started].address < *to)
		*to = table->items[started].address;
	for (number = (uint32_t)started; number; number = inner->outer) {
		inner = &table->items[number - 1];
		if (inner == symbol)
			return;
		if (inner->address + inner->size > *from)
			*from = inner->address + inner->size;
	}
}

size_t symbol_table_count(const struct symbol_table *table)
{
	return table->count;
}

const char *symbol_table_name(struct symbol_table *table, const struct table_symbol *symbol)
{
	return name_strings_at(&table->sources[symbol->source], symbol->name);
}

bool symbol_table_is_cut(const struct symbol_table *table)
{
	return table->is_cut;
}
