/* SPDX-License-Identifier: BSD-2-Clause */
/* words.c - see words.h. */
#include "cmd/words.h"

#include "base/nearest.h"
#include "cmd/command_table.h"
#include "cmd/usage.h"

#include <stdio.h>
#include <string.h>

#define SHOW_FILE                                                                                  \
	"load FILE at https://profiler.firefox.com (it stays in the browser), or as text: "        \
	"geckobpf "                                                                                \
	"report FILE"
#define AS_TABLES "two profiles as tables: geckobpf report --json FILE, once for each"

static const struct {
	const char *word, *hint;
} reserved[] = {
	{"agent", "one that runs all the time: geckobpf --all --ring --control=FD"},
	{"annotate", SHOW_FILE},
	{"attach", "a process that runs: geckobpf --pid PID"},
	{"bench", "it is in the source tree: make bench"},
	{"capture", "a profile of what a recording has so far: kill -USR2 its PID, or --control"},
	{"compare", AS_TABLES},
	{"diff", AS_TABLES},
	{"doctor", "what is missing here is said by: geckobpf -o /dev/null -- /bin/true"},
	{"gather", "one profile of several raw captures: geckobpf convert FILE... -o OUT.json.gz"},
	{"list", "processes are listed by ps and pgrep; geckobpf --pid NAME finds them by name"},
	{"load", SHOW_FILE},
	{"merge", "one profile of several raw captures: geckobpf convert FILE... -o OUT.json.gz"},
	{"open", SHOW_FILE},
	{"run", "a command: geckobpf -- COMMAND"},
	{"script", "all stacks as text: geckobpf report --folded FILE"},
	{"serve", SHOW_FILE},
	{"show", SHOW_FILE},
	{"start", "a recording that is driven by others: geckobpf --control=FD"},
	{"stat", "CPU time by process: geckobpf report --by process FILE"},
	{"status", "a recording shows how it is on the terminal; --control asks it"},
	{"stop", "Ctrl-C, or kill -INT the recording"},
	{"top", "the hottest functions: geckobpf report FILE, or when recording: --top N"},
	{"trace", "what was recorded, stack by stack: geckobpf report --folded FILE"},
	{"view", SHOW_FILE},
};

error_t words_reject(struct usage *usage, const char *word)
{
	struct nearest nearest = {0};
	size_t i;

	for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(word, reserved[i].word))
			return usage_reject(usage,
					    "%s: not a command of geckobpf; %s (a program of that "
					    "name: geckobpf -- %s)",
					    word, reserved[i].hint, word);
	snprintf(nearest.word, sizeof(nearest.word), "%s", word);
	for (i = 0; commands[i].name; i++)
		nearest_offer(&nearest, commands[i].name);
	if (nearest.best[0])
		return usage_reject(usage, "%s: not a command of geckobpf; did you mean %s?", word,
				    nearest.best);
	return usage_reject(
		usage,
		"%s: not a command of geckobpf; to profile a program: geckobpf -- %s ..., "
		"to profile a process: --pid",
		word, word);
}
