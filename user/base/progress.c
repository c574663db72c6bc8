/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.c - see progress.h.
 *
 * A clock costs more than most of the work that is counted, so it is not looked at in every call: the number of calls from one
 * look to the next doubles while they take less than a millisecond, and starts over when they take long or other work begins.
 */
#include "base/progress.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOW_EVERY_NS (100 * NS_PER_MS)
#define LOOK_EVERY_NS NS_PER_MS
#define LOOK_LATE_NS (10 * NS_PER_MS)
#define MAX_SKIP 1024
/* What is left is guessed from then on; before, a slow beginning would make it hours. */
#define GUESS_AFTER_NS (500 * NS_PER_MS)
#define GUESS_AFTER_POSITION (PROGRESS_WHOLE / 50)

#define BAR_WIDTH (PROGRESS_BAR_BYTES - 4)

/* ---- where we are ------------------------------------------------------------------ */

/* Where `done` of the piece's units are in the whole. */
static uint64_t position(const struct progress *piece, uint64_t done)
{
	unsigned __int128 range = piece->to - piece->from;

	if (!piece->total)
		return piece->from;
	return piece->from + (uint64_t)(range * done / piece->total);
}

/* Only the end of the whole is the end. */
static void advance(struct progress_view *view, uint64_t to)
{
	if (to == PROGRESS_WHOLE)
		to--;
	if (view->position < to)
		view->position = to;
}

static uint64_t now_ns(const struct progress_view *view)
{
	return view->now_ns ? view->now_ns() : clock_now_ns();
}

/* ---- showing it ---------------------------------------------------------------------- */

void progress_draw_bar(char *bar, double part)
{
	int filled = part < 1 ? (int)(part * BAR_WIDTH) : BAR_WIDTH;

	memset(bar, ' ', BAR_WIDTH + 3);
	bar[0] = '[';
	memset(bar + 1, '=', (size_t)filled);
	if (filled < BAR_WIDTH)
		bar[1 + filled] = '>';
	bar[BAR_WIDTH + 1] = ']';
	bar[BAR_WIDTH + 3] = '\0';
}

/* Tenths of seconds until the end; false: it makes no sense yet. */
static bool guess_left(const struct progress_view *view, uint64_t now, uint64_t *tenths)
{
	uint64_t elapsed_ns = now - view->begin_ns;

	*tenths = 0;
	if (view->position == PROGRESS_WHOLE)
		return true;
	if (view->position < GUESS_AFTER_POSITION || elapsed_ns < GUESS_AFTER_NS)
		return false;
	*tenths = (uint64_t)((unsigned __int128)elapsed_ns * (PROGRESS_WHOLE - view->position) /
			     view->position / (NS_PER_SEC / 10));
	return true;
}

static void show_bar(const struct progress_view *view, uint64_t now)
{
	char bar[PROGRESS_BAR_BYTES], left[40] = "";
	double part = (double)view->position / (double)PROGRESS_WHOLE;
	uint64_t tenths;

	progress_draw_bar(bar, part);
	if (guess_left(view, now, &tenths))
		snprintf(left, sizeof(left), ", %" PRIu64 ".%" PRIu64 " s left", tenths / 10,
			 tenths % 10);
	log_status("  %s%2d %%   %s%s", bar, (int)(part * 100), view->task, left);
}

/* Four decimals, rounded down: 1 is the end and nothing else. One write: stderr is not buffered. */
static void show_json(const struct progress_view *view, uint64_t now)
{
	unsigned int parts = (unsigned int)(view->position / (PROGRESS_WHOLE / 10000));
	char left[40] = "null";
	uint64_t tenths;

	if (guess_left(view, now, &tenths))
		snprintf(left, sizeof(left), "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	log_status_clear();
	fprintf(stderr, "{\"progress\":%u.%04u,\"task\":\"%s\",\"eta_s\":%s}\n", parts / 10000,
		parts % 10000, view->task, left);
}

static void show(struct progress_view *view, uint64_t now)
{
	view->shown_ns = now;
	if (view->style == PROGRESS_JSON)
		show_json(view, now);
	else
		show_bar(view, now);
}

void progress_look(struct progress *piece)
{
	struct progress_view *view = piece->view;
	uint64_t now = now_ns(view), since_ns = now - view->looked_ns;

	if (since_ns > LOOK_LATE_NS)
		view->skip = 1;
	else if (since_ns < LOOK_EVERY_NS && view->skip < MAX_SKIP)
		view->skip *= 2;
	view->left = view->skip;
	view->looked_ns = now;
	advance(view, position(piece, piece->done));
	if (now - view->shown_ns >= SHOW_EVERY_NS)
		show(view, now);
}

/* ---- pieces -------------------------------------------------------------------------- */

/* Other work takes another time. */
static void look_again(struct progress_view *view, const char *task)
{
	if (task)
		view->task = task;
	view->skip = view->left = 1;
}

static bool is_shown(const struct progress_view *view)
{
	if (view->style == PROGRESS_BAR)
		return isatty(STDERR_FILENO) && log_get_level() >= LOG_INFO;
	return view->style == PROGRESS_JSON;
}

void progress_begin(struct progress *whole, struct progress_view *view, const char *task,
		    uint64_t total)
{
	*whole = (struct progress){.to = PROGRESS_WHOLE, .total = total};
	if (!view || !is_shown(view))
		return;
	whole->view = view;
	view->begin_ns = view->looked_ns = now_ns(view);
	look_again(view, task);
	show(view, view->begin_ns);
}

void progress_split(struct progress *part, struct progress *parent, uint64_t units,
		    const char *task, uint64_t total)
{
	uint64_t left;

	*part = (struct progress){0};
	if (!parent || !parent->view)
		return;
	left = parent->total - parent->done;
	part->view = parent->view;
	part->parent = parent;
	part->units = units < left ? units : left;
	part->from = position(parent, parent->done);
	part->to = position(parent, parent->done + part->units);
	part->total = total;
	look_again(part->view, task);
	progress_look(part);
}

static void end_whole(struct progress_view *view)
{
	view->position = PROGRESS_WHOLE;
	if (view->style == PROGRESS_JSON)
		show(view, now_ns(view));
	else
		log_status_clear();
}

void progress_end(struct progress *piece)
{
	if (!piece || !piece->view)
		return;
	piece->done = piece->total;
	advance(piece->view, piece->to);
	look_again(piece->view, NULL);
	if (piece->parent)
		progress_add(piece->parent, piece->units);
	else
		end_whole(piece->view);
}
