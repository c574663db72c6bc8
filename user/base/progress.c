/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.c - see progress.h.
 *
 * A clock costs more than most of the work that is counted, so it is not looked at in every call:
 * the number of calls from one look to the next doubles while they take less than a millisecond,
 * and starts over when they take long or other work begins.
 */
#include "base/progress.h"

#include "base/clock.h"

#include <stdbool.h>

#define SHOW_EVERY_NS (100 * NS_PER_MS)
#define LOOK_EVERY_NS NS_PER_MS
#define LOOK_LATE_NS (10 * NS_PER_MS)
#define MAX_SKIP 1024
/* What is left is guessed from then on; before, a slow beginning would make it hours. */
#define GUESS_AFTER_NS (500 * NS_PER_MS)
#define GUESS_AFTER_POSITION (PROGRESS_WHOLE / 50)

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

static void show(struct progress_view *view, uint64_t now)
{
	struct progress_state state = {.task = view->task, .position = view->position};

	view->shown_ns = now;
	state.is_left_known = guess_left(view, now, &state.left_tenths);
	view->style->show(&state);
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

void progress_begin(struct progress *whole, struct progress_view *view, const char *task,
		    uint64_t total)
{
	*whole = (struct progress){.to = PROGRESS_WHOLE, .total = total};
	if (!view || !view->style || !view->style->is_seen())
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
	show(view, now_ns(view));
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
