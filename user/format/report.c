/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - see report.h. Rows are formatted twice: for the widths of their columns, and to be printed. */
#include "format/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "format/stack_profile.h"
#include "format/text_out.h"

#define MAX_CELLS 8
#define CELL_BYTES 32

struct report {
	const struct stack_profile *profile;
	const struct report_options *options;
	FILE *out;
};

/* ---- numbers ------------------------------------------------------------------------ */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* A time that may be none. */
static void format_ms(char *cell, double time_ms)
{
	if (isnan(time_ms))
		snprintf(cell, CELL_BYTES, "-");
	else
		snprintf(cell, CELL_BYTES, "%.1f", time_ms);
}

/* ---- names --------------------------------------------------------------------------- */

static void put_text(const struct report *report, uint32_t text)
{
	text_out(report->out, stack_profile_text(report->profile, text), '\0');
}

static void put_process(const struct report *report, uint32_t number)
{
	const struct stack_process *process = &report->profile->processes.items[number];

	put_text(report, process->name);
	fputs(" (pid ", report->out);
	put_text(report, process->pid);
	fputc(')', report->out);
}

static void put_thread(const struct report *report, uint32_t number)
{
	const struct stack_thread *thread = &report->profile->threads.items[number];

	put_text(report, thread->name);
	fputs(" (tid ", report->out);
	put_text(report, thread->tid);
	fputs(") of ", report->out);
	put_process(report, thread->process);
}

static void put_key(const struct report *report, enum hot_key by, uint32_t key)
{
	switch (by) {
	case HOT_FUNCTION:
		text_out_function(report->out, report->profile, key, '\0');
		break;
	case HOT_THREAD:
		put_thread(report, key);
		break;
	case HOT_PROCESS:
		put_process(report, key);
		break;
	}
}

/* ---- tables ---------------------------------------------------------------------------- */

/* The last heading is that of the name. */
static const char *const function_headings[MAX_CELLS + 1] = {
	"self", "self%", "wall ms", "CPU ms", "total", "total%", "wall ms", "CPU ms", "function",
};
static const char *const thread_headings[] = {"samples", "%",     "wall ms", "CPU ms",
					      "from ms", "to ms", "thread"};
static const char *const process_headings[] = {"samples", "%",     "wall ms", "CPU ms",
					       "from ms", "to ms", "process"};

static const struct {
	const char *const *headings;
	int cells;
} layouts[] = {
	[HOT_FUNCTION] = {function_headings, 8},
	[HOT_THREAD] = {thread_headings, 6},
	[HOT_PROCESS] = {process_headings, 6},
};

/* Four cells. */
static void format_sum(char cells[][CELL_BYTES], const struct hot_sum *sum,
		       const struct hot_sum *whole)
{
	snprintf(cells[0], CELL_BYTES, "%" PRIu64, sum->samples);
	snprintf(cells[1], CELL_BYTES, "%.1f", percent(sum->samples, whole->samples));
	snprintf(cells[2], CELL_BYTES, "%.1f", ms(sum->wall_ns));
	snprintf(cells[3], CELL_BYTES, "%.1f", ms(sum->cpu_ns));
}

static void format_row(const struct report *report, const struct hot_list *list,
		       const struct hot_row *row, char cells[][CELL_BYTES])
{
	const struct stack_profile *profile = report->profile;

	format_sum(cells, &row->self, &list->sum);
	switch (report->options->by) {
	case HOT_FUNCTION:
		format_sum(cells + 4, &row->total, &list->sum);
		break;
	case HOT_THREAD:
		format_ms(cells[4], profile->threads.items[row->key].born_ms);
		format_ms(cells[5], profile->threads.items[row->key].died_ms);
		break;
	case HOT_PROCESS:
		format_ms(cells[4], profile->processes.items[row->key].born_ms);
		format_ms(cells[5], profile->processes.items[row->key].died_ms);
		break;
	}
}

static void measure(const struct report *report, const struct hot_list *list, size_t count,
		    int *widths)
{
	char cells[MAX_CELLS][CELL_BYTES];
	int cell_count = layouts[report->options->by].cells, cell;
	size_t i;

	for (cell = 0; cell < cell_count; cell++)
		widths[cell] = (int)strlen(layouts[report->options->by].headings[cell]);
	for (i = 0; i < count; i++) {
		format_row(report, list, &list->items[i], cells);
		for (cell = 0; cell < cell_count; cell++)
			if ((int)strlen(cells[cell]) > widths[cell])
				widths[cell] = (int)strlen(cells[cell]);
	}
}

static void put_heading(const struct report *report, const int *widths)
{
	const char *const *headings = layouts[report->options->by].headings;
	int cell, cell_count = layouts[report->options->by].cells;

	for (cell = 0; cell < cell_count; cell++)
		fprintf(report->out, "%*s  ", widths[cell], headings[cell]);
	fprintf(report->out, "%s\n", headings[cell_count]);
}

static void put_table(const struct report *report, const struct hot_list *list)
{
	size_t top = report->options->top, i;
	size_t count = top && top < list->count ? top : list->count;
	int widths[MAX_CELLS], cell;

	measure(report, list, count, widths);
	put_heading(report, widths);
	for (i = 0; i < count; i++) {
		char cells[MAX_CELLS][CELL_BYTES];

		format_row(report, list, &list->items[i], cells);
		for (cell = 0; cell < layouts[report->options->by].cells; cell++)
			fprintf(report->out, "%*s  ", widths[cell], cells[cell]);
		put_key(report, report->options->by, list->items[i].key);
		fputc('\n', report->out);
	}
	if (count < list->count)
		fprintf(report->out, "(%zu more)\n", list->count - count);
}

/* ---- what was profiled -------------------------------------------------------------- */

static void put_losses(const struct report *report, const struct stack_source *source)
{
	uint64_t stacks = source->stacks_complete + source->stacks_truncated;

	if (!source->has_log) {
		fputs("lost:      not known, the profile has no log\n", report->out);
		return;
	}
	fprintf(report->out,
		"lost:      %" PRIu64 " samples, %" PRIu64 " events; %" PRIu64
		" samples overwritten\n",
		source->samples_lost, source->events_lost, source->samples_overwritten);
	if (source->ticks_missed)
		fprintf(report->out,
			"missed:    %" PRIu64 " timer ticks did not come in time (%.1f %%)\n",
			source->ticks_missed,
			percent(source->ticks_missed, source->ticks + source->ticks_missed));
	fprintf(report->out, "truncated: %" PRIu64 " of %" PRIu64 " user stacks (%.1f %%)\n",
		source->stacks_truncated, stacks, percent(source->stacks_truncated, stacks));
}

static void put_time(const struct report *report, const struct stack_source *source)
{
	time_t seconds = (time_t)(source->start_real_ms / 1e3);
	struct tm utc;
	char when[64];

	if (!gmtime_r(&seconds, &utc) ||
	    !strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc))
		snprintf(when, sizeof(when), "at an unknown time");
	fprintf(report->out, "recorded:  %s, %.3f s, a sample every %.3f ms\n", when,
		source->duration_ms / 1e3, ms(source->interval_ns));
}

static void put_source(const struct report *report, uint32_t number)
{
	const struct stack_profile *profile = report->profile;
	const struct stack_source *source = &profile->sources.items[number];
	size_t i, processes = 0, threads = 0;

	for (i = 0; i < profile->processes.count; i++)
		processes += profile->processes.items[i].source == number;
	for (i = 0; i < profile->threads.count; i++)
		threads += stack_profile_source_of(profile, &profile->threads.items[i]) == source;
	fputs("file:      ", report->out);
	put_text(report, source->path);
	fputs("\nprofiled:  ", report->out);
	if (source->product != STACK_NONE)
		put_text(report, source->product);
	fprintf(report->out, "%s%zu process%s, %zu thread%s\n",
		source->product != STACK_NONE ? ", " : "", processes, processes == 1 ? "" : "es",
		threads, threads == 1 ? "" : "s");
	put_time(report, source);
	put_losses(report, source);
}

static void put_sums(const struct report *report, const struct hot_list *list)
{
	fprintf(report->out,
		"samples:   %" PRIu64
		", %.1f ms wall, %.1f ms CPU (%.1f ms of it without a stack)\n",
		list->sum.samples, ms(list->sum.wall_ns), ms(list->sum.cpu_ns),
		ms(list->no_stack_cpu_ns));
}

/* ---- the parts ------------------------------------------------------------------------ */

static int put_part(const struct report *report, const struct hot_scope *scope)
{
	struct hot_list list = {0};
	int err = hot_list_make(&list, report->profile, report->options->by, scope);

	if (err)
		return err;
	put_sums(report, &list);
	fputc('\n', report->out);
	put_table(report, &list);
	hot_list_clear(&list);
	return 0;
}

/* A table for each thread or process that has anything to show, the busiest first. */
static int put_each(const struct report *report)
{
	const struct hot_scope all = {STACK_NONE, STACK_NONE};
	bool is_thread = report->options->part == REPORT_EACH_THREAD;
	enum hot_key key = is_thread ? HOT_THREAD : HOT_PROCESS;
	struct hot_list parts = {0};
	size_t i;
	int err = hot_list_make(&parts, report->profile, key, &all);

	if (err)
		return err;
	put_sums(report, &parts);
	for (i = 0; i < parts.count && !err; i++) {
		uint32_t number = parts.items[i].key;
		const struct hot_scope scope = {
			.process = is_thread ? STACK_NONE : number,
			.thread = is_thread ? number : STACK_NONE,
		};

		fprintf(report->out, "\n%-11s", is_thread ? "thread:" : "process:");
		put_key(report, key, number);
		fputc('\n', report->out);
		err = put_part(report, &scope);
	}
	hot_list_clear(&parts);
	return err;
}

int report_write(const struct stack_profile *profile, const struct report_options *options,
		 FILE *out)
{
	const struct report report = {.profile = profile, .options = options, .out = out};
	const struct hot_scope all = {STACK_NONE, STACK_NONE};
	uint32_t i;
	int err;

	for (i = 0; i < profile->sources.count; i++)
		put_source(&report, i);
	err = options->part == REPORT_WHOLE ? put_part(&report, &all) : put_each(&report);
	return err ? err : text_out_flush(out);
}
