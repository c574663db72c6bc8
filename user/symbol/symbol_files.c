/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_files.c - see symbol_files.h.
 *
 * A file is read in two steps, each when it is first needed: its layout (segments, build id), then
 * its symbols. It is open only meanwhile.
 *
 *   offset --layout--> address --table--> symbol --(first time: demangle, intern)--> name
 */
#include "symbol/symbol_files.h"
#include "base/intern.h"
#include "elf/debug_file.h"
#include "symbol/demangle.h"
#include "elf/elf_file.h"
#include "elf/elf_layout.h"
#include "elf/elf_open.h"
#include "elf/name_budget.h"
#include "symbol/plt.h"
#include "symbol/symbol_table.h"
#include "unwind/function_list.h"
#include "unwind/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUB_SUFFIX "@plt"
/* The largest functions without a size that libraries export, such as those of openh264, have 3 KiB. */
#define GUESS_MAX_BYTES 4096

struct symbol_file {
	struct symbol_file *next;
	struct symbol_files *files;
	struct symbol_source source;
	enum file_part part; /* that stands for a file that was searched for */
	struct other_file other;
	bool is_stripped; /* of all symbols but .dynsym */
	bool is_too_large; /* some of its symbols or names are not used: see elf/name_budget.h */
	bool is_go;
	bool layout_read, symbols_read, functions_read;
	int layout_err, symbols_err, functions_err; /* what came of it */
	struct elf_layout layout;
	struct symbol_table *table;
	struct function_list *functions;
	uint64_t answer_bytes; /* of its names that were answered */
};

struct symbol_files {
	struct symbol_file *first; /* a list */
	struct intern *names;
	const char *debug_dir;
	struct file_search search;
	struct name_budget budget;
	bool raw_names;
	char printed[DEMANGLE_MAX_BYTES + sizeof(STUB_SUFFIX)];
};

int symbol_files_open(struct symbol_files **out, const struct symbol_options *options)
{
	struct symbol_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->budget = (struct name_budget)NAME_BUDGET_START;
	files->debug_dir = "/usr/lib/debug";
	if (options && options->debug_dir)
		files->debug_dir = options->debug_dir;
	if (options && options->search)
		files->search = *options->search;
	files->raw_names = options && options->raw_names;
	err = intern_open(&files->names);
	if (err) {
		free(files);
		return err;
	}
	*out = files;
	return 0;
}

static void close_file(struct symbol_file *file)
{
	elf_layout_free(&file->layout);
	symbol_table_close(file->table);
	function_list_close(file->functions);
	free(file);
}

void symbol_files_close(struct symbol_files *files)
{
	if (!files)
		return;
	while (files->first) {
		struct symbol_file *next = files->first->next;

		close_file(files->first);
		files->first = next;
	}
	intern_close(files->names);
	free(files);
}

int symbol_files_add(struct symbol_files *files, const struct symbol_source *source,
		     struct symbol_file **out)
{
	struct symbol_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->files = files;
	file->source = *source;
	file->next = files->first;
	files->first = file;
	*out = file;
	return 0;
}

/* ---- reading files ------------------------------------------------------------ */

/* If all that is left of a file is its debug file, that says enough. */
static int search_source(struct symbol_file *file, struct elf_file **out)
{
	const struct symbol_source *source = &file->source;
	const struct file_search *search = &file->files->search;
	const struct wanted_file want = {source->path, source->build_id, source->build_id_bytes};
	int err = file_search_find(search, &want, file->part, out, &file->other);

	if (err != -ENOENT || file->layout_read || !source->code_bytes)
		return err;
	file->part = FILE_PART_DEBUG;
	return file_search_find(search, &want, file->part, out, NULL);
}

static int open_source(struct symbol_file *file, struct elf_file **out)
{
	const struct symbol_source *source = &file->source;
	int fd;

	if (source->build_id_bytes)
		return search_source(file, out);
	if (source->image)
		return elf_file_open_image(out, source->image, source->image_bytes);
	if (source->fd >= 0)
		return elf_file_open_fd(out, source->fd);
	fd = source->path ? elf_open_path(NULL, source->path) : -ENOENT;
	return fd < 0 ? fd : elf_file_adopt_fd(out, fd);
}

static int read_layout(struct symbol_file *file)
{
	struct elf_file *elf;
	const struct symbol_source *source = &file->source;
	int err = open_source(file, &elf);

	if (err)
		return err;
	err = elf_layout_read(&file->layout, elf);
	file->is_go = elf_file_named(elf, ".gopclntab") || elf_file_named(elf, ".go.buildinfo");
	elf_file_close(elf);
	if (!err && !file->layout.segment_count)
		err = -ENOEXEC;
	if (!err && file->part == FILE_PART_DEBUG && !elf_layout_has_code(&file->layout))
		err = elf_layout_place_code(&file->layout, source->code_offset, source->code_bytes);
	return err;
}

/* What was found out stays; only lack of memory may pass. */
static bool is_found_out(int err)
{
	return err != -ENOMEM;
}

static int need_layout(struct symbol_file *file)
{
	int err;

	if (file->layout_read)
		return file->layout_err;
	err = read_layout(file);
	if (!is_found_out(err))
		return err;
	file->layout_read = true;
	file->layout_err = err;
	return err;
}

/* A table that is malformed, or too large, does not spoil the others. */
static int tolerate(struct symbol_file *file, int err)
{
	if (err == -EFBIG)
		file->is_too_large = true;
	return err == -EFBIG || elf_file_malformed(err) ? 0 : err;
}

static int add_table(struct symbol_table *table, struct symbol_file *file,
		     const struct elf_file *elf, uint32_t type)
{
	const struct elf_section *section = elf_file_typed(elf, type);

	return section ? tolerate(file, symbol_table_add(table, elf, section, NULL)) : 0;
}

/* .dynsym, and the linkage stubs, which take their names from it. */
static int add_dynamic(struct symbol_table *table, struct symbol_file *file,
		       const struct elf_file *elf)
{
	const struct elf_section *section = elf_file_typed(elf, SHT_DYNSYM);
	uint8_t source;
	int err;

	if (!section)
		return 0;
	err = symbol_table_add(table, elf, section, &source);
	if (!err)
		err = plt_add(table, elf, source);
	return tolerate(file, err);
}

/*
 * The .symtab that was taken out of the file. Whatever is wrong with such a file, it is as if it
 * were not there.
 */
static int add_separate(struct symbol_table *table, struct symbol_file *file,
			const struct elf_file *elf)
{
	const struct debug_place place = {
		.path = file->source.path,
		.root = file->source.root,
		.debug_dir = file->files->debug_dir,
	};
	const struct wanted_file want = {file->source.path, file->layout.build_id,
					 file->layout.build_id_bytes};
	struct name_budget *budget = &file->files->budget;
	struct elf_file *debug;
	int err = debug_file_open(&debug, elf, &file->layout, &place, budget);

	if (err == -EFBIG)
		file->is_too_large = true;
	if (err == -ENOENT || err == -EFBIG)
		err = file_search_find(&file->files->search, &want, FILE_PART_DEBUG, &debug, NULL);
	if (err == -ENOENT)
		err = debug_file_open_embedded(&debug, elf, budget);
	if (!err) {
		err = add_table(table, file, debug, SHT_SYMTAB);
		elf_file_close(debug);
	}
	err = tolerate(file, err);
	return is_found_out(err) ? 0 : err;
}

static int fill_table(struct symbol_table *table, struct symbol_file *file,
		      const struct elf_file *elf)
{
	int err;

	if (elf_file_typed(elf, SHT_SYMTAB))
		err = add_table(table, file, elf, SHT_SYMTAB);
	else
		err = add_separate(table, file, elf);
	file->is_stripped = !symbol_table_count(table);
	if (!err)
		err = add_dynamic(table, file, elf);
	if (!err)
		err = symbol_table_finish(table);
	file->is_too_large |= symbol_table_is_cut(table);
	return err;
}

static int read_symbols(struct symbol_file *file)
{
	struct symbol_table *table = NULL;
	struct elf_file *elf;
	int err = open_source(file, &elf);

	if (err)
		return err;
	err = symbol_table_open(&table, &file->files->budget);
	if (!err)
		err = fill_table(table, file, elf);
	elf_file_close(elf);
	if (err) {
		symbol_table_close(table);
		return err;
	}
	file->table = table;
	return 0;
}

static int need_symbols(struct symbol_file *file)
{
	int err = need_layout(file);

	if (err)
		return err;
	if (file->symbols_read)
		return file->symbols_err;
	err = read_symbols(file);
	if (!is_found_out(err))
		return err;
	file->symbols_read = true;
	file->symbols_err = err;
	return err;
}

/* -EFBIG: it takes more memory than the file may have. */
static int keep_functions(struct symbol_file *file)
{
	uint64_t *left = &file->files->budget.list_bytes;
	const uint64_t bytes = function_list_bytes(file->functions);

	if (bytes > name_budget_share(*left, UINT64_MAX)) {
		function_list_close(file->functions);
		file->functions = NULL;
		return -EFBIG;
	}
	name_budget_spend(left, bytes);
	return 0;
}

static int read_functions(struct symbol_file *file)
{
	struct elf_file *elf;
	int err = open_source(file, &elf);

	if (err)
		return err;
	err = function_list_open(&file->functions,
				 &(struct unwind_source){elf->fd, elf->image, elf->size});
	elf_file_close(elf);
	if (!err)
		err = keep_functions(file);
	if (err != -EFBIG)
		return err;
	file->is_too_large = true;
	return -ENOEXEC;
}

static int need_functions(struct symbol_file *file)
{
	int err = need_layout(file);

	if (err)
		return err;
	if (file->functions_read)
		return file->functions_err;
	err = read_functions(file);
	if (!is_found_out(err))
		return err;
	file->functions_read = true;
	file->functions_err = err;
	return err;
}

/* ---- answering ---------------------------------------------------------------- */

/*
 * *number: that of a name that is answered, of `length` bytes at files->printed. -ENOENT: it is empty, or the file had its share of
 * names.
 */
static int keep_name(struct symbol_file *file, size_t length, uint32_t *number)
{
	struct symbol_files *files = file->files;
	const uint32_t count = intern_count(files->names);
	uint64_t *left = &files->budget.answer_bytes;
	int err;

	if (file->answer_bytes + length >
	    name_budget_share(*left + file->answer_bytes, UINT64_MAX)) {
		file->is_too_large = true;
		return -ENOENT;
	}
	err = length ? intern_add(files->names, files->printed, length, number) : -ENOENT;
	if (err || intern_count(files->names) == count)
		return err;
	file->answer_bytes += length;
	name_budget_spend(left, length);
	return 0;
}

static int need_name(struct symbol_file *file, struct table_symbol *symbol)
{
	struct symbol_files *files = file->files;
	char *printed = files->printed;
	size_t length;
	int err;

	if (symbol->flags & TABLE_SYMBOL_NAMED)
		return 0;
	length = demangle(symbol_table_name(file->table, symbol), files->raw_names, printed);
	if (length && symbol->flags & TABLE_SYMBOL_STUB) {
		strcpy(printed + length, STUB_SUFFIX);
		length += strlen(STUB_SUFFIX);
	}
	err = keep_name(file, length, &symbol->name);
	if (!err)
		symbol->flags |= TABLE_SYMBOL_NAMED;
	return err;
}

/*
 * Whether an address is in a symbol that covers it. Of one without a size that is a guess, up to the next symbol, and in
 * a stripped file that may be far away: it ends where another function begins, and is of hand-written code, which is
 * short.
 */
static int reaches(struct symbol_file *file, const struct table_symbol *symbol, uint64_t address,
		   bool *is_in)
{
	struct listed_function function;
	int err;

	*is_in = true;
	if (!file->is_stripped || !(symbol->flags & TABLE_SYMBOL_GUESSED))
		return 0;
	err = need_functions(file);
	if (err == -ENOMEM)
		return err;
	if (!err && function_list_find(file->functions, address, &function))
		*is_in = function.start <= symbol->address;
	*is_in &= address - symbol->address < GUESS_MAX_BYTES;
	return 0;
}

/* The symbol that covers the address. 0, -ENOENT, -ENOMEM. */
static int find_symbol(struct symbol_file *file, uint64_t address, struct table_symbol **out)
{
	struct table_symbol *symbol = symbol_table_find(file->table, address);
	bool is_in;
	int err = symbol ? reaches(file, symbol, address, &is_in) : -ENOENT;

	if (!err && !is_in)
		err = -ENOENT;
	if (!err)
		*out = symbol;
	return err;
}

/* Around `offset`, which is at `address`, as far as lines and guesses go: for which offsets the symbol is the answer. */
static void find_extent(const struct symbol_file *file, const struct table_symbol *symbol,
			uint64_t offset, uint64_t address, struct symbol *out)
{
	uint64_t from, to;

	out->first = offset;
	out->end = offset + 1;
	if (file->is_go || (file->is_stripped && symbol->flags & TABLE_SYMBOL_GUESSED))
		return;
	symbol_table_extent(file->table, symbol, address, &from, &to);
	elf_layout_extent(&file->layout, offset, &out->first, &out->end);
	if (address - from < offset - out->first)
		out->first = offset - (address - from);
	if (to - address < out->end - offset)
		out->end = offset + (to - address);
}

int symbol_file_lookup(struct symbol_file *file, uint64_t offset, struct symbol *out)
{
	struct table_symbol *symbol;
	uint64_t address;
	int err = need_symbols(file);

	if (!err)
		err = elf_layout_address(&file->layout, offset, &address);
	if (!err)
		err = find_symbol(file, address, &symbol);
	if (!err)
		err = need_name(file, symbol);
	if (err)
		return err;
	out->name = intern_text(file->files->names, symbol->name, NULL);
	out->address = symbol->address;
	out->size = symbol->flags & TABLE_SYMBOL_GUESSED ? 0 : symbol->size;
	find_extent(file, symbol, offset, address, out);
	return 0;
}

/* *kept: the text as it is shown; `raw`: not demangled. As keep_name(). */
static int keep_text(struct symbol_file *file, const char *text, bool raw, const char **kept)
{
	struct symbol_files *files = file->files;
	uint32_t number;
	int err = keep_name(file, demangle(text, raw, files->printed), &number);

	if (!err)
		*kept = intern_text(files->names, number, NULL);
	return err;
}

int symbol_file_function(struct symbol_file *file, uint64_t offset, struct symbol *out)
{
	struct listed_function function;
	uint64_t address;
	int err = need_functions(file);

	if (!err)
		err = elf_layout_address(&file->layout, offset, &address);
	if (err)
		return err;
	if (!function_list_find(file->functions, address, &function) ||
	    address - function.start >= function.size)
		return -ENOENT;
	*out = (struct symbol){
		.address = function.start,
		.size = function.size,
		.first = offset,
		.end = offset + 1,
	};
	return function.name ? keep_text(file, function.name, file->files->raw_names, &out->name)
			     : 0;
}

int symbol_file_line(struct symbol_file *file, uint64_t offset, struct symbol_line *out)
{
	struct listed_line line;
	uint64_t address;
	int err = need_layout(file);

	if (!err && !file->is_go)
		return -ENOENT;
	if (!err)
		err = need_functions(file);
	if (!err)
		err = elf_layout_address(&file->layout, offset, &address);
	if (err)
		return err;
	if (!function_list_line(file->functions, address, &line))
		return -ENOENT;
	out->line = line.line;
	return keep_text(file, line.file, true, &out->file);
}

enum symbol_trouble symbol_file_trouble(const struct symbol_file *file, struct other_file *other)
{
	if (file->is_too_large)
		return SYMBOL_TROUBLE_TOO_LARGE;
	if (!file->layout_err && !file->symbols_err)
		return SYMBOL_TROUBLE_STRIPPED;
	*other = file->other;
	return file->other.is_there ? SYMBOL_TROUBLE_OTHER_BUILD : SYMBOL_TROUBLE_MISSING;
}

int symbol_file_layout(struct symbol_file *file, const struct elf_layout **out)
{
	int err = need_layout(file);

	*out = &file->layout;
	return err;
}

void symbol_file_reopen(struct symbol_file *file, int fd)
{
	file->source.fd = fd;
}
