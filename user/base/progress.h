/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - how far a long piece of work is: nested parts, shown as the caller wants it.
 *
 *   whole     0 |-------------------------------------------| PROGRESS_WHOLE
 *   part        |-- 2 of 8 units --|------ 6 of 8 units ------|
 *   its part                       |--- 1 of 2 ---|
 *
 * Each piece has a range of its parent's range, in integers, so neighbours meet exactly and the end
 * of the last one is the end of the whole. What is announced need not be true: a piece never leaves
 * its range, what is shown never goes back, and its end is its end. All live on the caller's stack,
 * nothing is allocated. NULL is a progress that nobody looks at.
 */
#ifndef GECKOBPF_BASE_PROGRESS_H
#define GECKOBPF_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_WHOLE 1000000000000000000ULL /* a power of ten: what is shown is one, too */

/* What there is to show. */
struct progress_state {
	const char *task; /* what is being done */
	/* the farthest so far, of PROGRESS_WHOLE; that itself: the work is done, and only then */
	uint64_t position;
	bool is_left_known;
	uint64_t left_tenths; /* seconds until the end, times ten */
};

/* How it is shown. */
struct progress_style {
	bool (*is_seen)(void); /* asked when work begins: if not, nothing is counted */
	void (*show)(const struct progress_state *state);
};

/* Where it is shown. Set `style` and, for tests, `now_ns`; the rest is zero. */
struct progress_view {
	const struct progress_style *style; /* NULL: it is not */
	uint64_t (*now_ns)(void); /* NULL: CLOCK_MONOTONIC */
	const char *task;
	uint64_t begin_ns, looked_ns, shown_ns;
	uint64_t position; /* the farthest so far */
	uint32_t skip, left; /* calls from one look at the clock to the next */
};

/* A piece of work, with a range of the whole. */
struct progress {
	struct progress_view *view; /* NULL: nobody looks */
	struct progress *parent;
	uint64_t units; /* of the parent's */
	uint64_t from, to;
	uint64_t done, total; /* done <= total */
};

/*
 * Begins the whole, of `total` units, and shows it. `task` is a literal of ASCII letters and
 * blanks. A view may be used for another attempt at the same work: it goes on from where the first
 * one came.
 */
void progress_begin(struct progress *whole, struct progress_view *view, const char *task,
		    uint64_t total);

/* Begins a part that is `units` of its parent's units, and has `total` units of its own. NULL `task`: as before. */
void progress_split(struct progress *part, struct progress *parent, uint64_t units,
		    const char *task, uint64_t total);

/*
 * The piece is finished, whatever was said of it. The end of the whole is shown. A whole that fails
 * has no end; the message that says so replaces what was shown.
 */
void progress_end(struct progress *piece);

/* Looks at the clock now and then, and shows where we are if it is time; for progress_add(). */
void progress_look(struct progress *piece);

/* `units` more are done. */
static inline void progress_add(struct progress *piece, uint64_t units)
{
	if (!piece || !piece->view)
		return;
	piece->done = units < piece->total - piece->done ? piece->done + units : piece->total;
	if (!--piece->view->left)
		progress_look(piece);
}

#endif
