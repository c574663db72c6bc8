/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_symbols.c - see kernel_symbols.h.
 *
 * The text is read at once and then packed in place: each line becomes shorter, so what is written
 * never catches up with what is read.
 *
 *   read     ffffffffc0512000 t nft_do_chain\t[nf_tables]\n
 *   packed   tnft_do_chain NUL nf_tables NUL
 *            ^letter ^name     ^module: only where it is not the one of the line before
 */
#include "symbol/kernel_symbols.h"
#include "base/array.h"
#include "base/fd.h"
#include "symbol/address_sort.h"

#include <stdbool.h>
#include <string.h>

/*
 * What is farther than this behind a symbol does not belong to it: gaps between modules, memory
 * that was freed.
 */
#define FUNCTION_MAX_BYTES (1ULL << 20)

struct kernel_symbol {
	uint64_t address; /* first: address_sort() */
	uint32_t name; /* offset in `text`; the symbol's letter is before it */
	uint32_t module; /* the same, 0: none */
};

struct kernel_symbols {
	char *text;
	struct kernel_symbol *items;
	size_t count, capacity;
};

/* Where parsing is. */
struct packing {
	char *read, *end;
	char *write;
	uint32_t last_module; /* offset of the latest module name written; 0: none */
	bool address_seen; /* that is not 0 */
	bool text_seen;
};

struct field {
	char *text;
	size_t length;
};

static struct field next_field(struct packing *packing)
{
	struct field field;
	char *at = packing->read;

	while (at < packing->end && (*at == ' ' || *at == '\t'))
		at++;
	field.text = at;
	while (at < packing->end && *at != ' ' && *at != '\t' && *at != '\n')
		at++;
	field.length = (size_t)(at - field.text);
	packing->read = at;
	return field;
}

static void skip_line(struct packing *packing)
{
	char *newline = memchr(packing->read, '\n', (size_t)(packing->end - packing->read));

	packing->read = newline ? newline + 1 : packing->end;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool parse_address(struct field field, uint64_t *address)
{
	uint64_t value = 0;
	size_t i;

	if (!field.length || field.length > 16)
		return false;
	for (i = 0; i < field.length; i++) {
		int digit = hex_digit(field.text[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*address = value;
	return true;
}

static uint32_t pack(struct kernel_symbols *symbols, struct packing *packing, struct field field)
{
	uint32_t at = (uint32_t)(packing->write - symbols->text);
	size_t i;

	for (i = 0; i < field.length; i++) {
		char c = field.text[i];

		*packing->write++ = c > ' ' && c < 0x7f ? c : '?';
	}
	*packing->write++ = '\0';
	return at;
}

/* "[name]" -> its offset, 0: that is no module. Lines of one module follow each other. */
static uint32_t pack_module(struct kernel_symbols *symbols, struct packing *packing,
			    struct field field)
{
	const char *last = symbols->text + packing->last_module;

	if (field.length < 3 || field.text[0] != '[' || field.text[field.length - 1] != ']')
		return 0;
	field.text++;
	field.length -= 2;
	if (!packing->last_module || strncmp(last, field.text, field.length) ||
	    last[field.length] != '\0')
		packing->last_module = pack(symbols, packing, field);
	return packing->last_module;
}

static bool is_text(struct field letter)
{
	return letter.length == 1 && memchr("tTwW", letter.text[0], 4);
}

/* "address letter name [module]", at the beginning of a line. */
static int parse_line(struct kernel_symbols *symbols, struct packing *packing)
{
	struct field hex = next_field(packing), letter = next_field(packing);
	struct field name = next_field(packing), module = next_field(packing);
	struct kernel_symbol symbol = {0};

	if (!parse_address(hex, &symbol.address) || !is_text(letter) || !name.length)
		return 0;
	packing->text_seen = true;
	if (!symbol.address)
		return 0;
	packing->address_seen = true;
	if (ARRAY_ROOM(symbols))
		return -ENOMEM;
	*packing->write++ = letter.text[0];
	symbol.name = pack(symbols, packing, name);
	symbol.module = pack_module(symbols, packing, module);
	symbols->items[symbols->count++] = symbol;
	return 0;
}

static int parse(struct kernel_symbols *symbols, size_t length)
{
	struct packing packing = {
		.read = symbols->text,
		.end = symbols->text + length,
		.write = symbols->text,
	};
	char *fitting;
	int err = 0;

	while (!err && packing.read < packing.end) {
		err = parse_line(symbols, &packing);
		skip_line(&packing);
	}
	if (err)
		return err;
	if (!packing.address_seen)
		return packing.text_seen ? -EACCES : -ENODATA;
	fitting = realloc(symbols->text, (size_t)(packing.write - symbols->text));
	if (fitting)
		symbols->text = fitting;
	return 0;
}

static unsigned int rank_of(char letter)
{
	return letter == 'T' ? 2 : letter == 't' ? 0 : 1;
}

static bool is_better(const struct kernel_symbols *symbols, const struct kernel_symbol *a,
		      const struct kernel_symbol *b)
{
	const char *name_a = symbols->text + a->name, *name_b = symbols->text + b->name;
	unsigned int rank_a = rank_of(name_a[-1]), rank_b = rank_of(name_b[-1]);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	return strspn(name_a, "_") < strspn(name_b, "_");
}

/* Of symbols at the same address leaves the best; of equally good ones the first. */
static void keep_best(struct kernel_symbols *symbols)
{
	size_t kept = 0, i;

	for (i = 0; i < symbols->count; i++) {
		struct kernel_symbol *symbol = &symbols->items[i], *last;

		last = kept ? &symbols->items[kept - 1] : NULL;
		if (!last || last->address != symbol->address)
			symbols->items[kept++] = *symbol;
		else if (is_better(symbols, symbol, last))
			*last = *symbol;
	}
	symbols->count = kept;
}

static int read_symbols(struct kernel_symbols *symbols, const char *path)
{
	size_t length;
	int err = fd_read_file(path, &symbols->text, &length);

	if (err)
		return err;
	if (length >= UINT32_MAX)
		return -EFBIG;
	err = parse(symbols, length);
	if (!err)
		err = address_sort(symbols->items, symbols->count, sizeof(*symbols->items));
	if (!err)
		keep_best(symbols);
	return err;
}

int kernel_symbols_open(struct kernel_symbols **out, const char *path)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	int err;

	if (!symbols)
		return -ENOMEM;
	err = read_symbols(symbols, path ? path : "/proc/kallsyms");
	if (err) {
		kernel_symbols_close(symbols);
		return err;
	}
	*out = symbols;
	return 0;
}

void kernel_symbols_close(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->text);
	free(symbols->items);
	free(symbols);
}

const char *kernel_symbols_lookup(const struct kernel_symbols *symbols, uint64_t address,
				  const char **module, uint64_t *start)
{
	size_t low = 0, high = symbols->count;
	const struct kernel_symbol *symbol;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - symbols->items[low - 1].address > FUNCTION_MAX_BYTES)
		return NULL;
	symbol = &symbols->items[low - 1];
	if (module)
		*module = symbol->module ? symbols->text + symbol->module : NULL;
	if (start)
		*start = symbol->address;
	return symbols->text + symbol->name;
}
