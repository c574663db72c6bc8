/* SPDX-License-Identifier: BSD-2-Clause */
/* sources.c - see sources.h. */
#include "capture/sources.h"

#include "base/array.h"
#include "base/log.h"
#include "capture/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct running_source {
	const struct source *source;
	void *state; /* NULL: not open */
};

struct sources {
	const struct source_config *config; /* borrowed */
	struct {
		struct running_source *items;
		size_t count, capacity;
	} rows;
	struct {
		const char **items; /* ends with NULL */
		size_t count, capacity;
	} programs;
	bool is_running;
};

static int add_program(struct sources *sources, const char *name)
{
	int err = ARRAY_ROOM(&sources->programs);

	if (!err)
		sources->programs.items[sources->programs.count++] = name;
	return err;
}

static int add_row(struct sources *sources, const struct source *source)
{
	int err = ARRAY_ROOM(&sources->rows);
	size_t i;

	if (!err)
		sources->rows.items[sources->rows.count++] = (struct running_source){source, NULL};
	for (i = 0; !err && source->programs[i]; i++)
		err = add_program(sources, source->programs[i]);
	return err;
}

int sources_open(struct sources **out, const struct source *const *table,
		 const struct source_config *config)
{
	struct sources *sources = calloc(1, sizeof(*sources));
	size_t i;
	int err = 0;

	if (!sources)
		return -ENOMEM;
	sources->config = config;
	for (i = 0; table[i] && !err; i++)
		if (table[i]->is_wanted(config))
			err = add_row(sources, table[i]);
	if (!err)
		err = add_program(sources, NULL);
	if (err) {
		sources_close(sources);
		return err;
	}
	*out = sources;
	return 0;
}

void sources_close(struct sources *sources)
{
	size_t i;

	if (!sources)
		return;
	for (i = 0; i < sources->rows.count; i++)
		if (sources->rows.items[i].state)
			sources->rows.items[i].source->close(sources->rows.items[i].state);
	free(sources->rows.items);
	free(sources->programs.items);
	free(sources);
}

const char *const *sources_programs(const struct sources *sources)
{
	return sources->programs.items;
}

bool sources_has_program(const struct sources *sources, const char *name)
{
	size_t i;

	for (i = 0; sources->programs.items[i]; i++)
		if (!strcmp(sources->programs.items[i], name))
			return true;
	return false;
}

int sources_start(struct sources *sources, struct kernel_side *kernel)
{
	struct running_source *rows = sources->rows.items;
	size_t i;
	int err = 0;

	for (i = 0; i < sources->rows.count && !err; i++)
		err = rows[i].source->open(&rows[i].state, kernel, sources->config);
	for (i = 0; i < sources->rows.count && !err; i++)
		err = rows[i].source->start(rows[i].state);
	if (err)
		log_debug("%s: cannot start: %s", rows[i - 1].source->name, strerror(-err));
	if (err)
		sources_stop(sources);
	else
		sources->is_running = true;
	return err;
}

void sources_pause(struct sources *sources)
{
	size_t i;

	sources->is_running = false;
	for (i = 0; i < sources->rows.count; i++)
		sources->rows.items[i].source->pause(sources->rows.items[i].state);
}

int sources_resume(struct sources *sources)
{
	struct running_source *rows = sources->rows.items;
	size_t i;
	int err = 0;

	for (i = 0; i < sources->rows.count && !err; i++)
		err = rows[i].source->resume(rows[i].state);
	if (err)
		sources_pause(sources);
	else
		sources->is_running = true;
	return err;
}

int sources_follow_cpus(struct sources *sources)
{
	size_t i;
	int err = 0;

	for (i = 0; sources->is_running && i < sources->rows.count && !err; i++)
		err = sources->rows.items[i].source->follow_cpus(sources->rows.items[i].state);
	return err;
}

void sources_stop(struct sources *sources)
{
	size_t i;

	if (!sources)
		return;
	sources->is_running = false;
	for (i = 0; i < sources->rows.count; i++)
		if (sources->rows.items[i].state)
			sources->rows.items[i].source->stop(sources->rows.items[i].state);
}

size_t sources_count(const struct sources *sources)
{
	return sources->rows.count;
}

const struct source *sources_at(const struct sources *sources, size_t index)
{
	return sources->rows.items[index].source;
}
