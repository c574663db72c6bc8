/* SPDX-License-Identifier: BSD-2-Clause */
/* progress_text.c - see progress_text.h. */
#include "cmd/progress_text.h"

#include "base/log.h"
#include "base/log_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BAR_WIDTH (PROGRESS_BAR_BYTES - 4)

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

/* ---- on the terminal --------------------------------------------------------------- */

static bool is_bar_seen(void)
{
	return isatty(STDERR_FILENO) && log_get_level() >= LOG_INFO;
}

static void show_bar(const struct progress_state *state)
{
	char bar[PROGRESS_BAR_BYTES], left[40] = "";
	double part = (double)state->position / (double)PROGRESS_WHOLE;

	if (state->position == PROGRESS_WHOLE) {
		log_status_clear();
		return;
	}
	progress_draw_bar(bar, part);
	if (state->is_left_known)
		snprintf(left, sizeof(left), ", %" PRIu64 ".%" PRIu64 " s left",
			 state->left_tenths / 10, state->left_tenths % 10);
	log_status("  %s%2d %%   %s%s", bar, (int)(part * 100), state->task, left);
}

const struct progress_style progress_bar = {is_bar_seen, show_bar};

/* ---- for programs ------------------------------------------------------------------ */

static bool is_json_seen(void)
{
	return true;
}

/* Four decimals, rounded down: 1 is the end and nothing else. One write: stderr is not buffered. */
static void show_json(const struct progress_state *state)
{
	unsigned int parts = (unsigned int)(state->position / (PROGRESS_WHOLE / 10000));
	char left[40] = "null", line[256];
	int used;

	if (state->is_left_known)
		snprintf(left, sizeof(left), "%" PRIu64 ".%" PRIu64, state->left_tenths / 10,
			 state->left_tenths % 10);
	log_status_clear();
	used = snprintf(line, sizeof(line), "{\"progress\":%u.%04u,\"task\":\"%s\",\"eta_s\":%s}\n",
			parts / 10000, parts % 10000, state->task, left);
	log_writer_put(line, used < (int)sizeof(line) ? (size_t)used : sizeof(line) - 1);
}

const struct progress_style progress_json = {is_json_seen, show_json};
