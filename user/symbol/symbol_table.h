/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_table.h - the functions of one program or library, sorted by address.
 *
 * Fill it with symbol tables (add), finish it, look addresses up. 24 bytes a function; names stay
 * in the string tables that they came in (name_strings.h). What it may have is bounded (elf/name_budget.h), and so is the
 * time that anything takes, whatever the file says.
 */
#ifndef GECKOBPF_SYMBOL_SYMBOL_TABLE_H
#define GECKOBPF_SYMBOL_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_section;
struct name_budget;
struct symbol_table;

#define TABLE_SYMBOL_GUESSED 1 /* the file gives no size; it reaches up to what comes next */
#define TABLE_SYMBOL_STUB 2 /* of the procedure linkage table: jumps to the function of that name */
#define TABLE_SYMBOL_NAMED 4 /* set by the user of the table: `name` means what the user wants */

struct table_symbol {
	uint64_t address; /* first: address_sort() */
	uint32_t size;
	uint32_t name; /* offset in the strings of `source`, until TABLE_SYMBOL_NAMED */
	uint32_t outer; /* index + 1 of the nearest before that reaches beyond `address`; 0: none */
	uint8_t flags; /* TABLE_SYMBOL_* */
	uint8_t source;
	uint8_t rank; /* of several symbols at an address, the highest stays */
	uint8_t depth; /* how many there are outwards */
};

/* `budget`: what is left for all tables, borrowed; this one has its share of it, and takes it when it is finished. 0 or -ENOMEM. */
int symbol_table_open(struct symbol_table **out, struct name_budget *budget);
/* What it has in memory is given back. */
void symbol_table_close(struct symbol_table *table);

/*
 * Adds the functions of a SHT_SYMTAB or SHT_DYNSYM section. *source, if not NULL, gets the number
 * of its strings for symbol_table_add_stub(). 0; -ENOEXEC or -ENODATA: it is malformed, -EFBIG: there
 * is more of it than the budget has: nothing was added; -ENOMEM; -errno.
 */
int symbol_table_add(struct symbol_table *table, const struct elf_file *file,
		     const struct elf_section *section, uint8_t *source);

/*
 * Adds one linkage stub: its target's name is at offset `name` of `source`. 0; -ENOEXEC: no name is
 * there; -EFBIG; -ENOMEM.
 */
int symbol_table_add_stub(struct symbol_table *table, uint8_t source, uint32_t name,
			  uint64_t address, uint32_t size);

/*
 * Sorts; of symbols at the same address one is kept. Nothing may be added afterwards. 0 or -ENOMEM.
 */
int symbol_table_finish(struct symbol_table *table);

/* The innermost function that covers `address`, or NULL. */
struct table_symbol *symbol_table_find(struct symbol_table *table, uint64_t address);

/* [*from, *to): the addresses around `address`, for which `symbol` is found, that have the same answer. */
void symbol_table_extent(const struct symbol_table *table, const struct table_symbol *symbol,
			 uint64_t address, uint64_t *from, uint64_t *to);

size_t symbol_table_count(const struct symbol_table *table);

/*
 * As the file has it, valid until the next call; "" if it cannot be read any more. Not for a symbol that is
 * TABLE_SYMBOL_NAMED.
 */
const char *symbol_table_name(struct symbol_table *table, const struct table_symbol *symbol);

/* Whether functions were left out since they lie within others that lie within others, and so on. */
bool symbol_table_is_cut(const struct symbol_table *table);

#endif
