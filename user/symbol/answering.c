/* SPDX-License-Identifier: BSD-2-Clause */
/* answering.c - see answering.h. */
#include "symbol/answering.h"

#include "base/array.h"
#include "symbol/name_answer.h"
#include "symbol/name_question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One that was asked about. What symbol files borrow is here. */
struct asked_file {
	struct symbol_file *file;
	char *path, *root;
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
};

struct answering {
	uint64_t asker;
	struct symbol_files *files; /* the asker's; NULL: nobody has asked */
	char *debug_dir;
	char **dirs;
	struct file_search search;
	struct asked_file **items; /* by number; NULL: not asked about */
	size_t count, capacity;
};

int answering_open(struct answering **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_file(struct asked_file *asked)
{
	if (!asked)
		return;
	free(asked->path);
	free(asked->root);
	free(asked);
}

/* It is as if nobody had asked. */
static void forget(struct answering *answering)
{
	size_t i;

	symbol_files_close(answering->files);
	answering->files = NULL;
	for (i = 0; i < answering->count; i++)
		free_file(answering->items[i]);
	answering->count = 0;
	for (i = 0; answering->dirs && i < answering->search.dir_count; i++)
		free(answering->dirs[i]);
	free(answering->dirs);
	free(answering->debug_dir);
	answering->dirs = NULL;
	answering->debug_dir = NULL;
	answering->search = (struct file_search){0};
}

void answering_close(struct answering *answering)
{
	if (!answering)
		return;
	forget(answering);
	free(answering->items);
	free(answering);
}

/* ---- who asks ------------------------------------------------------------------------ */

static int copy_search(struct answering *answering, const struct file_search *search)
{
	size_t i;

	answering->search = *search;
	answering->search.dir_count = 0;
	answering->dirs = calloc(search->dir_count + 1, sizeof(*answering->dirs));
	if (!answering->dirs)
		return -ENOMEM;
	answering->search.dirs = (const char *const *)answering->dirs;
	for (i = 0; i < search->dir_count; i++) {
		answering->dirs[i] = strdup(search->dirs[i]);
		if (!answering->dirs[i])
			return -ENOMEM;
		answering->search.dir_count++;
	}
	return 0;
}

static int begin(struct answering *answering, const struct name_question *question)
{
	struct symbol_options options = {.search = &answering->search};
	int err;

	forget(answering);
	answering->asker = question->asker;
	if (question->debug_dir) {
		answering->debug_dir = strdup(question->debug_dir);
		if (!answering->debug_dir)
			return -ENOMEM;
	}
	err = copy_search(answering, question->search);
	options.debug_dir = answering->debug_dir;
	return err ? err : symbol_files_open(&answering->files, &options);
}

/* ---- about which file ------------------------------------------------------------------ */

static int copy_text(const char *text, char **copy)
{
	*copy = text ? strdup(text) : NULL;
	return text && !*copy ? -ENOMEM : 0;
}

static int copy_source(struct asked_file *asked, struct symbol_source *source)
{
	int err = copy_text(source->path, &asked->path);

	if (!err)
		err = copy_text(source->root, &asked->root);
	source->path = asked->path;
	source->root = asked->root;
	if (source->build_id_bytes)
		memcpy(asked->build_id, source->build_id, source->build_id_bytes);
	source->build_id = asked->build_id;
	return err;
}

static int add_file(struct answering *answering, const struct name_question *question,
		    struct asked_file **out)
{
	struct symbol_source source = question->source;
	struct asked_file *asked = calloc(1, sizeof(*asked));
	int err = asked ? copy_source(asked, &source) : -ENOMEM;

	if (!err)
		err = symbol_files_add(answering->files, &source, &asked->file);
	if (err) {
		free_file(asked);
		return err;
	}
	*out = asked;
	return 0;
}

static int find_file(struct answering *answering, const struct name_question *question,
		     struct symbol_file **out)
{
	const size_t number = question->number;
	int err = array_reserve((void **)&answering->items, &answering->capacity, number + 1,
				sizeof(*answering->items));

	while (!err && answering->count <= number)
		answering->items[answering->count++] = NULL;
	if (!err && !answering->items[number])
		err = add_file(answering, question, &answering->items[number]);
	if (err)
		return err;
	*out = answering->items[number]->file;
	symbol_file_reopen(*out, question->source.fd);
	return 0;
}

/* ---- the answer ------------------------------------------------------------------------ */

/* By its symbol, or else by what stripping left. 0 or -ENOMEM. */
static int answer_one(struct symbol_file *file, uint64_t offset, struct name_writer *writer,
		      uint64_t *end)
{
	struct name_span span = {.first = offset, .end = offset + 1};
	struct symbol symbol = {0};
	struct symbol_line line = {0};
	int err = symbol_file_lookup(file, offset, &symbol);

	if (err && err != -ENOMEM)
		err = symbol_file_function(file, offset, &symbol);
	if (!err) {
		span = (struct name_span){
			.first = symbol.first,
			.end = symbol.end,
			.start = symbol.address,
			.size = symbol.size,
			.is_function = 1,
		};
		/* What came before it ends there: see are_spans(). */
		if (span.first < *end)
			span.first = *end;
	}
	if (!err && symbol.name)
		err = symbol_file_line(file, offset, &line);
	if (err == -ENOMEM)
		return err;
	span.line = line.line;
	*end = span.end;
	return name_writer_add(writer, &span, symbol.name, line.file);
}

static int answer_all(struct symbol_file *file, const struct name_question *question,
		      struct name_writer *writer)
{
	uint64_t end = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < question->count && !err; i++)
		if (question->offsets[i] >= end)
			err = answer_one(file, question->offsets[i], writer, &end);
	return err;
}

static int answer(struct symbol_file *file, const struct name_question *question,
		  struct name_writer *writer)
{
	const struct elf_layout *layout;
	struct other_file other = {0};
	int layout_err = symbol_file_layout(file, &layout), err = 0;

	if (layout_err == -ENOMEM)
		return layout_err;
	if (question->wants_layout)
		name_writer_layout(writer, layout_err, layout);
	if (question->count)
		err = answer_all(file, question, writer);
	name_writer_trouble(writer, symbol_file_trouble(file, &other), &other);
	return err;
}

int answering_answer(struct answering *answering, const struct name_question *question,
		     char **bytes, size_t *size)
{
	struct name_writer *writer = NULL;
	struct symbol_file *file;
	int err = 0;

	if (!answering->files || answering->asker != question->asker)
		err = begin(answering, question);
	if (!err)
		err = find_file(answering, question, &file);
	if (!err)
		err = name_writer_open(&writer);
	if (!err)
		err = answer(file, question, writer);
	if (!err)
		err = name_writer_finish(writer, bytes, size);
	name_writer_close(writer);
	return err;
}
